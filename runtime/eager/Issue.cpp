// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operand checks, result tensors and issue of kernel calls for the eager executor.

#include "eager/Issue.h"
#include "device/Device.h"
#include "eager/NanCheck.h"
#include "memory/Poison.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace mxrt::eager {

using host::Kind;
using host::Value;

//===-- Errors --------------------------------------------------------------===//

Status OpCall::fail(mxrt_code code, const char *format, ...) const {
  char text[900];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  return error(alloc(), code, noLocation, "%s: %s", op.info->name, static_cast<const char *>(text));
}

Status OpCall::named(mxrt_status failure) const {
  Status status(failure);
  if (status.ok() || status.code() == MXRT_OUT_OF_MEMORY || status.code() == MXRT_MEMORY_LIMIT)
    return status;
  return fail(status.code(), "%s", status.message());
}

Status OpCall::operandCount(size_t wanted) const {
  if (count() == wanted)
    return success();
  return fail(MXRT_HOST_TYPE, "%zu operands instead of %zu", count(), wanted);
}

//===-- Operands ------------------------------------------------------------===//

Result<mxrt_tensor *> OpCall::tensor(size_t index) const {
  if (index < count())
    if (mxrt_tensor *found = tensorOf(call.args[index]))
      return found;
  return fail(MXRT_HOST_TYPE, "operand %zu is %s, not a tensor", index,
              index < count() ? host::kindName(call.args[index].kind) : "missing");
}

Result<mxrt_tensor *> OpCall::tensor(size_t index, mxrt_dtype type) const {
  mxrt_tensor *found = MXRT_TRY(tensor(index));
  if (found->type != type)
    return fail(MXRT_DTYPE, "operand %zu is %s, but the element type is %s", index,
                shapeText(found->shape()).text, mxrt_dtype_name(type));
  return found;
}

Result<int64_t> OpCall::integer(size_t index) const {
  if (index < count() && call.args[index].kind == Kind::Int)
    return call.args[index].i;
  return fail(MXRT_HOST_TYPE, "operand %zu is %s, not i64", index,
              index < count() ? host::kindName(call.args[index].kind) : "missing");
}

Result<double> OpCall::number(size_t index) const {
  Value wide;
  if (index < count() && isHostNumber(call.args[index].kind) &&
      convertNumber(call.args[index], Kind::F64, wide))
    return wide.d;
  return fail(MXRT_HOST_TYPE, "operand %zu is %s, not a number", index,
              index < count() ? host::kindName(call.args[index].kind) : "missing");
}

Status OpCall::element(size_t index, mxrt_dtype type, uint64_t &bits) const {
  const Value &value = call.args[index];
  if (!isHostNumber(value.kind))
    return fail(MXRT_HOST_TYPE, "operand %zu is %s, not a tensor or a number", index,
                host::kindName(value.kind));
  if (!toElement(value, type, bits))
    return fail(MXRT_INVALID_ARGUMENT, "operand %zu does not fit %s", index, mxrt_dtype_name(type));
  return success();
}

Status OpCall::shape(size_t first, int64_t *sizes, int32_t &rank) const {
  size_t given = count() > first ? count() - first : 0;
  if (given > MXRT_MAX_RANK)
    return fail(MXRT_RANK_LIMIT, "%zu sizes: the limit is %d dimensions", given, MXRT_MAX_RANK);
  rank = int32_t(given);
  for (size_t i = 0; i < given; ++i) {
    sizes[i] = MXRT_TRY(integer(first + i));
    if (sizes[i] < 0)
      return fail(MXRT_SHAPE, "size %lld of dimension %zu is negative",
                  static_cast<long long>(sizes[i]), i);
  }
  return success();
}

Status OpCall::onDevice(const mxrt_tensor *tensor) const {
  mxrt_device where = tensor->buffer->device;
  if (where.kind == op.device.kind && where.index == op.device.index)
    return success();
  return fail(MXRT_WRONG_DEVICE, "%s is on %s, but the operation runs on %s",
              shapeText(tensor->shape()).text, deviceText(where).text, deviceText(op.device).text);
}

//===-- Making --------------------------------------------------------------===//

Result<TensorRef> OpCall::create(mxrt_dtype type, int32_t rank, const int64_t *sizes,
                                 mxrt_device device) const {
  mxrt_tensor *made = nullptr;
  MXRT_CHECK(named(mxrt_tensor_create(runtime, &device, type, rank, sizes, &location, &made)));
  if (host.checkMemory)
    memset(made->data(), MXRT_POISON_BYTE, size_t(made->elements * mxrt_dtype_size(type)));
  return TensorRef(made);
}

Result<TensorRef> OpCall::view(const mxrt_tensor *base, int64_t offset, int32_t rank,
                               const int64_t *sizes, const int64_t *strides) const {
  base->buffer->retain();
  mxrt_tensor *made = MXRT_TRY(makeTensor(base->buffer, base->type, rank, base->owner, location));
  made->elements = 1;
  for (int32_t i = 0; i < rank; ++i) {
    made->sizes()[i] = sizes[i];
    made->strides()[i] = strides[i];
    made->elements *= sizes[i]; // part of a measured shape: no overflow
  }
  made->offset = base->offset + (made->elements > 0 ? offset : 0);
  return TensorRef(made);
}

Status OpCall::give(TensorRef tensor) const {
  if (op.resultKind == Kind::Unit)
    return success();
  return giveTensor(call, std::move(tensor));
}

//===-- Compiled kernels ----------------------------------------------------===//

static void findBuffers(const KernelArguments &arguments, const mxrt_tensor *const *tensors,
                        void **buffers) {
  for (int32_t i = 0; i < arguments.operands; ++i) {
    uint8_t from = arguments.from[i];
    // A kernel does not write its inputs.
    buffers[i] = from & KernelCall::scalarBit
                     ? const_cast<uint64_t *>(&arguments.scalars[from & ~KernelCall::scalarBit])
                     : static_cast<void *>(tensors[from]->data());
  }
}

static mxrt_status runKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                             const void *raw) {
  const auto &arguments = *static_cast<const KernelArguments *>(raw);
  void *buffers[maxInputs + 1];
  findBuffers(arguments, tensors, buffers);
  return arguments.kernel(context, buffers, arguments.sizes);
}

static mxrt_status runCheckedKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                                    const void *raw) {
  if (mxrt_status failure = runKernel(context, tensors, raw))
    return failure;
  const auto &arguments = *static_cast<const KernelArguments *>(raw);
  return checkNan(context, arguments.name, tensors[arguments.from[arguments.operands - 1]]);
}

static mxrt_status runGuardedKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                                    const void *raw) {
  if (mxrt_status failure = runKernel(context, tensors, raw))
    return failure;
  const auto &arguments = *static_cast<const KernelArguments *>(raw);
  const mxrt_tensor *result = tensors[arguments.from[arguments.operands - 1]];
  int64_t at = firstPoison(result->data(), result->elements, mxrt_dtype_size(result->type));
  if (at < 0)
    return nullptr;
  return error(context->allocator, MXRT_INTERNAL, context->location,
               "%s: element %lld of the result %s was not written", arguments.name,
               static_cast<long long>(at), shapeText(result->shape()).text)
      .release();
}

Result<mxrt_compiled_kernel> OpCall::newKernel(uint32_t form, std::string_view key) const {
  mxrt_compiled_kernel kernel = MXRT_TRY(host.kernels.find(host.source, key));
  if (!op.kernels.push({form, kernel}))
    return outOfMemory(alloc());
  return kernel;
}

SizedKernel *OpCall::countWork(const int64_t *numbers, int32_t count, int64_t work) const {
  SizedKernel *found = nullptr;
  for (SizedKernel &known : op.sized)
    if (known.count == count &&
        memcmp(known.numbers, numbers, size_t(count) * sizeof(int64_t)) == 0)
      found = &known;
  if (!found) {
    if (op.sized.size() == maxSizedKernels || !op.sized.push({}))
      return nullptr;
    found = &op.sized[op.sized.size() - 1];
    found->count = count;
    memcpy(found->numbers, numbers, size_t(count) * sizeof(int64_t));
  }
  if (__builtin_add_overflow(found->work, work, &found->work))
    found->work = INT64_MAX;
  return found;
}

Status OpCall::issue(KernelCall &kernel, mxrt_tensor *result) const {
  KernelArguments &arguments = kernel.arguments;
  arguments.name = op.info->name;
  arguments.from[arguments.operands++] = uint8_t(kernel.readCount);
  mxrt_kernel run = checksNan(result->type)                         ? runCheckedKernel
                    : host.checkMemory && isFloatType(result->type) ? runGuardedKernel
                                                                    : runKernel;
  return issue(run, kernel.reads, size_t(kernel.readCount), &result, 1, &arguments,
               offsetof(KernelArguments, sizes) + sizeof(int64_t) * size_t(kernel.sizeCount),
               result->buffer->device);
}

Status OpCall::issue(mxrt_kernel run, mxrt_tensor *const *reads, size_t readCount,
                     mxrt_tensor *const *writes, size_t writeCount, const void *arguments,
                     size_t argumentBytes, mxrt_device device) const {
  mxrt_call issued = {};
  issued.run = run;
  issued.name = op.info->name;
  issued.reads = reads;
  issued.read_count = readCount;
  issued.writes = writes;
  issued.write_count = writeCount;
  issued.arguments = arguments;
  issued.argument_bytes = argumentBytes;
  issued.device = device;
  issued.location = location;
  host.issued = true;
  return Status(mxrt_call_push(runtime, &issued));
}

} // namespace mxrt::eager
