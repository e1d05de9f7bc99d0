// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mx inside of a C++ program: mxc.h with owners, types and results. Everything here is inline over
// the C interface, so that host and library may be built by different compilers.
//
//   mx::Session session;
//   mx::Module net = session.loadFile("net.mx").value();
//   mx::Function predict = net.function("predict").value();
//   mx::Value y = predict(weights, mx::Value::borrow(pixels, {32, 784})).value();
//   std::span<const int32_t> digits = y.elements<int32_t>().value();
//
// Errors are values: a Result holds what was asked for, or an Error with the text that the command
// `mxc` would print. value() of a Result that holds an error throws it as mx::Failure.
//
// Threads and lifetimes are those of mxc.h: a Session outlives its Modules and Functions; Values
// may outlive it. Needs C++20.
#ifndef MXC_MXC_HPP
#define MXC_MXC_HPP

#if __cplusplus < 202002L
#error "mxc/mxc.hpp is C++20: compile with -std=c++20"
#endif

#include "mxc/mxc.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mx {

/// Why something could not be done.
class Error {
public:
  /// Takes the handle over.
  explicit Error(mxc_error *error) : mCode(mxc_error_code(error)), mText(mxc_error_text(error)) {
    mxc_error_release(error);
  }
  Error(std::string code, std::string text) : mCode(std::move(code)), mText(std::move(text)) {}

  /// "E0303", "R0101"
  const std::string &code() const { return mCode; }
  /// With the lines of the source, as `mxc` prints it.
  const std::string &text() const { return mText; }

private:
  std::string mCode, mText;
};

/// What value() throws.
class Failure : public std::runtime_error {
public:
  explicit Failure(Error error) : std::runtime_error(error.text()), mError(std::move(error)) {}
  const Error &error() const { return mError; }

private:
  Error mError;
};

namespace detail {
[[noreturn]] inline void fail([[maybe_unused]] Error error) {
#if defined(__cpp_exceptions)
  throw Failure(std::move(error));
#else
  std::terminate();
#endif
}
} // namespace detail

/// A T or an Error.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : mValue(std::move(value)) {}
  Result(Error error) : mError(std::move(error)) {}

  bool ok() const { return mValue.has_value(); }
  explicit operator bool() const { return ok(); }
  /// Only if it is not ok.
  const Error &error() const { return *mError; }

  T &value() & {
    check();
    return *mValue;
  }
  T value() && {
    check();
    return std::move(*mValue);
  }
  T &operator*() & { return value(); }
  T *operator->() { return &value(); }

private:
  void check() const {
    if (!ok())
      detail::fail(*mError);
  }
  std::optional<T> mValue;
  std::optional<Error> mError;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : mError(std::move(error)) {}
  bool ok() const { return !mError; }
  explicit operator bool() const { return ok(); }
  const Error &error() const { return *mError; }
  void value() const {
    if (mError)
      detail::fail(*mError);
  }

private:
  std::optional<Error> mError;
};

namespace detail {
inline Result<void> done(mxc_error *error) {
  return error ? Result<void>(Error(error)) : Result<void>();
}

/// The element type of a C++ type.
template <class T> inline constexpr int dtype = -1;
template <> inline constexpr int dtype<bool> = MXC_BOOL;
template <> inline constexpr int dtype<int8_t> = MXC_I8;
template <> inline constexpr int dtype<uint8_t> = MXC_U8;
template <> inline constexpr int dtype<int32_t> = MXC_I32;
template <> inline constexpr int dtype<int64_t> = MXC_I64;
template <> inline constexpr int dtype<float> = MXC_F32;
template <> inline constexpr int dtype<double> = MXC_F64;
} // namespace detail

using Shape = std::vector<int64_t>;

/// A tensor, a number, a text, a tuple, a struct or a model. Copies share; what is shared never
/// changes. A Value that was just made by default holds nothing.
class Value {
public:
  Value() = default;
  Value(bool value) : mHandle(mxc_bool(value)) {}
  Value(int value) : mHandle(mxc_int(value)) {}
  Value(int64_t value) : mHandle(mxc_int(value)) {}
  Value(double value) : mHandle(mxc_float(value)) {}
  Value(std::string_view text) : mHandle(mxc_text(text.data(), text.size())) {}
  Value(const char *text) : Value(std::string_view(text)) {}
  Value(const Value &other) : mHandle(mxc_value_retain(other.mHandle)) {}
  Value(Value &&other) noexcept : mHandle(std::exchange(other.mHandle, nullptr)) {}
  Value &operator=(Value other) noexcept {
    std::swap(mHandle, other.mHandle);
    return *this;
  }
  ~Value() { mxc_value_release(mHandle); }
  /// Takes the handle over.
  static Value adopt(mxc_value *handle) {
    Value value;
    value.mHandle = handle;
    return value;
  }

  /// A tensor over memory of the host, which stays valid and unchanged as long as a Value or a
  /// call uses it; `release` is called after the last use.
  template <class T>
  static Result<Value> tryBorrow(const T *data, const Shape &shape,
                                 std::function<void()> release = {}) {
    return borrowFlagged(const_cast<T *>(data), shape, 0, std::move(release));
  }
  /// The same, and a call that changes the tensor writes the memory itself.
  template <class T>
  static Result<Value> tryBorrowMut(T *data, const Shape &shape,
                                    std::function<void()> release = {}) {
    return borrowFlagged(data, shape, MXC_WRITABLE, std::move(release));
  }
  template <class T> static Value borrow(const T *data, const Shape &shape) {
    return tryBorrow(data, shape).value();
  }
  template <class T> static Value borrowMut(T *data, const Shape &shape) {
    return tryBorrowMut(data, shape).value();
  }
  /// A tensor with a copy of the elements.
  template <class T> static Value copy(std::span<const T> elements, const Shape &shape) {
    static_assert(detail::dtype<T> >= 0, "tensors have no such elements");
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    if (count != static_cast<int64_t>(elements.size()))
      detail::fail(Error("R0201", "error[R0201]: the shape does not have as many elements\n"));
    mxc_value *out = nullptr;
    if (mxc_error *error = mxc_tensor_copy(static_cast<mxc_dtype>(detail::dtype<T>),
                                           static_cast<int32_t>(shape.size()), shape.data(),
                                           elements.data(), &out))
      detail::fail(Error(error));
    return adopt(out);
  }
  template <class T> static Value copy(const std::vector<T> &elements, const Shape &shape) {
    return copy(std::span<const T>(elements), shape);
  }

  explicit operator bool() const { return mHandle != nullptr; }
  mxc_value *handle() const { return mHandle; }
  /// The caller owns it from now on.
  mxc_value *take() { return std::exchange(mHandle, nullptr); }

  mxc_kind kind() const { return mxc_value_kind(mHandle); }
  /// "f32[32, 10]", "Net"
  std::string type() const { return mxc_value_type(mHandle); }
  mxc_dtype dtype() const { return mxc_tensor_dtype(mHandle); }
  std::span<const int64_t> shape() const {
    return {mxc_tensor_shape(mHandle), static_cast<size_t>(mxc_tensor_rank(mHandle))};
  }

  /// Waits until it is there.
  Result<void> wait() const { return detail::done(mxc_value_wait(mHandle)); }
  /// Waits; the elements in row-major order, valid as long as a reference to this value exists.
  template <class T> Result<std::span<const T>> elements() const {
    static_assert(detail::dtype<T> >= 0, "tensors have no such elements");
    const void *data = nullptr;
    if (mxc_error *error = mxc_tensor_data(mHandle, &data))
      return Error(error);
    if (mxc_tensor_dtype(mHandle) != detail::dtype<T>)
      return Error("R0203", "error[R0203]: the elements of " + type() + " have another type\n");
    return std::span<const T>(static_cast<const T *>(data),
                              static_cast<size_t>(mxc_tensor_elements(mHandle)));
  }
  /// A number, or the one element of a tensor; waits.
  Result<double> asFloat() const {
    double out = 0;
    if (mxc_error *error = mxc_value_as_float(mHandle, &out))
      return Error(error);
    return out;
  }
  Result<int64_t> asInt() const {
    int64_t out = 0;
    if (mxc_error *error = mxc_value_as_int(mHandle, &out))
      return Error(error);
    return out;
  }
  std::string asText() const {
    size_t size = 0;
    const char *text = mxc_value_as_text(mHandle, &size);
    return {text, size};
  }

  /// Parts of tuples, arrays, structs and models.
  size_t size() const { return mxc_value_count(mHandle); }
  Result<Value> item(size_t index) const {
    mxc_value *out = nullptr;
    if (mxc_error *error = mxc_value_item(mHandle, index, &out))
      return Error(error);
    return adopt(out);
  }
  /// By path: "fc1.w", "blocks.3.w".
  Result<Value> field(const std::string &path) const {
    mxc_value *out = nullptr;
    if (mxc_error *error = mxc_value_field(mHandle, path.c_str(), &out))
      return Error(error);
    return adopt(out);
  }
  std::string fieldName(size_t index) const { return mxc_value_field_name(mHandle, index); }

  /// Waits; a DLManagedTensor or DLManagedTensorVersioned, whose deleter the consumer calls.
  Result<void *> toDlpack(bool versioned = false) const {
    void *out = nullptr;
    if (mxc_error *error = mxc_tensor_to_dlpack(mHandle, versioned, &out))
      return Error(error);
    return out;
  }

private:
  template <class T>
  static Result<Value> borrowFlagged(T *data, const Shape &shape, uint32_t flags,
                                     std::function<void()> release) {
    static_assert(detail::dtype<T> >= 0, "tensors have no such elements");
    std::unique_ptr<std::function<void()>> kept;
    if (release)
      kept = std::make_unique<std::function<void()>>(std::move(release));
    auto call = [](void *user) {
      std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()> *>(user));
      (*owned)();
    };
    mxc_value *out = nullptr;
    if (mxc_error *error = mxc_tensor_borrow(
            static_cast<mxc_dtype>(detail::dtype<T>), static_cast<int32_t>(shape.size()),
            shape.data(), nullptr, data, flags, kept ? +call : nullptr, kept.get(), &out))
      return Error(error);
    kept.release();
    return adopt(out);
  }

  mxc_value *mHandle = nullptr;
};

/// An argument that the call changes: `step(mx::mut(net), x, y)`.
struct Mut {
  Value &value;
};
inline Mut mut(Value &value) { return {value}; }

/// An argument of a call, by position or by name. It may refer to a Value of the caller, so it is
/// created in the call expression.
class Argument {
public:
  Argument(const Value &value) : mGiven(&value) {}
  Argument(Value &value) : mGiven(&value) {}
  Argument(Value &&value) : mOwn(std::move(value)) {}
  template <class T>
  requires(std::is_constructible_v<Value, T> && !std::is_same_v<std::remove_cvref_t<T>, Value>)
      Argument(T &&value)
      : mOwn(std::forward<T>(value)) {}
  Argument(Mut changed) : mChanged(&changed.value) {}
  Argument(std::string name, Argument of)
      : mOwn(std::move(of.mOwn)), mGiven(of.mGiven), mChanged(of.mChanged), mName(std::move(name)) {
  }

private:
  friend class Function;
  mxc_value *handle() const {
    return mChanged ? mChanged->handle() : mGiven ? mGiven->handle() : mOwn.handle();
  }
  Value mOwn;
  const Value *mGiven = nullptr;
  Value *mChanged = nullptr;
  std::string mName;
};
/// `predict(net, mx::named("x", images))`
inline Argument named(std::string name, Argument argument) {
  return Argument(std::move(name), std::move(argument));
}

struct Param {
  std::string name, type;
  bool isMut = false, isStatic = false, isOptional = false;
};

/// A function, graph or constructor of a program. A handle: copy it freely; it lives as long as
/// its Session. Any thread may call it, many at a time.
class Function {
public:
  Function() = default;
  explicit Function(mxc_function *handle) : mHandle(handle) {}

  std::string name() const { return mxc_function_name(mHandle); }
  /// "graph fn predict(net: Net, x: f32[N, 784]) -> i32[N]"
  std::string signature() const { return mxc_function_signature(mHandle); }
  bool isGraph() const { return mxc_function_is_graph(mHandle) != 0; }
  std::vector<Param> params() const {
    std::vector<Param> out;
    for (size_t i = 0; i < mxc_function_param_count(mHandle); ++i) {
      mxc_param param = mxc_function_param(mHandle, i);
      out.push_back({param.name, param.type, (param.flags & MXC_PARAM_MUT) != 0,
                     (param.flags & MXC_PARAM_STATIC) != 0,
                     (param.flags & MXC_PARAM_OPTIONAL) != 0});
    }
    return out;
  }
  std::string result() const { return mxc_function_result(mHandle); }

  /// Calls it and waits for its results. The Value is empty if it gives nothing.
  template <class... Args> Result<Value> operator()(Args &&...args) const {
    return call({Argument(std::forward<Args>(args))...}, 0);
  }
  /// Returns as soon as the call is issued; reading its results waits.
  template <class... Args> Result<Value> start(Args &&...args) const {
    return call({Argument(std::forward<Args>(args))...}, MXC_ASYNC);
  }
  Result<Value> call(std::initializer_list<Argument> arguments, uint32_t flags) const {
    return callSpan({arguments.begin(), arguments.size()}, flags);
  }
  Result<Value> callSpan(std::span<const Argument> arguments, uint32_t flags) const {
    RawArguments raw(arguments);
    mxc_value *out = nullptr;
    mxc_error *error = mxc_call(mHandle, raw.data, arguments.size(), flags, &out);
    for (size_t i = 0; i < arguments.size(); ++i)
      if (Value *changed = arguments[i].mChanged) { // the call took it over
        changed->take();
        *changed = Value::adopt(raw.data[i].value);
      }
    if (error)
      return Error(error);
    return Value::adopt(out);
  }
  /// Writes the result of a graph into memory of the host (mxc_call_into): one room for each of its
  /// tensors.
  template <class... Args>
  Result<void> into(std::span<const mxc_room> rooms, Args &&...args) const {
    return callInto(rooms, {Argument(std::forward<Args>(args))...});
  }
  /// The same for a result that is one tensor.
  template <class T, class... Args>
    requires std::is_arithmetic_v<T>
  Result<void> into(std::span<T> room, Args &&...args) const {
    mxc_room one = {room.data(), room.size_bytes()};
    return callInto({&one, 1}, {Argument(std::forward<Args>(args))...});
  }
  Result<void> callInto(std::span<const mxc_room> rooms,
                        std::initializer_list<Argument> arguments) const {
    RawArguments raw({arguments.begin(), arguments.size()});
    return detail::done(
        mxc_call_into(mHandle, raw.data, arguments.size(), rooms.data(), rooms.size()));
  }

  mxc_function *handle() const { return mHandle; }

private:
  struct RawArguments {
    explicit RawArguments(std::span<const Argument> arguments) {
      if (arguments.size() > kUsual) {
        many.resize(arguments.size());
        data = many.data();
      }
      for (size_t i = 0; i < arguments.size(); ++i) {
        const Argument &argument = arguments[i];
        data[i].value = argument.handle();
        data[i].name = argument.mName.empty() ? nullptr : argument.mName.c_str();
        data[i].flags = argument.mChanged ? MXC_MUT : 0;
      }
    }
    static constexpr size_t kUsual = 8; // more need memory
    mxc_argument few[kUsual];
    std::vector<mxc_argument> many;
    mxc_argument *data = few;
  };
  mxc_function *mHandle = nullptr;
};

/// A program that was loaded. A handle: copy it freely; it lives as long as its Session.
class Module {
public:
  Module() = default;
  explicit Module(mxc_module *handle) : mHandle(handle) {}

  /// A function or graph by name, or a model: "Net", "Net[784, 10]".
  Result<Function> function(const std::string &name) const {
    mxc_function *out = nullptr;
    if (mxc_error *error = mxc_module_function(mHandle, name.c_str(), &out))
      return Error(error);
    return Function(out);
  }
  /// The names of its functions, in the program's order.
  std::vector<std::string> functions() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < mxc_module_function_count(mHandle); ++i)
      out.emplace_back(mxc_module_function_name(mHandle, i));
    return out;
  }
  /// A variable of the top level, as it is now.
  Result<Value> value(const std::string &name) const {
    mxc_value *out = nullptr;
    if (mxc_error *error = mxc_module_value(mHandle, name.c_str(), &out))
      return Error(error);
    return Value::adopt(out);
  }

  mxc_module *handle() const { return mHandle; }

private:
  mxc_module *mHandle = nullptr;
};

struct Options {
  int threads = 0;         ///< 0: all processors
  int64_t memoryLimit = 0; ///< bytes of tensors and arenas; 0: no limit
  int64_t arenaLimit = 0;  ///< of one graph: rematerialises values to stay below; 0: no limit
  std::string cacheFolder; ///< empty: $MX_CACHE_DIR, or ~/.cache/mx
  std::string stdlibFolder, logFolder;
  int64_t seed = 0;
  /// For `option(name, default)` of programs.
  std::vector<std::pair<std::string, std::string>> settings;
  bool eager = false;    ///< graphs run op by op
  bool checkNan = false; ///< an op that makes a NaN is an error
  bool tune = false;     ///< autotuning of GEMM and convolution tilings
  /// Output of programs, and warnings. Must not call the session.
  std::function<void(std::string_view)> print, notice;
};

/// Compiles and runs mx. Several sessions may exist at a time.
class Session {
public:
  Session() : Session(Options()) {}
  /// Throws a Failure if there can be no session; make() does not.
  explicit Session(Options options) : Session(make(std::move(options)).value()) {}
  static Result<Session> make(Options options) {
    Session session(nullptr);
    session.mOptions = std::make_unique<Options>(std::move(options));
    const Options &given = *session.mOptions;
    std::vector<mxc_setting> settings;
    for (auto &[name, value] : given.settings)
      settings.push_back({name.c_str(), value.c_str()});
    auto orNull = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
    mxc_options raw;
    mxc_options_init(&raw);
    raw.threads = given.threads;
    raw.memory_limit = given.memoryLimit;
    raw.arena_limit = given.arenaLimit;
    raw.cache_folder = orNull(given.cacheFolder);
    raw.stdlib_folder = orNull(given.stdlibFolder);
    raw.log_folder = orNull(given.logFolder);
    raw.seed = given.seed;
    raw.settings = settings.data();
    raw.setting_count = settings.size();
    raw.eager = given.eager;
    raw.check_nan = given.checkNan;
    raw.tune = given.tune;
    raw.user = session.mOptions.get();
    if (given.print)
      raw.print = [](void *user, const char *text, size_t size) {
        static_cast<Options *>(user)->print({text, size});
      };
    if (given.notice)
      raw.notice = [](void *user, const char *text, size_t size) {
        static_cast<Options *>(user)->notice({text, size});
      };
    if (mxc_error *error = mxc_session_create(&raw, &session.mHandle))
      return Error(error);
    return session;
  }
  Session(Session &&other) noexcept
      : mHandle(std::exchange(other.mHandle, nullptr)), mOptions(std::move(other.mOptions)) {}
  Session &operator=(Session &&other) noexcept {
    std::swap(mHandle, other.mHandle);
    std::swap(mOptions, other.mOptions);
    return *this;
  }
  /// Waits for what is running. No other thread may use it or its functions any more.
  ~Session() { mxc_session_destroy(mHandle); }

  Result<Module> loadFile(const std::string &path) {
    mxc_module *out = nullptr;
    if (mxc_error *error = mxc_load_file(mHandle, path.c_str(), &out))
      return Error(error);
    return Module(out);
  }
  /// `name` is what messages call it.
  Result<Module> loadSource(std::string_view text, const std::string &name = "<source>") {
    mxc_module *out = nullptr;
    if (mxc_error *error = mxc_load_source(mHandle, name.c_str(), text.data(), text.size(), &out))
      return Error(error);
    return Module(out);
  }

  /// Ends all that runs, and whatever is started until resume(). Any thread, any signal handler.
  void cancel() { mxc_session_cancel(mHandle); }
  void resume() { mxc_session_resume(mHandle); }

  Result<mxc_memory> memory() const {
    mxc_memory out;
    if (mxc_error *error = mxc_session_memory(mHandle, &out))
      return Error(error);
    return out;
  }
  /// A tensor over a DLManagedTensor or DLManagedTensorVersioned, which is owned from now on.
  Result<Value> fromDlpack(void *managed, bool versioned = false) {
    mxc_value *out = nullptr;
    if (mxc_error *error = mxc_tensor_from_dlpack(mHandle, managed, versioned, &out))
      return Error(error);
    return Value::adopt(out);
  }

  mxc_session *handle() const { return mHandle; }

private:
  explicit Session(std::nullptr_t) {}
  mxc_session *mHandle = nullptr;
  std::unique_ptr<Options> mOptions; ///< at one address: the C side points to it
};

} // namespace mx

#endif // MXC_MXC_HPP
