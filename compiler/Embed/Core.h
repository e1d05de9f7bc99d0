// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is behind the handles of mxc.h: a session of the driver and its lock, programs, functions
// with the calls they are ready for, errors.
//
// Who holds the lock may use the driver's session, the checker and the VM. A call that was resolved
// before needs no lock: what it uses never changes.
#pragma once
#include "Driver/Session.h"
#include "Embed/Values.h"
#include <array>
#include <mutex>
#include <sstream>

struct mxc_error {
  std::string code, text;
};

namespace mx::embed {

/// Sends what a program prints to the host's function, or nowhere.
class PrintBuffer final : public std::streambuf {
public:
  void (*print)(void *, const char *, size_t) = nullptr;
  void *user = nullptr;

protected:
  std::streamsize xsputn(const char *text, std::streamsize size) override {
    if (print)
      print(user, text, static_cast<size_t>(size));
    return size;
  }
  int overflow(int character) override {
    char one = static_cast<char>(character);
    if (character != traits_type::eof())
      xsputn(&one, 1);
    return 0;
  }
};

/// How a value is made of its leaves.
struct Form {
  mxc_kind kind = MXC_TENSOR;
  std::shared_ptr<const Layout> layout;
  std::vector<Form> parts;
};

/// A leaf of the arguments.
struct Leaf {
  bool isHost = false; ///< a number of the host
  mxrt_dtype type = MXRT_F32;
};

/// A call whose arguments have known types and sizes: all that is the same each time.
struct ReadyCall {
  std::vector<int64_t> key;
  driver::OutsideTarget target;
  std::vector<Leaf> leaves;  ///< of all inputs of a graph
  std::vector<Form> changed; ///< of what `mut` arguments become
  Form result;
  ReadyCall *next = nullptr; ///< in its bucket
};

struct Parameter {
  std::string name, type;
  uint32_t flags = 0;
  bool isLiteral = false;            ///< its value is part of the call's key
  std::optional<ElementType> scalar; ///< it is a scalar of this type
};

} // namespace mx::embed

struct mxc_function {
  mxc_module *module = nullptr;
  std::string name, signature, result;
  bool isGraph = false;
  std::vector<mx::embed::Parameter> params;
  /// Added to under the session's lock, read without it.
  std::array<std::atomic<mx::embed::ReadyCall *>, 64> ready{};

  ~mxc_function();
  const mx::embed::Parameter *paramOf(const mxc_argument &argument, size_t index) const;
};

struct mxc_module {
  mxc_session *session = nullptr;
  const mx::sema::ModuleInfo *info = nullptr;
  std::vector<std::string> names; ///< of functions, in order
  std::map<std::string, std::unique_ptr<mxc_function>> functions;
};

struct mxc_session {
  std::recursive_mutex lock; ///< errors of tensors are rendered while it may be held
  mx::embed::LifeRef life = std::make_shared<mx::embed::Life>();
  mx::embed::PrintBuffer printed;
  std::ostream out{&printed};
  std::ostringstream err;
  void (*notice)(void *, const char *, size_t) = nullptr;
  void *user = nullptr;
  std::vector<std::unique_ptr<mxc_module>> modules;
  std::unique_ptr<mx::driver::Session> session;

  mxrt_runtime *runtime() const { return session->runtimeOf(); }
  /// What was written since the last time, as an error; the lock is held.
  mxc_error *takeError();
  /// The same where nothing went wrong: it is for whoever wants warnings.
  void passNotices();
  /// An error of a run as the driver writes it. Takes `status` over; takes the lock.
  mxc_error *render(mxrt_status status);
};

namespace mx::embed {

/// An error that no session is needed for. Never fails.
mxc_error *makeError(const char *code, std::string text);
/// R0002: the host handed over what cannot be.
mxc_error *wrongUse(const std::string &message);
mxc_error *noMemory();
/// Runs `body`, which returns an error; what it throws is one too.
template <class F> mxc_error *guarded(F body) {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return noMemory();
  } catch (const std::exception &failure) {
    return makeError("R0001", std::string("internal error: ") + failure.what());
  }
#else
  return body();
#endif
}

/// Waits for the elements of all parts of a value.
mxc_error *waitFor(mxc_value &value);
/// A tensor of the session with the elements in row-major order, which the caller owns; it may
/// still be on its way.
mxc_error *tensorFor(mxc_session &session, TensorValue &value, mxrt_tensor *&out);
/// A number as a tensor of rank 0.
mxc_error *tensorOfNumber(mxc_session &session, const NumberValue &value, mxrt_dtype type,
                          mxrt_tensor *&out);
/// The bytes of a number as an element.
uint64_t bitsOf(const NumberValue &value, mxrt_dtype type);

/// Finds what a call runs, or has it made. The lock is not held.
mxc_error *resolve(mxc_function &function, const mxc_argument *arguments, size_t count,
                   llvm::ArrayRef<int64_t> key, size_t bucket, const ReadyCall *&out);
/// The type of part `index` of a value of this type; null if it is not known. The lock is held.
const sema::Type *partType(sema::Sema &sema, const sema::Type *type, size_t index);

/// Calls a function of the VM; the lock is not held. Mut arguments are replaced.
mxc_error *callFunction(mxc_session &session, const ReadyCall &call, mxc_argument *arguments,
                        mxc_value *&result);
/// A value of the VM as one of the host; null, and why, if it cannot leave. The lock is held.
mxc_value *fromVm(mxc_session &session, const mxrt::host::Value &value, const sema::Type *type,
                  std::string &problem);

} // namespace mx::embed
