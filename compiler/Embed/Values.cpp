// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and inspection of values, and waiting for them.
#include "Embed/Values.h"
#include "Embed/Core.h"
#include "base/Halfs.h"
#include "mxrt/call.h"
#include <cmath>
#include <cstring>

namespace mx::embed {

TensorValue::~TensorValue() {
  mxrt_tensor_release(packed.load());
  mxrt_tensor_release(held);
  if (host && host->release)
    host->release(host->user);
}

GroupValue::~GroupValue() {
  for (mxc_value *item : items)
    mxc_value_release(item);
}

mxc_value *makeTensorValue(mxrt_tensor *tensor, const LifeRef &life, bool isReady) {
  auto *made = new TensorValue;
  made->held = tensor;
  made->life = life;
  made->ready.store(isReady, std::memory_order_relaxed);
  return made;
}

std::string tensorTypeText(const TensorValue &value) {
  std::string text = mxrt_dtype_name(value.dtype());
  if (value.rank() == 0)
    return text;
  text += "[";
  for (int32_t i = 0; i < value.rank(); ++i)
    text += (i ? ", " : "") + std::to_string(value.shape()[i]);
  return text + "]";
}

mxc_error *makeError(const char *code, std::string text) {
  auto *error = new mxc_error;
  error->code = code;
  error->text = std::move(text);
  return error;
}

mxc_error *wrongUse(const std::string &message) {
  return makeError("R0002", "error[R0002]: " + message + "\n");
}

// Allocated when the library is loaded: when they are needed, memory has run out.
static mxc_error outOfMemory{"R0101", "error[R0101]: out of memory\n"};
static mxc_error unexpected{"R0001", "error[R0001]: internal error in libmxc\n"};
mxc_error *noMemory() { return &outOfMemory; }
mxc_error *internalError() { return &unexpected; }

static mxc_error *waitForTensor(TensorValue &value) {
  if (value.host || value.ready.load(std::memory_order_acquire))
    return nullptr;
  mxrt_runtime *runtime = value.life->runtime.load(std::memory_order_acquire);
  if (!runtime)
    return wrongUse("the session has ended before this value was computed");
  if (mxrt_status status = mxrt_tensor_wait(runtime, value.held, nullptr))
    return value.life->session->render(status);
  value.ready.store(true, std::memory_order_release);
  return nullptr;
}

mxc_error *waitFor(mxc_value &value) {
  if (TensorValue *tensor = value.tensor())
    return waitForTensor(*tensor);
  if (GroupValue *group = value.group())
    for (mxc_value *item : group->items)
      if (mxc_error *error = waitFor(*item))
        return error;
  return nullptr;
}

/// Wraps memory outside of the session as a tensor of the session, which keeps `value` alive until
/// it is freed.
static mxc_error *borrowFor(mxc_session &session, TensorValue &value, mxrt_tensor *&out) {
  mxrt_device cpu = {MXRT_CPU, 0};
  if (!value.host)
    if (mxc_error *error = waitForTensor(value))
      return error;
  mxc_value_retain(&value);
  auto release = [](void *user) { mxc_value_release(static_cast<mxc_value *>(user)); };
  const int64_t *strides = value.host ? (value.host->isDense ? nullptr : value.host->strides)
                                      : mxrt_tensor_strides(value.held);
  void *data = value.host ? value.host->data : mxrt_tensor_data(value.held);
  // Shared memory must not be written; if it is not shared, the only reference was the host's.
  bool mayWrite = value.host && (value.host->flags & MXC_WRITABLE);
  mxrt_status status = mxrt_tensor_borrow(
      session.runtime(), &cpu, value.dtype(), value.rank(), value.shape(), strides, data,
      mayWrite ? MXRT_BORROW_WRITABLE : 0, release, &value, nullptr, &out);
  if (status) {
    mxc_value_release(&value);
    return session.render(status);
  }
  return nullptr;
}

mxc_error *tensorFor(mxc_session &session, TensorValue &value, mxrt_tensor *&out) {
  mxrt_tensor *given = nullptr;
  if (value.held && value.life == session.life)
    given = mxrt_tensor_retain(value.held);
  else if (mxc_error *error = borrowFor(session, value, given))
    return error;
  if (mxrt_tensor_is_dense(given)) {
    out = given;
    return nullptr;
  }
  mxrt_device device = mxrt_tensor_device(given);
  mxrt_tensor *dense = nullptr;
  mxrt_status status =
      mxrt_tensor_create(session.runtime(), &device, mxrt_tensor_dtype(given),
                         mxrt_tensor_rank(given), mxrt_tensor_shape(given), nullptr, &dense);
  if (!status)
    status = mxrt_call_copy(session.runtime(), given, dense, nullptr);
  mxrt_tensor_release(given);
  if (status) {
    mxrt_tensor_release(dense);
    return session.render(status);
  }
  out = dense;
  return nullptr;
}

uint64_t bitsOf(const NumberValue &value, mxrt_dtype type) {
  uint64_t bits = 0;
  int64_t whole = value.kind == MXC_FLOAT_NUMBER ? std::llround(value.real) : value.whole;
  double real = value.asReal();
  auto narrow = static_cast<float>(real);
  switch (type) {
  case MXRT_F32:
    std::memcpy(&bits, &narrow, sizeof narrow);
    return bits;
  case MXRT_F64:
    std::memcpy(&bits, &real, sizeof real);
    return bits;
  case MXRT_F16:
    return mxrt::roundToF16(narrow);
  case MXRT_BF16:
    return mxrt::roundToBf16(narrow);
  case MXRT_BOOL:
    return whole != 0;
  default:
    std::memcpy(&bits, &whole, sizeof whole); // little endian: the low bytes are the narrow ones
    return bits;
  }
}

mxc_error *tensorOfNumber(mxc_session &session, const NumberValue &value, mxrt_dtype type,
                          mxrt_tensor *&out) {
  mxrt_device cpu = {MXRT_CPU, 0};
  if (mxrt_status status =
          mxrt_tensor_create(session.runtime(), &cpu, type, 0, nullptr, nullptr, &out))
    return session.render(status);
  void *data = mxrt_tensor_data(out);
  uint64_t bits = bitsOf(value, type);
  std::memcpy(data, &bits, static_cast<size_t>(mxrt_dtype_size(type)));
  return nullptr;
}

} // namespace mx::embed
