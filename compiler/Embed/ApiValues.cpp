// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API (mxc.h): values.
#include "Embed/Core.h"
#include "Support/Suggest.h"
#include "base/Elements.h"
#include "mxrt/call.h"
#include <cmath>
#include <cstring>
#include <new>

using namespace mx;
using namespace mx::embed;

namespace {

/// Checks a shape and fills in the fields derived from it.
mxc_error *fillMemory(HostMemory &memory, mxc_dtype type, int32_t rank, const int64_t *shape,
                      const int64_t *strides) {
  if (type < MXC_BOOL || type > MXC_F64)
    return wrongUse("there is no element type " + std::to_string(type));
  if (rank < 0 || rank > MXC_MAX_RANK)
    return makeError("R0202", "error[R0202]: a tensor of rank " + std::to_string(rank) +
                                  "; 0 to 16 are possible\n");
  memory.type = static_cast<mxrt_dtype>(type);
  memory.rank = rank;
  memory.elements = 1;
  for (int32_t i = 0; i < rank; ++i) {
    memory.shape[i] = shape[i];
    if (shape[i] < 0)
      return makeError("R0201", "error[R0201]: size " + std::to_string(i) + " of a tensor is " +
                                    std::to_string(shape[i]) + "\n");
    if (__builtin_mul_overflow(memory.elements, shape[i], &memory.elements))
      return makeError("R0103", "error[R0103]: the sizes of a tensor do not fit in 63 bits\n");
  }
  int64_t dense = 1;
  memory.isDense = true;
  for (int32_t i = rank - 1; i >= 0; --i) {
    memory.strides[i] = strides ? strides[i] : dense;
    if (shape[i] != 1 && memory.strides[i] != dense && memory.elements > 1)
      memory.isDense = false;
    dense *= std::max<int64_t>(shape[i], 1);
  }
  return nullptr;
}

double asDouble(mxrt_dtype type, const void *data) {
  return mxrt::visitElement(
      type, [&](auto element) { return static_cast<double>(element.load(data)); });
}

/// The only element of a tensor, or an error if there is not exactly one.
mxc_error *oneElement(mxc_value *value, const void *&out) {
  TensorValue *tensor = value->tensor();
  if (!tensor || tensor->elements() != 1)
    return wrongUse(std::string("a value of type ") + mxc_value_type(value) + " is not a number");
  return mxc_tensor_data(value, &out);
}

mxc_value *makeNumber(mxc_kind kind, int64_t whole, double real) {
  auto *made = new (std::nothrow) NumberValue(kind);
  if (made) {
    made->whole = whole;
    made->real = real;
  }
  return made;
}

/// Resolves the type of a part lazily, when the part is first accessed.
void settleType(GroupValue &parent, size_t index) {
  GroupValue *part = parent.items[index]->group();
  if (!part || part->type.load(std::memory_order_acquire) ||
      !parent.life->runtime.load(std::memory_order_acquire))
    return;
  mxc_session &session = *parent.life->session;
  std::lock_guard guard(session.lock);
  part->type.store(partType(session.session->checker().sema(), parent.type.load(), index),
                   std::memory_order_release);
}

std::string typeText(mxc_value &value) {
  if (TensorValue *tensor = value.tensor())
    return tensorTypeText(*tensor);
  if (value.kind < MXC_TEXT)
    return value.kind == MXC_BOOL_NUMBER ? "bool" : value.kind == MXC_INT_NUMBER ? "i64" : "f32";
  if (value.kind == MXC_TEXT)
    return "str";
  GroupValue &group = *value.group();
  const sema::Type *type = group.type.load();
  if (type && group.life->runtime.load()) {
    mxc_session &session = *group.life->session;
    std::lock_guard guard(session.lock);
    return session.session->checker().sema().types.print(type);
  }
  return group.layout ? group.layout->name : value.kind == MXC_TUPLE ? "a tuple" : "an array";
}

} // namespace

extern "C" {

mxc_error *mxc_tensor_borrow(mxc_dtype type, int32_t rank, const int64_t *shape,
                             const int64_t *strides, void *data, uint32_t flags,
                             void (*release)(void *user), void *user, mxc_value **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    auto memory = std::make_unique<HostMemory>();
    if (mxc_error *error = fillMemory(*memory, type, rank, shape, strides))
      return error;
    auto size = static_cast<uintptr_t>(mxrt_dtype_size(memory->type));
    if (!data && memory->elements > 0)
      return wrongUse("a tensor over no memory");
    if (reinterpret_cast<uintptr_t>(data) % size != 0)
      return wrongUse("the memory of a tensor of " + std::string(mxrt_dtype_name(memory->type)) +
                      " is not aligned to " + std::to_string(size) + " bytes");
    memory->data = data;
    memory->flags = flags & (MXC_WRITABLE | kOwnMemory);
    auto made = std::make_unique<TensorValue>();
    memory->release = release;
    memory->user = user;
    made->host = std::move(memory);
    *out = made.release();
    return nullptr;
  });
}

mxc_error *mxc_tensor_copy(mxc_dtype type, int32_t rank, const int64_t *shape, const void *data,
                           mxc_value **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    auto memory = std::make_unique<HostMemory>();
    if (mxc_error *error = fillMemory(*memory, type, rank, shape, nullptr))
      return error;
    int64_t bytes = 0;
    if (__builtin_mul_overflow(memory->elements, mxrt_dtype_size(memory->type), &bytes))
      return makeError("R0103", "error[R0103]: the bytes of a tensor do not fit in 63 bits\n");
    auto align = std::align_val_t(MXRT_ALIGNMENT);
    void *copy = ::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), align);
    if (bytes > 0)
      std::memcpy(copy, data, static_cast<size_t>(bytes));
    auto release = [](void *user) { ::operator delete(user, std::align_val_t(MXRT_ALIGNMENT)); };
    mxc_error *error = mxc_tensor_borrow(type, rank, shape, nullptr, copy,
                                         MXC_WRITABLE | kOwnMemory, release, copy, out);
    if (error)
      release(copy);
    return error;
  });
}

mxc_value *mxc_bool(int32_t value) { return makeNumber(MXC_BOOL_NUMBER, value != 0, 0); }
mxc_value *mxc_int(int64_t value) { return makeNumber(MXC_INT_NUMBER, value, 0); }
mxc_value *mxc_float(double value) { return makeNumber(MXC_FLOAT_NUMBER, 0, value); }
mxc_value *mxc_text(const char *text, size_t size) {
  mxc_value *out = nullptr;
  mxc_error_release(guarded([&]() -> mxc_error * {
    auto made = std::make_unique<TextValue>();
    made->content.assign(text, size);
    out = made.release();
    return nullptr;
  }));
  return out;
}

mxc_value *mxc_value_retain(mxc_value *value) {
  if (value)
    value->refs.fetch_add(1, std::memory_order_relaxed);
  return value;
}
void mxc_value_release(mxc_value *value) {
  if (value && value->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete value;
}

mxc_kind mxc_value_kind(const mxc_value *value) { return value->kind; }

const char *mxc_value_type(mxc_value *value) {
  const std::string *text = value->shown.load(std::memory_order_acquire);
  if (text)
    return text->c_str();
  const std::string *made = nullptr;
  mxc_error *error = guarded([&]() -> mxc_error * {
    made = new std::string(typeText(*value));
    return nullptr;
  });
  mxc_error_release(error);
  if (!made)
    return "";
  // Another thread may have set it first.
  if (value->shown.compare_exchange_strong(text, made, std::memory_order_acq_rel))
    return made->c_str();
  delete made;
  return text->c_str();
}

mxc_dtype mxc_tensor_dtype(const mxc_value *value) {
  TensorValue *tensor = const_cast<mxc_value *>(value)->tensor();
  return tensor ? static_cast<mxc_dtype>(tensor->dtype()) : MXC_BOOL;
}
int32_t mxc_tensor_rank(const mxc_value *value) {
  TensorValue *tensor = const_cast<mxc_value *>(value)->tensor();
  return tensor ? tensor->rank() : 0;
}
const int64_t *mxc_tensor_shape(const mxc_value *value) {
  TensorValue *tensor = const_cast<mxc_value *>(value)->tensor();
  return tensor ? tensor->shape() : nullptr;
}
int64_t mxc_tensor_elements(const mxc_value *value) {
  TensorValue *tensor = const_cast<mxc_value *>(value)->tensor();
  return tensor ? tensor->elements() : 0;
}

mxc_error *mxc_value_wait(mxc_value *value) {
  return guarded([&] { return waitFor(*value); });
}

mxc_error *mxc_tensor_data(mxc_value *value, const void **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    TensorValue *tensor = value->tensor();
    if (!tensor)
      return wrongUse(std::string("a value of type ") + mxc_value_type(value) + " has no elements");
    if (mxc_error *error = waitFor(*value))
      return error;
    if ((*out = tensor->readyData()) || tensor->elements() == 0)
      return nullptr;
    if (tensor->host)
      return wrongUse("this memory of the host is not in row-major order");
    mxrt_tensor *packed = tensor->packed.load(std::memory_order_acquire);
    if (!packed) {
      if (!tensor->life->runtime.load())
        return wrongUse("the session of this value has ended, and its elements are not in "
                        "row-major order");
      mxc_session &session = *tensor->life->session;
      if (mxc_error *error = tensorFor(session, *tensor, packed))
        return error;
      if (mxrt_status status = mxrt_tensor_wait(session.runtime(), packed, nullptr)) {
        mxrt_tensor_release(packed);
        return session.render(status);
      }
      mxrt_tensor *faster = nullptr;
      if (!tensor->packed.compare_exchange_strong(faster, packed, std::memory_order_acq_rel)) {
        mxrt_tensor_release(packed);
        packed = faster;
      }
    }
    *out = mxrt_tensor_data(packed);
    return nullptr;
  });
}

mxc_error *mxc_value_as_float(mxc_value *value, double *out) {
  *out = 0;
  return guarded([&]() -> mxc_error * {
    if (NumberValue *number = value->number()) {
      *out = number->asReal();
      return nullptr;
    }
    const void *data = nullptr;
    if (mxc_error *error = oneElement(value, data))
      return error;
    *out = asDouble(value->tensor()->dtype(), data);
    return nullptr;
  });
}

mxc_error *mxc_value_as_int(mxc_value *value, int64_t *out) {
  *out = 0;
  return guarded([&]() -> mxc_error * {
    if (NumberValue *number = value->number(); number && number->kind != MXC_FLOAT_NUMBER) {
      *out = number->whole;
      return nullptr;
    }
    const void *data = nullptr;
    double real = 0;
    if (NumberValue *number = value->number()) {
      real = number->real;
    } else {
      if (mxc_error *error = oneElement(value, data))
        return error;
      if (value->tensor()->dtype() == MXRT_I64) {
        std::memcpy(out, data, sizeof *out);
        return nullptr;
      }
      real = asDouble(value->tensor()->dtype(), data);
    }
    if (!(real >= -0x1p63 && real < 0x1p63) || real != std::floor(real))
      return wrongUse(std::to_string(real) + " is not a whole number");
    *out = static_cast<int64_t>(real);
    return nullptr;
  });
}

const char *mxc_value_as_text(const mxc_value *value, size_t *size) {
  TextValue *text = const_cast<mxc_value *>(value)->text();
  if (size)
    *size = text ? text->content.size() : 0;
  return text ? text->content.c_str() : "";
}

size_t mxc_value_count(const mxc_value *value) {
  GroupValue *group = const_cast<mxc_value *>(value)->group();
  return group ? group->items.size() : 0;
}

mxc_error *mxc_value_item(mxc_value *value, size_t index, mxc_value **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    GroupValue *group = value->group();
    if (!group || index >= group->items.size())
      return makeError("E0209", std::string("error[E0209]: a value of type ") +
                                    mxc_value_type(value) + " has no part " +
                                    std::to_string(index) + "\n");
    settleType(*group, index);
    *out = mxc_value_retain(group->items[index]);
    return nullptr;
  });
}

mxc_error *mxc_value_field(mxc_value *value, const char *path, mxc_value **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    mxc_value *at = value;
    for (std::string_view rest = path; !rest.empty();) {
      size_t dot = std::min(rest.find('.'), rest.size());
      std::string name(rest.substr(0, dot));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
      GroupValue *group = at->group();
      size_t index = group ? group->items.size() : 0;
      if (group && group->layout) {
        const std::vector<std::string> &fields = group->layout->fields;
        index = static_cast<size_t>(std::find(fields.begin(), fields.end(), name) - fields.begin());
      } else if (group && !name.empty() &&
                 name.find_first_not_of("0123456789") == std::string::npos && name.size() < 10) {
        index = std::stoul(name);
      }
      if (!group || index >= group->items.size()) {
        std::string near = group && group->layout ? nearest(name, group->layout->fields) : "";
        return makeError("E0209", "error[E0209]: a value of type " +
                                      std::string(mxc_value_type(at)) + " has no part `" + name +
                                      "`" + (near.empty() ? "" : "; did you mean `" + near + "`?") +
                                      "\n");
      }
      settleType(*group, index);
      at = group->items[index];
    }
    *out = mxc_value_retain(at);
    return nullptr;
  });
}

const char *mxc_value_field_name(const mxc_value *value, size_t index) {
  GroupValue *group = const_cast<mxc_value *>(value)->group();
  return group && group->layout && index < group->layout->fields.size()
             ? group->layout->fields[index].c_str()
             : "";
}

mxc_error *mxc_tensor_to_dlpack(mxc_value *value, int32_t versioned, void **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    TensorValue *tensor = value->tensor();
    if (!tensor || !tensor->held)
      return wrongUse(tensor ? "this tensor is memory of the host already"
                             : std::string("a value of type ") + mxc_value_type(value) +
                                   " has no elements");
    if (mxc_error *error = waitFor(*value))
      return error;
    mxrt_status status = mxrt_tensor_to_dlpack(tensor->held, versioned, nullptr, out);
    if (!status)
      return nullptr;
    mxc_error *error =
        makeError("R0005", std::string("error[R0005]: ") + mxrt_status_message(status) + "\n");
    mxrt_status_release(status);
    return error;
  });
}

mxc_error *mxc_tensor_from_dlpack(mxc_session *session, void *managed, int32_t versioned,
                                  mxc_value **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    mxrt_tensor *tensor = nullptr;
    if (mxrt_status status =
            mxrt_tensor_from_dlpack(session->runtime(), managed, versioned, nullptr, &tensor))
      return session->render(status);
    *out = makeTensorValue(tensor, session->life, /*isReady=*/true);
    return nullptr;
  });
}

} // extern "C"
