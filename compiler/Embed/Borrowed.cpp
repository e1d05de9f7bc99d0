// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that a call updates. Graphs and functions allocate tensors as they like; on return,
// host memory passed as writable holds their elements, whatever its alignment.
#include "Embed/Core.h"
#include "mxrt/engine.h"
#include <cstring>

namespace mx::embed {
namespace {

/// Whether the memory is visible to the host, and a call may write it.
bool isSeen(const TensorValue &value) {
  return value.host && (value.host->flags & (MXC_WRITABLE | kOwnMemory)) == MXC_WRITABLE;
}

/// Every tensor, number and text of a value, in order.
void collect(mxc_value &value, bool isOwned, std::vector<TensorValue *> &out) {
  isOwned &= value.isOwned();
  if (GroupValue *group = value.group()) {
    for (mxc_value *item : group->items)
      collect(*item, isOwned, out);
    return;
  }
  TensorValue *tensor = value.tensor();
  out.push_back(tensor && isOwned && isSeen(*tensor) ? tensor : nullptr);
}

void collectSlots(mxc_value *&value, std::vector<mxc_value **> &out) {
  if (GroupValue *group = value->group()) {
    for (mxc_value *&item : group->items)
      collectSlots(item, out);
    return;
  }
  out.push_back(&value);
}

bool hasSharedMemory(mxc_value &value) {
  if (GroupValue *group = value.group())
    return std::any_of(group->items.begin(), group->items.end(),
                       [](mxc_value *item) { return hasSharedMemory(*item); });
  TensorValue *tensor = value.tensor();
  return tensor && isSeen(*tensor) && !tensor->isOwned();
}

/// Waits until no op is in flight. Errors stay with the values they poison.
mxc_error *waitForAll(mxc_session &session) {
  mxrt_engine *engine = nullptr;
  if (mxrt_status status = mxrt_runtime_engine(session.runtime(), nullptr, &engine))
    return session.render(status);
  mxrt_status_release(mxrt_engine_wait_all(engine, mxrt_location{}));
  return nullptr;
}

/// Calls use(offset in elements) for every element of a shape, in row-major order.
template <class F>
void forElements(int32_t rank, const int64_t *shape, const int64_t *strides, F use) {
  int64_t at[MXC_MAX_RANK] = {}, offset = 0;
  for (int32_t i = 0; i < rank; ++i)
    if (shape[i] == 0)
      return;
  for (;;) {
    use(offset);
    int32_t i = rank;
    while (i-- > 0) {
      offset += strides[i];
      if (++at[i] < shape[i])
        break;
      offset -= strides[i] * shape[i];
      at[i] = 0;
    }
    if (i < 0)
      return;
  }
}

/// One tensor that must be copied into host memory.
struct Moved {
  TensorValue *into = nullptr;
  const char *from = nullptr;
  std::vector<char> copy;
};

bool overlaps(const HostMemory &host, const char *begin, size_t bytes) {
  auto width = mxrt_dtype_size(host.type);
  int64_t low = 0, high = width;
  for (int32_t i = 0; i < host.rank; ++i) {
    int64_t reach = (host.shape[i] - 1) * host.strides[i] * width;
    (reach < 0 ? low : high) += reach;
  }
  auto *data = static_cast<const char *>(host.data);
  return begin < data + high && data + low < begin + bytes;
}

} // namespace

mxc_error *BorrowedMut::before(mxc_session &session, mxc_value &value) {
  // A call that only reads the memory holds it until the call is done: that is not another owner.
  if (hasSharedMemory(value))
    if (mxc_error *error = waitForAll(session))
      return error;
  collect(value, true, hosts);
  any = any || std::any_of(hosts.begin(), hosts.end(), [](TensorValue *host) { return host; });
  return nullptr;
}

mxc_error *BorrowedMut::after(mxc_session &session, llvm::ArrayRef<mxc_value **> changed) {
  if (!any)
    return nullptr;
  std::vector<mxc_value **> slots;
  for (mxc_value **value : changed) {
    if (mxc_error *error = waitFor(**value))
      return error;
    collectSlots(*value, slots);
  }
  // Ops that read the old elements may still be in flight.
  if (mxc_error *error = waitForAll(session))
    return error;
  std::vector<Moved> moved;
  for (size_t i = 0; i < std::min(slots.size(), hosts.size()); ++i) {
    TensorValue *host = hosts[i], *now = host ? (*slots[i])->tensor() : nullptr;
    if (!now || now->host)
      continue;
    HostMemory &memory = *host->host;
    mxrt_tensor *tensor = now->held;
    if (now->dtype() != memory.type || now->rank() != memory.rank ||
        !std::equal(now->shape(), now->shape() + now->rank(), memory.shape))
      return makeError("R0201", "error[R0201]: the call makes " + tensorTypeText(*now) +
                                    " of a borrowed tensor, but the memory of the host is for " +
                                    tensorTypeText(*host) + "\n");
    auto *data = static_cast<const char *>(mxrt_tensor_data(tensor));
    bool isDense = mxrt_tensor_is_dense(tensor);
    if (memory.elements == 0 || (isDense && memory.isDense && data == memory.data))
      continue;
    auto width = static_cast<size_t>(mxrt_dtype_size(memory.type));
    size_t bytes = width * static_cast<size_t>(memory.elements);
    Moved &move = moved.emplace_back();
    move.into = host;
    // A tensor that itself lies in host memory would be overwritten below, so it is copied first.
    bool isSafe = isDense && std::none_of(hosts.begin(), hosts.end(), [&](TensorValue *other) {
                    return other && overlaps(*other->host, data, bytes);
                  });
    move.from = data;
    if (isSafe)
      continue;
    move.copy.resize(bytes);
    char *next = move.copy.data();
    forElements(memory.rank, memory.shape, mxrt_tensor_strides(tensor), [&](int64_t offset) {
      std::memcpy(next, data + offset * static_cast<int64_t>(width), width);
      next += width;
    });
    move.from = move.copy.data();
  }
  for (Moved &move : moved) {
    HostMemory &memory = *move.into->host;
    auto width = static_cast<size_t>(mxrt_dtype_size(memory.type));
    auto *data = static_cast<char *>(memory.data);
    if (memory.isDense) {
      std::memcpy(data, move.from, width * static_cast<size_t>(memory.elements));
      continue;
    }
    const char *next = move.from;
    forElements(memory.rank, memory.shape, memory.strides, [&](int64_t offset) {
      std::memcpy(data + offset * static_cast<int64_t>(width), next, width);
      next += width;
    });
  }
  // The value keeps referring to the host's memory: the next call finds it as this one did.
  for (size_t i = 0; i < std::min(slots.size(), hosts.size()); ++i)
    if (hosts[i] && *slots[i] != hosts[i]) {
      mxc_value_retain(hosts[i]);
      mxc_value_release(*slots[i]);
      *slots[i] = hosts[i];
    }
  return nullptr;
}

} // namespace mx::embed
