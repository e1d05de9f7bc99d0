// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoded PTX, ready to execute. A kernel is one list of instructions: calls of .func are inlined,
// so that the program counter alone is the position of a thread, and threads with the lowest run
// first.
//
// Every operand is a row: 32 values, one a lane. Registers and special registers are rows of the
// warp, immediates rows of the kernel. A row of 64-bit values has 256 bytes, others have 128; a
// predicate is one word with a bit a lane.
#pragma once

#include "ptx/Syntax.h"

#include <array>
#include <functional>

namespace mxemu {

struct Warp;
struct Inst;
using Execute = void (*)(Warp &, const Inst &, uint32_t mask);

struct Operand {
  uint32_t offset = 0;
  uint8_t constant = 0; // row of the kernel instead of the warp
  uint8_t bytes = 0;    // of the register; 0 for a predicate
  bool inverted = false;
};

struct Inst {
  enum Flow : uint8_t { Next, Branch, Exit, Barrier, Together };
  Execute execute = nullptr;
  uint32_t line = 0;
  Flow flow = Next;
  bool guarded = false;
  bool aligned = false; // all threads of the warp must execute it together
  uint32_t target = 0;
  Operand guard;
  std::array<Operand, 5> op;
  int64_t offset = 0;          // of an address
  int64_t sourceOffset = 0;    // of the second address of cp.async
  std::vector<Operand> vector; // elements of ld/st.v, fragments of mma
  // Decoded modifiers; their meaning depends on the instruction.
  Space space = Space::Generic;
  Ty type = Ty::None, from = Ty::None;
  Round round = Round::Nearest;
  bool ftz = false, sat = false, relu = false, strong = false, transposed = false;
  uint8_t kind = 0;
  uint32_t number = 0;
  std::vector<uint32_t> targets; // brx.idx
  const char *name = "";
};

/// Rows that every warp has, in front of its registers.
enum SpecialRow : uint32_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt,
  SmId,
  NSmId,
  GridId,
  DynSmem,
  TotalSmem,
  SpecialRows
};

struct Kernel {
  struct Param {
    uint32_t offset, bytes;
  };
  std::string name;
  std::vector<Inst> code;
  std::vector<char> constants;
  uint32_t rowBytes = 0;    // all rows of a warp
  uint32_t registers = 0;   // an estimate, for attributes
  uint32_t localBytes = 0;  // a thread
  uint32_t sharedBytes = 0; // static
  uint32_t sharedAlignment = 1;
  uint32_t dynamicOffset = 0; // where extern shared memory starts
  uint32_t paramBytes = 0;
  uint32_t maxThreads = 1024;
  std::vector<Param> params;
};

/// A .global or .const variable of a module; `address` is set when the module is loaded.
struct GlobalVariable {
  Declaration declaration;
  uint64_t address = 0;
};

struct Program {
  std::map<std::string, GlobalVariable> globals;
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
};

/// Allocates device memory for a variable and gives its address.
using Allocate = std::function<uint64_t(const Declaration &)>;

/// Parses, resolves and decodes. Throws PtxError.
Program compile(std::string_view text, const Allocate &allocate);

} // namespace mxemu
