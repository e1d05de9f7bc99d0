// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a graph whose work is in kernels to the function that calls them:
//
//   mx.graph ── lowerToMxrt ──► mxrt.program + mxrt.kernel … ── lowerProgram ──► LLVM dialect
//
// The function that comes out has the C type
//
//   mxrt_status f(const mxrt_context *context, void *const *buffers, const int64_t *sizes,
//                 void *const *arenas)
//
// `buffers` are the inputs, then the outputs: addresses of element 0, dense in row-major order; a
// number of the host is the address of one element. No output overlaps an input or another output,
// and inputs are not written; except that an output which `mxrt.over` of the program puts in the
// place of an input has that input's address. `sizes` are the values of the open sizes in the order
// of ProgramInfo::sizes, `arenas` the memory of each device in the order of ProgramInfo::arenas,
// 64-byte aligned. An error of a kernel is returned at once; the outputs are then undefined.
// Besides kernels and the runtime's functions the code may call memcpy, floor, fmod and their
// kin for f32.
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
  bool host = false;  ///< one number of the host
};

/// What a caller of the function has to know.
struct ProgramInfo {
  std::string entry;
  llvm::SmallVector<BufferInfo> inputs, outputs;
  llvm::SmallVector<std::string> sizes;
  llvm::SmallVector<std::pair<std::string, int64_t>> arenas; ///< device, bytes
  llvm::SmallVector<std::string> kernels;                    ///< called functions, each once
};

/// Adds the program of a graph to `into`, under the graph's name, and those of its kernels that are
/// not there yet. In: a graph without aggregates or calls, its sizes numbers except those in
/// `mx.dyn`, its work in mx.kernel ops; what is left between them is numbers of the host, control
/// flow, assertions and copies between devices. Out: a plan that gives each value a slice of its
/// own. The graph stays as it is. Errors are emitted on the op that cannot be lowered.
mlir::LogicalResult lowerToMxrt(ir::GraphOp graph, mlir::ModuleOp into);

/// A module of the LLVM dialect with the program's function; kernels and functions of the runtime
/// are declared. Null after an error, which is emitted.
mlir::OwningOpRef<mlir::ModuleOp> lowerProgram(rt::ProgramOp program, ProgramInfo &info);

/// `--mx-to-mxrt` and `--mxrt-to-llvm`, for mxc-opt.
void registerProgramPasses();

} // namespace mx::lowering
