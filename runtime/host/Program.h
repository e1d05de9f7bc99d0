// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A verified module, linked to one VM: the form that the interpreter runs.

#ifndef MXRT_HOST_PROGRAM_H
#define MXRT_HOST_PROGRAM_H

#include "host/Module.h"
#include "host/Value.h"
#include "host/Vm.h"

namespace mxrt::host {

struct Function {
  Program *program;
  const FunctionData *data;
  const Instr *code;
  /// Initial values of the registers of a call: numbers 0, others unset.
  const Value *blank;
  /// Registers that may hold reference-counted values, which are released at the end.
  const uint16_t *counted;
  uint32_t countedSize;
  uint32_t registerCount;
  bool hasMut;
  StrObject *name; // owned by the program
  StrObject *file;
};

/// A native function as registered with the VM.
struct NativeEntry {
  StrObject *name;
  ParamData *params; // array of paramCount
  uint32_t paramCount;
  bool variadic;
  Kind result;
  NativeFunction function;
  void *context;
};

struct Import {
  const ImportData *data;
  StrObject *name;
  const NativeEntry *native; // of a native function, else null
  void *target;              // of the others: the target that the host resolved
};

/// Referenced by the VM's table and by the programs that use it. The table owns the value, which
/// ends with its row, because a function in it may hold a program that in turn holds the variable
/// (a cycle). Thus a dropped variable stays unset.
struct Global {
  uint32_t refs;
  bool dropped;
  Kind kind;
  StrObject *name;
  Value value;
};

/// A reference-counted object, because function values keep it alive.
struct Program : Object {
  Program(Heap &heap, Machine &machine)
      : machine(machine), module(heap) {}
  Machine &machine;
  Module module;
  // Arrays live in module.arena; rows beyond the counts here are not created yet.
  StrObject **strings = nullptr;
  Value *constants = nullptr;
  StructTypeObject **types = nullptr;
  Import *imports = nullptr;
  Global **globals = nullptr;
  Function *functions = nullptr;
  uint32_t stringCount = 0;
  uint32_t typeCount = 0;
  uint32_t globalCount = 0;
};

/// Decodes, verifies, links. The caller owns one reference.
Result<Program *> linkProgram(Machine &machine, std::span<const uint8_t> bytes,
                              Finding *finding);
/// Called when the last reference is released.
void destroyProgram(Program *program);

} // namespace mxrt::host

#endif // MXRT_HOST_PROGRAM_H
