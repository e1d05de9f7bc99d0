// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul: [G, M, K] @ [G, K, N], with NumPy's rules for vectors and batch dimensions.

#include "eager/Issue.h"

#include <cstdio>
#include <cstring>

namespace mxrt::eager {

namespace {

/// One operand: its batch dimensions merged into one, then rows and columns.
struct Side {
  mxrt_tensor *tensor;
  AxisGroup batch, rows, columns;
  TensorRef held;
  Layout layout = Layout::Dense;

  int32_t leading() const { return tensor->rank > 2 ? tensor->rank - 2 : 0; }

  void readMatrix(bool vectorIsRow) {
    const int64_t *sizes = tensor->sizes() + leading();
    const int64_t *strides = tensor->strides() + leading();
    AxisGroup first = {sizes[0], strides[0]};
    if (tensor->rank > 1) {
      rows = first;
      columns = {sizes[1], strides[1]};
    } else {
      rows = vectorIsRow ? AxisGroup() : first;
      columns = vectorIsRow ? first : AxisGroup();
    }
  }
  bool foldBatch(int32_t rank, const int64_t *sizes) {
    batch = AxisGroup();
    int32_t added = rank - leading();
    for (int32_t i = 0; i < rank; ++i) {
      bool repeated = i < added || tensor->sizes()[i - added] != sizes[i];
      if (!batch.add(sizes[i], repeated ? 0 : tensor->strides()[i - added]))
        return false;
    }
    return true;
  }
  void chooseLayout() {
    bool dense = tensor->elements == 0 || isDense3(batch, rows, columns);
    layout = dense ? Layout::Dense : Layout::Strided;
  }
};

/// Broadcasts an operand to the full batch dimensions by a dense copy.
Status broadcast(OpCall &call, Side &side, bool vectorIsRow, int32_t rank, const int64_t *batch) {
  int64_t sizes[MXRT_MAX_RANK];
  int32_t used = rank;
  memcpy(sizes, batch, sizeof(int64_t) * size_t(rank));
  for (int32_t i = side.leading(); i < side.tensor->rank; ++i) {
    if (used == MXRT_MAX_RANK)
      return call.fail(MXRT_RANK_LIMIT, "more than %d dimensions", MXRT_MAX_RANK);
    sizes[used++] = side.tensor->sizes()[i];
  }
  // A column vector would be aligned with the wrong axis, but a vector has no batch dimensions and
  // never comes here.
  side.held = MXRT_TRY(call.denseCopy(side.tensor, used, sizes));
  side.tensor = side.held.get();
  side.readMatrix(vectorIsRow);
  (void)side.foldBatch(rank, batch); // dense now
  return success();
}

} // namespace

static Status misfit(OpCall &call, const Side &a, const Side &b, const char *why) {
  return call.fail(MXRT_SHAPE, "%s and %s do not fit: %s", shapeText(a.tensor->shape()).text,
                   shapeText(b.tensor->shape()).text, why);
}

Status runMatmul(OpCall &call) {
  const Operation &op = call.op;
  MXRT_CHECK(call.operandCount(2));
  Side a = {MXRT_TRY(call.tensor(0, op.type)), {}, {}, {}, {}};
  Side b = {MXRT_TRY(call.tensor(1, op.type)), {}, {}, {}, {}};
  MXRT_CHECK(call.onDevice(a.tensor));
  MXRT_CHECK(call.onDevice(b.tensor));
  if (a.tensor->rank == 0 || b.tensor->rank == 0)
    return misfit(call, a, b, "a single value is not a matrix");
  a.readMatrix(true);
  b.readMatrix(false);
  if (a.columns.size != b.rows.size) {
    char why[100];
    snprintf(why, sizeof(why), "%lld columns on the left, %lld rows on the right",
             static_cast<long long>(a.columns.size), static_cast<long long>(b.rows.size));
    return misfit(call, a, b, why);
  }

  int64_t sizes[MXRT_MAX_RANK];
  int32_t batchRank = a.leading() > b.leading() ? a.leading() : b.leading();
  for (int32_t i = 0; i < batchRank; ++i) {
    auto sizeIn = [&](const Side &side) {
      int32_t at = i - (batchRank - side.leading());
      return at < 0 ? 1 : side.tensor->sizes()[at];
    };
    int64_t left = sizeIn(a), right = sizeIn(b);
    if (left != right && left != 1 && right != 1)
      return misfit(call, a, b, "the leading dimensions differ");
    sizes[i] = left == 1 ? right : left;
  }
  int32_t rank = batchRank;
  if (a.tensor->rank > 1)
    sizes[rank++] = a.rows.size;
  if (b.tensor->rank > 1)
    sizes[rank++] = b.columns.size;
  TensorRef result = MXRT_TRY(call.create(op.result, rank, sizes));

  int64_t groups = 1;
  for (int32_t i = 0; i < batchRank; ++i)
    groups *= sizes[i];
  bool foldable = groups > 0; // with 0 of them nothing is read
  if (foldable && !a.foldBatch(batchRank, sizes))
    MXRT_CHECK(broadcast(call, a, true, batchRank, sizes));
  if (foldable && !b.foldBatch(batchRank, sizes))
    MXRT_CHECK(broadcast(call, b, false, batchRank, sizes));
  a.batch.size = b.batch.size = groups;
  // The same right operand for the whole batch: one matmul with more rows.
  if (groups > 1 && b.batch.stride == 0) {
    AxisGroup rows = a.batch;
    if (a.rows.size > 0 && rows.add(a.rows.size, a.rows.stride)) {
      a.rows = rows;
      a.batch = b.batch = AxisGroup();
    }
  }
  a.chooseLayout();
  b.chooseLayout();
  if (!foldable)
    a.layout = b.layout = Layout::Dense;

  KernelCall kernel;
  kernel.input(a.tensor);
  kernel.input(b.tensor);
  kernel.sizes(MatmulSizes{
      .G = a.batch.size, .M = a.rows.size, .N = b.columns.size, .K = a.columns.size});
  addStrides3(kernel, a.layout, a.batch, a.rows, a.columns);
  addStrides3(kernel, b.layout, b.batch, b.rows, b.columns);
  uint32_t form = uint32_t(a.layout) << 2 | uint32_t(b.layout);
  kernel.arguments.kernel = MXRT_TRY(call.kernel(form, [&](KeyText &key) {
    key.write(signatures::Matmul, {{op.type, a.layout}, {op.type, b.layout}}, op.result);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return call.give(std::move(result));
}

} // namespace mxrt::eager
