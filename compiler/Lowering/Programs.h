// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a graph whose work is in kernels to the function that calls them:
//
//   mx.graph ── lowerToMxrt ──► mxrt.program + mxrt.kernel … ── lowerProgram ──► LLVM dialect
//
// The resulting function has the C type
//
//   mxrt_status f(const mxrt_context *context, void *const *buffers, const int64_t *sizes,
//                 void *const *arenas)
//
// `buffers` are the inputs, then the outputs: addresses of element 0, dense in row-major order; a
// host number is the address of one element. No output overlaps an input or another output, and
// inputs are not written; except that an output which `mxrt.over` of the program maps to an input
// has that input's address. `sizes` are the values of the open sizes in the order of
// ProgramInfo::sizes, `arenas` the memory of each device in the order of ProgramInfo::arenas,
// 64-byte aligned. An error of a kernel is returned at once; the outputs are then undefined.
// Besides kernels and the runtime's functions, the code may call memcpy, floor, fmod and their
// f32 variants.
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <utility>

namespace mx::lowering {

struct BufferInfo {
  mlir::Type element;
  llvm::SmallVector<ir::SizeAttr> sizes;
  std::string device; ///< empty: the default device
  bool host = false;  ///< one host number
};

/// The signature and memory of a program, for its callers.
struct ProgramInfo {
  std::string entry;
  llvm::SmallVector<BufferInfo> inputs, outputs;
  llvm::SmallVector<std::string> sizes;
  llvm::SmallVector<std::pair<std::string, int64_t>> arenas; ///< device, bytes
  llvm::SmallVector<std::string> kernels;                    ///< called functions, each once
};

/// Adds the program of a graph to `into`, under the graph's name, and those of its kernels that are
/// not there yet. In: a graph without aggregates or calls, its sizes numbers except those in
/// `mx.dyn`, its work in mx.kernel ops; only host numbers, control flow, assertions and copies
/// between devices remain between them. Out: a plan that gives each value a slice of its own. The
/// graph is not changed. Errors are emitted on the op that cannot be lowered.
mlir::LogicalResult lowerToMxrt(ir::GraphOp graph, mlir::ModuleOp into);

/// Returns a module of the LLVM dialect with the program's function; kernels and runtime functions
/// are declared. Null after an error, which is emitted.
mlir::OwningOpRef<mlir::ModuleOp> lowerProgram(rt::ProgramOp program, ProgramInfo &info);

/// `--mx-to-mxrt` and `--mxrt-to-llvm`, for mxc-opt.
void registerProgramPasses();

} // namespace mx::lowering
