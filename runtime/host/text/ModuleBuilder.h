// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writer of module files: used by the assembler and by the compiler. A tool, not part of the VM: it
// uses std containers and lets std::bad_alloc propagate.
//
// Nothing is checked here. An invalid module is refused when the file is loaded.

#ifndef MXRT_HOST_MODULEBUILDER_H
#define MXRT_HOST_MODULEBUILDER_H

#include "host/Module.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace mxrt::host {

struct FunctionBuilder {
  std::string name;
  std::string file;
  Kind result = Kind::Unit;
  std::vector<ParamData> params;
  std::vector<Kind> registers; // parameters first
  std::vector<std::vector<uint16_t>> lists;
  std::vector<Instr> code;
  std::vector<HandlerData> handlers;
  std::vector<LocationData> locations;

  uint16_t addParam(Kind kind, bool isMut = false);
  uint16_t addRegister(Kind kind);
  /// Index of an equal list, added if there is none.
  uint16_t list(std::vector<uint16_t> entries);
  /// Returns the instruction's offset.
  uint32_t emit(Opcode op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0);
  /// For a 32-bit number in the operands b and c.
  uint32_t emitWide(Opcode op, uint16_t a, int32_t wide);
  /// Sets the target of the jump at `from` to `to`. false: too far for its 16 bits.
  bool patchJump(uint32_t from, uint32_t to);
  /// Sets the source location of the next instruction.
  void location(uint32_t line, uint32_t column, bool statement);
};

struct TypeDecl {
  std::string name;
  std::vector<std::string> fields;
};
struct ImportDecl {
  ImportKind sort = ImportKind::Native;
  std::string name;
  bool variadic = false;
  Kind result = Kind::Unit;
  std::vector<ParamData> params;
};
struct GlobalDecl {
  std::string name;
  Kind kind = Kind::Any;
};

class ModuleBuilder {
public:
  std::vector<TypeDecl> types;
  std::vector<ImportDecl> imports;
  std::vector<GlobalDecl> globals;
  std::deque<FunctionBuilder> functions; // references stay valid
  uint32_t entry = noEntry;

  // Rows of the constant table, deduplicated (f32 and f64 are compared by bits).
  uint32_t constant(int64_t number);
  uint32_t constantF32(float number);
  uint32_t constantF64(double number);
  uint32_t constant(std::string_view text);

  size_t constantCount() const { return constants.size(); }
  size_t stringCount() const { return strings.size(); }
  /// The file, with header and checksum.
  std::vector<uint8_t> finish();

private:
  uint32_t string(std::string_view text);
  uint32_t constant(Kind kind, uint64_t bits);

  std::vector<std::string> strings;
  std::map<std::string, uint32_t, std::less<>> stringRows;
  std::vector<std::pair<Kind, uint64_t>> constants;
  std::map<std::pair<Kind, uint64_t>, uint32_t> constantRows;
};

/// Updates size and checksum of the header after its bytes were changed. Does nothing to files too
/// short for a header.
void sealModule(std::vector<uint8_t> &bytes);

} // namespace mxrt::host

#endif // MXRT_HOST_MODULEBUILDER_H
