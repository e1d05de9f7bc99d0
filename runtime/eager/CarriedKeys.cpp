// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumeration of the kernel keys that a program without a compiler needs.

#include "eager/CarriedKeys.h"

#include <cstring>

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

struct Adder {
  const Operation &op;
  void (*add)(void *, std::string_view);
  void *context;

  void elementwise(int32_t rank, std::initializer_list<Layout> layouts) const {
    KeyText key;
    key.add(op.info->name);
    int32_t i = 0;
    for (Layout layout : layouts) {
      bool isCondition = op.info->family == Family::Select && i++ == 0;
      key.operand(isCondition ? MXRT_BOOL : op.type, rank, layout);
    }
    key.result(op.result, rank);
    add(context, key.view());
  }
  void plain(const char *name, std::initializer_list<std::pair<mxrt_dtype, Layout>> operands,
             std::initializer_list<int32_t> ranks, mxrt_dtype result) const {
    KeyText key;
    key.add(name);
    const int32_t *rank = ranks.begin();
    for (auto [type, layout] : operands)
      key.operand(type, *rank++, layout);
    key.result(result, *rank);
    add(context, key.view());
  }
};

constexpr Layout both[] = {Layout::Dense, Layout::Strided};
constexpr mxrt_dtype indexTypes[] = {MXRT_I32, MXRT_I64};

void addElementwise(const Adder &adder) {
  constexpr Layout c = Layout::Dense, s = Layout::Strided, one = Layout::Single;
  switch (adder.op.info->operands) {
  case 1:
    adder.elementwise(1, {c});
    adder.elementwise(2, {s});
    return adder.elementwise(4, {s});
  case 2:
    for (Layout a : {c, one})
      for (Layout b : {c, one})
        if (a == c || b == c)
          adder.elementwise(1, {a, b});
    adder.elementwise(2, {c, s});
    adder.elementwise(2, {s, c});
    adder.elementwise(2, {s, s});
    return adder.elementwise(4, {s, s});
  default:
    for (Layout a : {c, one})
      for (Layout b : {c, one})
        adder.elementwise(1, {c, a, b});
    adder.elementwise(2, {s, s, s});
    adder.elementwise(4, {s, s, s});
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
  Adder adder{op, add, context};
  mxrt_dtype type = op.type;
  switch (op.info->family) {
  case Family::Elementwise:
  case Family::Select:
  case Family::Cast:
    return addElementwise(adder);
  case Family::Reduce:
    for (Layout layout : both)
      adder.plain(op.info->name, {{type, layout}}, {3, 2}, op.result);
    return;
  case Family::Matmul:
    for (Layout a : both)
      for (Layout b : both)
        adder.plain("matmul", {{type, a}, {type, b}}, {3, 3, 3}, op.result);
    return;
  case Family::Conv:
    for (const char *name : {"conv", "conv(outputs=1)"})
      for (Layout layout : both)
        adder.plain(name, {{type, layout}, {type, Layout::Dense}}, {5, 5, 5}, op.result);
    return;
  case Family::Fold:
    return adder.plain("fold", {{type, Layout::Dense}}, {7, 4}, op.result);
  case Family::Iota:
    return adder.plain("iota", {}, {1}, type);
  case Family::Index:
  case Family::Update:
    for (int32_t each = 0; op.tensorItem >= 0 && each < MXRT_DTYPE_COUNT; ++each)
      for (mxrt_dtype index : indexTypes)
        for (Layout layout : both)
          if (types >> each & 1)
            adder.plain("take", {{mxrt_dtype(each), layout}, {index, Layout::Dense}}, {3, 1, 3},
                        mxrt_dtype(each));
    return;
  case Family::ScatterAdd:
    for (mxrt_dtype index : indexTypes)
      adder.plain("scatter_add",
                  {{type, Layout::Dense}, {index, Layout::Dense}, {type, Layout::Dense}},
                  {3, 1, 3, 3}, type);
    return;
  case Family::Uniform:
  case Family::Normal:
    if (type != MXRT_F32 && type != MXRT_F64)
      adder.plain("cast", {{MXRT_F32, Layout::Dense}}, {1, 1}, type);
    return;
  default: // computed by functions of the runtime
    return;
  }
}

} // namespace mxrt::eager
