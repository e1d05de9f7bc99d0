// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of names of tensor operations, as programs import them:
//
//   op[:dtype][:dtype][(attributes)][@device]
//
//   add:f32                    the element type of the operands
//   cast:f32:f16               from and to
//   sum:f32(axes=0/2,keep=1)   axes=all for all of them
//   max:f32(axes=1,empty=1)    -inf for no elements instead of an error
//   transpose(order=1/0/2)     concat(axis=1)     literal:f32(shape=2/3)
//   cumsum:f32(axis=1)
//   to(device=cpu:1)           add:f32@cpu:1      runs on that device, else cpu:0
//   index(i/:/rft/n/t)         one item per axis: i an integer; : all of it;
//                              r a range, with f (from), t (to), s (step) if
//                              given; n a new axis; t a tensor of indices,
//                              l one of class indices, none negative; a digit
//                              after them is the axis that errors name
//   update(...)                as index
//
// A name is parsed once, when a program is loaded.

#ifndef MXRT_EAGER_OPNAMES_H
#define MXRT_EAGER_OPNAMES_H

#include "eager/Kernels.h"
#include "eager/Signatures.h"
#include "host/Bytecode.h"

namespace mxrt::eager {

enum class Family : uint8_t {
  Elementwise,
  Select,
  Cast,
  Reduce,
  Matmul,
  Conv,
  Windows,
  Fold,
  Along,
  Top,
  Scatter,
  Matrix,
  Reshape,
  Broadcast,
  Transpose,
  Concat,
  Index,
  Update,
  ScatterAdd,
  Copy,
  To,
  Wait,
  Full,
  Iota,
  Literal,
  Uniform,
  Normal,
  Bernoulli,
  RandInt,
  Permutation,
  Fork,
  Categorical
};
enum class OpTypes : uint8_t { None, Any, Number, Float, Single, Wide, Int, Count, Bits, Bool };
enum class OpResult : uint8_t { Same, Bool, I32, Quotient };

/// A row of Ops.def. Static.
struct OpInfo {
  const char *name;
  Family family;
  int8_t operands; // -1: any number
  OpTypes types;
  OpResult result;
};

struct IndexItem {
  char sort; // i : r n t l
  bool from, to, step;
  int8_t shown = -1; // the axis that errors name, if different
};
inline constexpr int32_t maxIndexItems = 2 * MXRT_MAX_RANK;

/// A kernel for one combination of layouts; each family defines the meaning of `form`.
struct KernelForm {
  uint32_t form;
  mxrt_compiled_kernel kernel;
};

/// Counts how often an operation ran with the same sizes, and caches the kernel specialised for
/// them once compiling pays. Sizes are compared by value.
struct SizedKernel {
  static constexpr int32_t maxNumbers =
      int32_t(sizeof(ConvSizes) / sizeof(int64_t)) + 1; // and its layout
  int64_t numbers[maxNumbers];
  int32_t count = 0;
  int64_t work = 0;                      // multiplications so far
  mxrt_compiled_kernel kernel = nullptr; // null: not compiled yet
};

/// A parsed name. Plain data except for the kernel caches.
struct Operation {
  explicit Operation(const mxrt_allocator *alloc) : kernels(alloc), sized(alloc) {}

  const OpInfo *info = nullptr;
  mxrt_dtype type = MXRT_F32;   // of the operands
  mxrt_dtype result = MXRT_F32; // of the result; only if info->types is not None
  mxrt_device device = {MXRT_CPU, 0};
  uint32_t axes = 0; // bits; all ones for axes=all
  bool keep = false;
  bool total = false; // the maximum of no elements is -inf
  int32_t axis = 0;
  int32_t rank = 0; // numbers in `sizes`: order=, shape=
  int64_t sizes[MXRT_MAX_RANK] = {};
  int32_t itemCount = 0;
  int32_t tensorItem = -1;   // index of the item that is a tensor
  int32_t indexOperands = 0; // number of operands that the items take
  IndexItem items[maxIndexItems] = {};

  // As imported: the same name may be imported in two ways.
  char *text = nullptr; // owned by the holder of the operation
  size_t textSize = 0;
  host::Kind resultKind = host::Kind::Tensor;
  bool firstIsMut = false;

  Vec<KernelForm> kernels;
  Vec<SizedKernel> sized;
};

inline constexpr uint32_t allAxes = 0xffffffff;
inline constexpr size_t maxOpName = 1024;

/// Parses `name` into `op`. R0802 says what is wrong with it.
Status parseOpName(const mxrt_allocator *alloc, std::string_view name, Operation &op);

inline bool isFloatType(mxrt_dtype type) {
  return type == MXRT_F16 || type == MXRT_BF16 || type == MXRT_F32 || type == MXRT_F64;
}

} // namespace mxrt::eager

#endif // MXRT_EAGER_OPNAMES_H
