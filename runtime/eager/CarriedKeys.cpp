// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumeration of the kernel keys that a program without a compiler needs.

#include "eager/CarriedKeys.h"
#include "eager/OpKeys.h"

namespace mxrt::eager {

namespace {

/// Whether the flat form is shipped: the first operand may be single only where there are two.
bool isCarriedFlat(int32_t count, const Layout *layouts) {
  bool anySingle = false;
  for (int32_t i = 0; i < count; ++i) {
    if (layouts[i] == Layout::Strided)
      return false;
    anySingle |= layouts[i] == Layout::Single;
  }
  return !anySingle || count == 2 || layouts[0] == Layout::Dense;
}

constexpr Layout both[] = {Layout::Dense, Layout::Strided};
constexpr mxrt_dtype indexTypes[] = {MXRT_I32, MXRT_I64};

void addElementwise(const OpKeys &keys) {
  constexpr Layout c = Layout::Dense, s = Layout::Strided, one = Layout::Single;
  switch (keys.op.info->operands) {
  case 1:
    keys.elementwise(1, {c});
    keys.elementwise(2, {s});
    return keys.elementwise(4, {s});
  case 2:
    for (Layout a : {c, one})
      for (Layout b : {c, one})
        if (a == c || b == c)
          keys.elementwise(1, {a, b});
    keys.elementwise(2, {c, s});
    keys.elementwise(2, {s, c});
    keys.elementwise(2, {s, s});
    return keys.elementwise(4, {s, s});
  default:
    for (Layout a : {c, one})
      for (Layout b : {c, one})
        keys.elementwise(1, {c, a, b});
    keys.elementwise(2, {s, s, s});
    keys.elementwise(4, {s, s, s});
  }
}

} // namespace

void widenForm(int32_t count, Layout *layouts, int32_t &rank, int64_t *sizes,
               int64_t (*strides)[MXRT_MAX_RANK]) {
  if (rank == 1 && isCarriedFlat(count, layouts))
    return;
  int32_t wanted = rank <= 2 ? 2 : maxKernelRank, added = wanted - rank;
  for (int32_t axis = wanted - 1; axis >= 0; --axis) {
    sizes[axis] = axis < added ? 1 : sizes[axis - added];
    for (int32_t i = 0; i < count; ++i)
      strides[i][axis] = axis < added ? 0 : strides[i][axis - added];
  }
  // A leading axis of size 1 keeps dense operands dense.
  int32_t dense = 0;
  for (int32_t i = 0; i < count; ++i)
    dense += layouts[i] == Layout::Dense;
  bool keepsDense = count == 2 && wanted == 2 && dense == 1;
  for (int32_t i = 0; i < count; ++i)
    if (!keepsDense || layouts[i] != Layout::Dense)
      layouts[i] = Layout::Strided;
  rank = wanted;
}

void carriedKeys(const Operation &op, uint32_t types, void (*add)(void *, std::string_view),
                 void *context) {
  OpKeys keys{op, add, context};
  mxrt_dtype type = op.type;
  switch (op.info->family) {
  case Family::Elementwise:
  case Family::Select:
  case Family::Cast:
    return addElementwise(keys);
  case Family::Reduce:
    for (Layout layout : both)
      keys.signature(signatures::Reduce, {{type, layout}}, op.result);
    return;
  case Family::Matmul:
    for (Layout a : both)
      for (Layout b : both)
        keys.signature(signatures::Matmul, {{type, a}, {type, b}}, op.result);
    return;
  case Family::Conv:
    for (const Signature *signature : {&signatures::Conv, &signatures::DepthwiseConv})
      for (Layout layout : both)
        keys.signature(*signature, {{type, layout}, {type, Layout::Dense}}, op.result);
    return;
  case Family::Fold:
    return keys.signature(signatures::Fold, {{type, Layout::Dense}}, op.result);
  case Family::Iota:
    return keys.signature(signatures::Iota, {}, type);
  case Family::Index:
  case Family::Update:
    for (int32_t each = 0; op.tensorItem >= 0 && each < MXRT_DTYPE_COUNT; ++each)
      for (mxrt_dtype index : indexTypes)
        for (Layout layout : both)
          if (types >> each & 1)
            keys.signature(signatures::Take,
                           {{mxrt_dtype(each), layout}, {index, Layout::Dense}}, mxrt_dtype(each));
    return;
  case Family::ScatterAdd:
    for (mxrt_dtype index : indexTypes)
      keys.signature(signatures::ScatterAdd,
                     {{type, Layout::Dense}, {index, Layout::Dense}, {type, Layout::Dense}}, type);
    return;
  case Family::Uniform:
  case Family::Normal:
    if (type != MXRT_F32 && type != MXRT_F64) {
      KeyOperand operand = {MXRT_F32, Layout::Dense};
      KeyText key;
      key.writeElementwise("cast", 1, {&operand, 1}, type);
      add(context, key.view());
    }
    return;
  default: // computed by functions of the runtime
    return;
  }
}

} // namespace mxrt::eager
