// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values as hosts hold them: reference-counted trees whose leaves are tensors and numbers. They are
// immutable after creation, so any thread may read them. Only a call that takes ownership of a
// value with no other reference may reuse its parts.
#pragma once
#include "mxc/mxc.h"
#include "mxrt/tensor.h"
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace mx::sema {
class Type;
}

namespace mx::embed {

/// State shared by a session and its values: whether the session still exists.
struct Life {
  std::atomic<mxrt_runtime *> runtime{nullptr}; ///< null once the session has ended
  mxc_session *session = nullptr;
};
using LifeRef = std::shared_ptr<Life>;

/// Names of the parts of a struct or model.
struct Layout {
  std::string name;
  std::vector<std::string> fields;
};

struct TensorValue;
struct NumberValue;
struct TextValue;
struct GroupValue;

} // namespace mx::embed

struct mxc_value {
  explicit mxc_value(mxc_kind kind) : kind(kind) {}
  mxc_value(const mxc_value &) = delete;
  mxc_value &operator=(const mxc_value &) = delete;
  virtual ~mxc_value() { delete shown.load(); }

  const mxc_kind kind;
  std::atomic<int64_t> refs{1};
  std::atomic<const std::string *> shown{nullptr}; ///< the text of its type, computed on demand

  bool isOwned() const { return refs.load(std::memory_order_acquire) == 1; }
  mx::embed::TensorValue *tensor();
  mx::embed::NumberValue *number();
  mx::embed::TextValue *text();
  mx::embed::GroupValue *group();
};

namespace mx::embed {

/// In HostMemory::flags: a private copy of the value, invisible to the host.
inline constexpr uint32_t kOwnMemory = uint32_t(1) << 31;

/// Host memory, as it was passed.
struct HostMemory {
  mxrt_dtype type;
  int32_t rank;
  bool isDense;
  uint32_t flags;
  int64_t elements;
  int64_t shape[MXC_MAX_RANK], strides[MXC_MAX_RANK];
  void *data;
  void (*release)(void *user);
  void *user;
};

struct TensorValue final : mxc_value {
  TensorValue() : mxc_value(MXC_TENSOR) {}
  ~TensorValue() override;

  /// A tensor of a session, whose reference it takes over; or else host memory.
  mxrt_tensor *held = nullptr;
  LifeRef life;
  std::unique_ptr<HostMemory> host;
  std::atomic<bool> ready{false};             ///< the elements are computed, without an error
  std::atomic<mxrt_tensor *> packed{nullptr}; ///< row-major copy, if `held` is not row-major

  mxrt_dtype dtype() const { return held ? mxrt_tensor_dtype(held) : host->type; }
  int32_t rank() const { return held ? mxrt_tensor_rank(held) : host->rank; }
  const int64_t *shape() const { return held ? mxrt_tensor_shape(held) : host->shape; }
  int64_t elements() const { return held ? mxrt_tensor_elements(held) : host->elements; }
  /// The address of the elements if they are computed and in row-major order, otherwise null.
  void *readyData() const {
    if (host)
      return host->isDense ? host->data : nullptr;
    return ready.load(std::memory_order_acquire) && mxrt_tensor_is_dense(held)
               ? mxrt_tensor_data(held)
               : nullptr;
  }
};

/// A host bool, integer or float.
struct NumberValue final : mxc_value {
  explicit NumberValue(mxc_kind kind) : mxc_value(kind) {}
  int64_t whole = 0;
  double real = 0;
  double asReal() const { return kind == MXC_FLOAT_NUMBER ? real : static_cast<double>(whole); }
};

struct TextValue final : mxc_value {
  TextValue() : mxc_value(MXC_TEXT) {}
  std::string content;
};

/// A tuple, an array, a struct or a model.
struct GroupValue final : mxc_value {
  explicit GroupValue(mxc_kind kind) : mxc_value(kind) {}
  ~GroupValue() override;

  LifeRef life;
  std::shared_ptr<const Layout> layout;          ///< of structs
  std::vector<mxc_value *> items;                ///< owned
  std::atomic<const sema::Type *> type{nullptr}; ///< in its session; null: not resolved yet
};

/// Owns one reference.
class ValueRef {
public:
  ValueRef() = default;
  explicit ValueRef(mxc_value *adopted) : raw(adopted) {}
  ValueRef(ValueRef &&other) noexcept : raw(other.take()) {}
  ValueRef &operator=(ValueRef &&other) noexcept {
    mxc_value_release(raw);
    raw = other.take();
    return *this;
  }
  ~ValueRef() { mxc_value_release(raw); }
  mxc_value *get() const { return raw; }
  mxc_value *take() {
    mxc_value *out = raw;
    raw = nullptr;
    return out;
  }
  explicit operator bool() const { return raw; }

private:
  mxc_value *raw = nullptr;
};

/// A value for a tensor of a session; takes over the reference.
mxc_value *makeTensorValue(mxrt_tensor *tensor, const LifeRef &life, bool isReady);
/// "f32[2, 3]"
std::string tensorTypeText(const TensorValue &value);

} // namespace mx::embed

inline mx::embed::TensorValue *mxc_value::tensor() {
  return kind == MXC_TENSOR ? static_cast<mx::embed::TensorValue *>(this) : nullptr;
}
inline mx::embed::NumberValue *mxc_value::number() {
  return kind >= MXC_BOOL_NUMBER && kind <= MXC_FLOAT_NUMBER
             ? static_cast<mx::embed::NumberValue *>(this)
             : nullptr;
}
inline mx::embed::TextValue *mxc_value::text() {
  return kind == MXC_TEXT ? static_cast<mx::embed::TextValue *>(this) : nullptr;
}
inline mx::embed::GroupValue *mxc_value::group() {
  return kind >= MXC_TUPLE ? static_cast<mx::embed::GroupValue *>(this) : nullptr;
}
