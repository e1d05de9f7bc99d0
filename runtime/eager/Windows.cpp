// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and sliding windows over the last axes. After the tensors come, for each spatial
// axis,
//
//   conv x w   size of the result, stride, dilation, padding_low, lhs_dilation
//   windows x  positions in the window, of the window, stride, dilation
//   fold x     size of the result, stride, dilation
//
// as mx.conv, mx.windows and mx.fold have them. Kernels have three spatial axes; missing ones have
// size 1.

#include "eager/Issue.h"

namespace mxrt::eager {

namespace {

/// The parameters of one spatial axis.
struct Axis {
  int64_t of[5] = {1, 1, 1, 0, 1};
};

/// Reads `each` numbers for every axis, aligned to the last of `axes`.
Status readAxes(const OpCall &call, size_t tensors, int32_t each, Axis (&axes)[kernelSpatial],
                int32_t &spatial) {
  size_t numbers = call.count() < tensors ? 0 : call.count() - tensors;
  spatial = int32_t(numbers / size_t(each));
  if (spatial < 1 || spatial > kernelSpatial || numbers != size_t(spatial * each))
    return call.fail(MXRT_INVALID_ARGUMENT, "%zu operands", call.count());
  for (int32_t d = 0; d < spatial; ++d)
    for (int32_t i = 0; i < each; ++i)
      axes[kernelSpatial - spatial + d].of[i] =
          MXRT_TRY(call.integer(tensors + size_t(d * each + i)));
  return success();
}

/// Checks that steps are at least 1, so that code can divide by them, and sizes at least 0.
bool isSound(const Axis &axis, std::initializer_list<int> sizes, std::initializer_list<int> steps) {
  for (int i : sizes)
    if (axis.of[i] < 0)
      return false;
  for (int i : steps)
    if (axis.of[i] < 1)
      return false;
  return true;
}

int64_t sizeFrom(const mxrt_tensor *tensor, int32_t first, int32_t spatial, int32_t d) {
  int32_t missing = kernelSpatial - spatial;
  return d < missing ? 1 : tensor->sizes()[first + d - missing];
}
int64_t strideFrom(const mxrt_tensor *tensor, int32_t first, int32_t spatial, int32_t d) {
  int32_t missing = kernelSpatial - spatial;
  return d < missing ? 0 : tensor->strides()[first + d - missing];
}

/// Number of multiplications of a convolution; saturates at INT64_MAX. A filter of few taps
/// (depthwise) counts as 64: the kernel for any sizes takes that long for an output.
int64_t multiplications(const mxrt_tensor *result, const mxrt_tensor *w) {
  constexpr int64_t fewestTaps = 64;
  int64_t taps = 1;
  for (int32_t i = 1; i < w->rank; ++i)
    if (__builtin_mul_overflow(taps, w->sizes()[i], &taps))
      return INT64_MAX;
  int64_t work = taps < fewestTaps ? fewestTaps : taps;
  for (int32_t i = 0; i < result->rank; ++i)
    if (__builtin_mul_overflow(work, result->sizes()[i], &work))
      return INT64_MAX;
  return work;
}

Result<mxrt_tensor *> dense(OpCall &call, mxrt_tensor *tensor, TensorRef &held) {
  if (mxrt_tensor_is_dense(tensor))
    return tensor;
  held = MXRT_TRY(call.denseCopy(tensor));
  return held.get();
}

/// Issues the kernel for these sizes once compiling it pays, until then the one for any sizes.
template <typename Sizes>
Status issueConv(OpCall &call, const Signature &signature, const Sizes &sizes, mxrt_tensor *x,
                 mxrt_tensor *w, mxrt_tensor *result, int32_t spatial) {
  const Operation &op = call.op;
  constexpr size_t count = sizeof(Sizes) / sizeof(int64_t),
                   ofAxis = sizeof(typename Sizes::Axis) / sizeof(int64_t),
                   ofAll = count - kernelSpatial * ofAxis;
  Layout layout = mxrt_tensor_is_dense(x) ? Layout::Dense : Layout::Strided;
  int64_t numbers[count + 1];
  memcpy(numbers, &sizes, sizeof(sizes));
  numbers[count] = int64_t(layout); // distinguishes kernels for the same sizes
  std::initializer_list<KeyOperand> operands = {{op.type, layout}, {op.type, Layout::Dense}};
  int32_t missing = kernelSpatial - spatial;
  mxrt_compiled_kernel sized = MXRT_TRY(call.sizedKernel(
      numbers, int32_t(count) + 1, multiplications(result, w), [&](KeyText &key) {
        memmove(numbers + ofAll, numbers + ofAll + size_t(missing) * ofAxis,
                size_t(spatial) * ofAxis * sizeof(int64_t));
        key.writeSized(signature, {numbers, ofAll + size_t(spatial) * ofAxis}, spatial, operands,
                       op.result);
      }));
  KernelCall kernel;
  kernel.input(x);
  kernel.input(w);
  if (!sized)
    kernel.sizes(sizes);
  if (layout == Layout::Strided) {
    kernel.sizes(x->strides(), 2);
    for (int32_t d = sized ? missing : 0; d < kernelSpatial; ++d)
      kernel.size(strideFrom(x, 2, spatial, d));
  }
  bool isDepthwise = std::is_same_v<Sizes, DepthwiseConvSizes>;
  uint32_t form = uint32_t(layout) << 1 | uint32_t(isDepthwise);
  kernel.arguments.kernel = sized;
  if (!sized)
    kernel.arguments.kernel = MXRT_TRY(call.kernel(
        form, [&](KeyText &key) { key.write(signature, operands, op.result); }));
  return call.issue(kernel, result);
}

} // namespace

Status runConv(OpCall &call) {
  const Operation &op = call.op;
  Axis axes[kernelSpatial];
  int32_t spatial = 0;
  MXRT_CHECK(readAxes(call, 2, 5, axes, spatial));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0, op.type)), *w = MXRT_TRY(call.tensor(1, op.type));
  MXRT_CHECK(call.onDevice(x));
  MXRT_CHECK(call.onDevice(w));
  bool fits = x->rank == spatial + 2 && w->rank == spatial + 2;
  int64_t inputs = fits ? w->sizes()[1] : 0, outputs = fits ? w->sizes()[0] : 0;
  // Without channels the number of groups is unknown, and there is nothing to sum.
  int64_t groups = inputs > 0 ? x->sizes()[1] / inputs : 1;
  if (!fits || groups * inputs != x->sizes()[1] || groups == 0 || outputs % groups != 0)
    return call.fail(MXRT_SHAPE, "%s and a window of %s do not fit", shapeText(x->shape()).text,
                     shapeText(w->shape()).text);
  int64_t sizes[MXRT_MAX_RANK] = {x->sizes()[0], outputs};
  for (int32_t d = 0; d < kernelSpatial; ++d) {
    if (!isSound(axes[d], {0}, {1, 2, 4}))
      return call.fail(MXRT_INVALID_ARGUMENT, "a size or step that is none");
    if (d >= kernelSpatial - spatial)
      sizes[2 + d - (kernelSpatial - spatial)] = axes[d].of[0];
  }
  TensorRef held;
  w = MXRT_TRY(dense(call, w, held));
  TensorRef result = MXRT_TRY(call.create(op.result, x->rank, sizes));
  auto issue = [&](const Signature &signature, auto sizes) {
    for (int32_t d = 0; d < kernelSpatial; ++d)
      sizes.axes[d] = {.H = sizeFrom(x, 2, spatial, d),
                       .W = sizeFrom(w, 2, spatial, d),
                       .P = axes[d].of[0],
                       .S = axes[d].of[1],
                       .D = axes[d].of[2],
                       .L = axes[d].of[3],
                       .N = axes[d].of[4]};
    return issueConv(call, signature, sizes, x, w, result.get(), spatial);
  };
  if (outputs == groups)
    MXRT_CHECK(issue(signatures::DepthwiseConv,
                     DepthwiseConvSizes{.B = x->sizes()[0], .I = inputs, .G = groups, .axes = {}}));
  else
    MXRT_CHECK(issue(
        signatures::Conv,
        ConvSizes{
            .B = x->sizes()[0], .I = inputs, .G = groups, .O = outputs / groups, .axes = {}}));
  return call.give(std::move(result));
}

/// Sliding windows as a view: overlapping windows share elements.
Status runWindows(OpCall &call) {
  Axis axes[kernelSpatial];
  int32_t spatial = 0;
  MXRT_CHECK(readAxes(call, 1, 4, axes, spatial));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  if (x->rank < spatial || x->rank + spatial > MXRT_MAX_RANK)
    return call.fail(MXRT_SHAPE, "%d spatial axes of %s", int(spatial), shapeText(x->shape()).text);
  int64_t sizes[MXRT_MAX_RANK], strides[MXRT_MAX_RANK];
  int32_t lead = x->rank - spatial;
  for (int32_t i = 0; i < lead; ++i) {
    sizes[i] = x->sizes()[i];
    strides[i] = x->strides()[i];
  }
  for (int32_t d = 0; d < spatial; ++d) {
    const Axis &axis = axes[kernelSpatial - spatial + d];
    const int64_t *of = axis.of;
    if (!isSound(axis, {0, 1}, {2, 3}))
      return call.fail(MXRT_INVALID_ARGUMENT, "a size or step that is none");
    int64_t last = 0, in = 0;
    bool isEmpty = of[0] == 0 || of[1] == 0;
    if (!isEmpty && (__builtin_mul_overflow(of[0] - 1, of[3], &in) ||
                     __builtin_mul_overflow(of[1] - 1, of[2], &last) ||
                     __builtin_add_overflow(last, in, &last) || last >= x->sizes()[lead + d]))
      return call.fail(MXRT_SHAPE, "windows that end behind axis %d of %s", int(lead + d),
                       shapeText(x->shape()).text);
    sizes[lead + d] = of[0];
    sizes[lead + spatial + d] = of[1];
    // The stride of an axis with one position is never used, but must not overflow.
    strides[lead + d] = of[0] > 1 ? x->strides()[lead + d] * of[3] : 0;
    strides[lead + spatial + d] = of[1] > 1 ? x->strides()[lead + d] * of[2] : 0;
  }
  int64_t elements = 1;
  for (int32_t i = 0; i < x->rank + spatial; ++i)
    if (__builtin_mul_overflow(elements, sizes[i], &elements))
      return call.fail(MXRT_SHAPE, "more elements than can be counted");
  return call.give(MXRT_TRY(call.view(x, 0, x->rank + spatial, sizes, strides)));
}

Status runFold(OpCall &call) {
  const Operation &op = call.op;
  Axis axes[kernelSpatial];
  int32_t spatial = 0;
  MXRT_CHECK(readAxes(call, 1, 3, axes, spatial));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0, op.type));
  MXRT_CHECK(call.onDevice(x));
  if (x->rank < 2 * spatial)
    return call.fail(MXRT_SHAPE, "%d spatial axes of %s", int(spatial), shapeText(x->shape()).text);
  int32_t lead = x->rank - 2 * spatial;
  int64_t sizes[MXRT_MAX_RANK], before = 1;
  for (int32_t i = 0; i < lead; ++i)
    before *= sizes[i] = x->sizes()[i];
  for (int32_t d = 0; d < kernelSpatial; ++d) {
    if (!isSound(axes[d], {0}, {1, 2}))
      return call.fail(MXRT_INVALID_ARGUMENT, "a size or step that is none");
    if (d >= kernelSpatial - spatial)
      sizes[lead + d - (kernelSpatial - spatial)] = axes[d].of[0];
  }
  TensorRef held;
  x = MXRT_TRY(dense(call, x, held));
  TensorRef result = MXRT_TRY(call.create(op.result, lead + spatial, sizes));
  KernelCall kernel;
  kernel.input(x);
  FoldSizes named = {.A = before, .axes = {}};
  for (int32_t d = 0; d < kernelSpatial; ++d)
    named.axes[d] = {.W = sizeFrom(x, lead, spatial, d),
                     .P = sizeFrom(x, lead + spatial, spatial, d),
                     .H = axes[d].of[0],
                     .S = axes[d].of[1],
                     .D = axes[d].of[2]};
  kernel.sizes(named);
  kernel.arguments.kernel = MXRT_TRY(call.kernel(0, [&](KeyText &key) {
    key.write(signatures::Fold, {{op.type, Layout::Dense}}, op.result);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return call.give(std::move(result));
}

} // namespace mxrt::eager
