// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library routines on whole tensors: the functions of mxrt/routine.h on dense operands.

#include "eager/Issue.h"
#include "eager/NanCheck.h"
#include "mxrt/routine.h"

#include <cstring>
#include <string_view>

namespace mxrt::eager {

namespace {

using Routine = mxrt_status (*)(const mxrt_context *, mxrt_dtype, const int64_t *,
                                const void *const *, void *, void *);

constexpr struct {
  std::string_view name;
  Routine run;
  mxrt_workspace (*workspace)(int64_t, const int64_t *);
} routines[] = {
#define MXRT_ROUTINE(name, workspace) {#name, mxrt_##name, workspace},
#include "mxrt/routine.def"
};

struct Arguments {
  Routine run;
  const char *name; // static
  mxrt_dtype type;
  int32_t inputs;
  bool checkNan, hasWorkspace; // the workspace is the last tensor
  int64_t sizes[4];
};

mxrt_status routineKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                          const void *raw) {
  Arguments arguments;
  memcpy(&arguments, raw, sizeof(arguments));
  const void *inputs[maxInputs];
  for (int32_t i = 0; i < arguments.inputs; ++i)
    inputs[i] = tensors[i]->data();
  const mxrt_tensor *to = tensors[arguments.inputs];
  void *work = arguments.hasWorkspace ? tensors[arguments.inputs + 1]->data() : nullptr;
  if (mxrt_status failure =
          arguments.run(context, arguments.type, arguments.sizes, inputs, to->data(), work))
    return failure;
  return arguments.checkNan ? checkNan(context, arguments.name, to) : nullptr;
}

/// Requirements on the operands, and the shape of the result.
struct Plan {
  int64_t calls[4] = {1, 1, 1, 1}; // the sizes passed to the function
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK]; // of the result

  void resultLike(const mxrt_tensor *x) {
    rank = x->rank;
    memcpy(sizes, x->sizes(), size_t(rank) * sizeof(int64_t));
  }
};

bool sameSizes(const mxrt_tensor *x, const mxrt_tensor *y, int32_t from, int32_t to) {
  for (int32_t i = from; i < to; ++i)
    if (x->sizes()[i] != y->sizes()[i])
      return false;
  return true;
}

Status refuse(const OpCall &call, const mxrt_tensor *x, const mxrt_tensor *y) {
  return call.fail(MXRT_SHAPE, "%s does not fit %s", shapeText(y->shape()).text,
                   shapeText(x->shape()).text);
}

/// Number of tensor operands, which come first.
size_t tensorCount(const OpCall &call) {
  return call.count() - (call.op.info->family == Family::Top);
}

Status planAlong(const OpCall &call, mxrt_tensor *const *x, Plan &plan) {
  int32_t axis = call.op.axis;
  if (axis >= x[0]->rank)
    return call.fail(MXRT_SHAPE, "axis %d of %s, which has %d", axis, shapeText(x[0]->shape()).text,
                     x[0]->rank);
  for (size_t i = 1; i < tensorCount(call); ++i)
    if (x[i]->rank != x[0]->rank || !sameSizes(x[0], x[i], 0, x[0]->rank))
      return refuse(call, x[0], x[i]);
  plan.resultLike(x[0]);
  for (int32_t i = 0; i < plan.rank; ++i)
    plan.calls[i < axis ? 0 : i == axis ? 1 : 2] *= plan.sizes[i];
  if (call.op.info->family != Family::Top)
    return success();
  int64_t wanted = MXRT_TRY(call.integer(1));
  if (wanted < 0 || wanted > plan.sizes[axis])
    return call.fail(MXRT_SHAPE, "%lld of the %lld elements along axis %d", (long long)wanted,
                     (long long)plan.sizes[axis], axis);
  plan.calls[3] = plan.sizes[axis] = wanted;
  return success();
}

Status planScatter(const OpCall &call, mxrt_tensor *const *x, Plan &plan) {
  if (x[0]->rank == 0 || x[1]->rank != 1 || x[1]->type != MXRT_I64)
    return refuse(call, x[0], x[1]);
  if (x[2]->rank != x[0]->rank || x[2]->sizes()[0] != x[1]->sizes()[0] ||
      !sameSizes(x[0], x[2], 1, x[0]->rank))
    return refuse(call, x[0], x[2]);
  plan.resultLike(x[0]);
  plan.calls[0] = plan.sizes[0];
  plan.calls[1] = x[1]->sizes()[0];
  for (int32_t i = 1; i < plan.rank; ++i)
    plan.calls[2] *= plan.sizes[i];
  return success();
}

Status planMatrix(const OpCall &call, mxrt_tensor *const *x, Plan &plan) {
  const mxrt_tensor *like = x[call.count() - 1];
  int32_t rank = x[0]->rank;
  std::string_view name = call.op.info->name;
  bool isPacked = name == "qr" || name == "svd" || name == "eigh";
  bool isSquare = !isPacked || name == "eigh";
  if (rank < 2 || (isSquare && x[0]->sizes()[rank - 1] != x[0]->sizes()[rank - 2]) ||
      (!isSquare && x[0]->sizes()[rank - 1] > x[0]->sizes()[rank - 2]))
    return call.fail(MXRT_SHAPE, "%s is not a matrix it is for", shapeText(x[0]->shape()).text);
  if (like->rank != rank || !sameSizes(x[0], like, 0, rank - 1))
    return refuse(call, x[0], like);
  plan.resultLike(like);
  for (int32_t i = 0; i < rank - 2; ++i)
    plan.calls[0] *= plan.sizes[i];
  int64_t m = plan.calls[1] = plan.sizes[rank - 2], n = plan.calls[2] = plan.sizes[rank - 1];
  if (!isPacked)
    return success();
  --plan.rank;
  // Multiplications of sizes of a tensor: no overflow.
  plan.sizes[rank - 2] = name == "eigh" ? n + n * n : m * n + n * n + (name == "svd" ? n : 0);
  return success();
}

} // namespace

Status runRoutine(OpCall &call) {
  const Operation &op = call.op;
  MXRT_CHECK(call.operandCount(size_t(op.info->operands)));
  mxrt_tensor *x[maxInputs];
  TensorRef held[maxInputs];
  Arguments arguments = {};
  size_t tensors = tensorCount(call);
  for (size_t i = 0; i < tensors; ++i) {
    bool isIndex = op.info->family == Family::Scatter && i == 1;
    x[i] = MXRT_TRY(call.tensor(i, isIndex ? MXRT_I64 : op.type));
    MXRT_CHECK(call.onDevice(x[i]));
  }
  Plan plan;
  bool isAlong = op.info->family == Family::Along || op.info->family == Family::Top;
  MXRT_CHECK(isAlong                              ? planAlong(call, x, plan)
             : op.info->family == Family::Scatter ? planScatter(call, x, plan)
                                                  : planMatrix(call, x, plan));
  for (size_t i = 0; i < tensors; ++i)
    if (!mxrt_tensor_is_dense(x[i])) {
      held[i] = MXRT_TRY(call.denseCopy(x[i]));
      x[i] = held[i].get();
    }
  TensorRef result = MXRT_TRY(call.create(op.result, plan.rank, plan.sizes)), workspace;
  for (const auto &known : routines)
    if (known.name == op.info->name) {
      arguments.run = known.run;
      mxrt_workspace layout = known.workspace(mxrt_dtype_size(op.type), plan.calls);
      int64_t bytes = mxrt_workspace_bytes(&layout);
      arguments.hasWorkspace = bytes > 0;
      if (bytes > 0)
        workspace = MXRT_TRY(call.create(MXRT_U8, 1, &bytes));
    }
  arguments.name = op.info->name;
  arguments.type = op.type;
  arguments.inputs = int32_t(tensors);
  arguments.checkNan = call.checksNan(op.result);
  memcpy(arguments.sizes, plan.calls, sizeof(plan.calls));
  mxrt_tensor *to[] = {result.get(), workspace.get()};
  MXRT_CHECK(call.issue(routineKernel, x, tensors, to, workspace ? 2 : 1, &arguments,
                        sizeof(arguments), op.device));
  return call.give(std::move(result));
}

} // namespace mxrt::eager
