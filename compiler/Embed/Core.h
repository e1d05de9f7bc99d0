// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implementation of the handles of mxc.h: a session of the driver and its lock, programs, functions
// with their cached calls, errors.
//
// The thread that holds the lock may use the driver's session, the checker and the VM. A call that
// was resolved before needs no lock: everything it uses is immutable.
#pragma once
#include "Driver/OutsideSession.h"
#include "Embed/Values.h"
#include <array>
#include <mutex>
#include <sstream>

struct mxc_error {
  std::string code, text;
};

namespace mx::embed {

/// Forwards the program's output to the host's function, or discards it.
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

/// How a value is built from its leaves.
struct Form {
  mxc_kind kind = MXC_TENSOR;
  std::shared_ptr<const Layout> layout;
  std::vector<Form> parts;
};

/// A leaf of the arguments.
struct Leaf {
  bool isHost = false; ///< a host number
  mxrt_dtype type = MXRT_F32;
};

/// A resolved call for given types and sizes of arguments: everything that its calls have in
/// common.
struct ReadyCall {
  std::vector<int64_t> key;
  driver::OutsideTarget target;
  std::vector<Leaf> leaves;  ///< of all inputs of a graph
  std::vector<Form> changed; ///< new values of the `mut` arguments
  Form result;
  ReadyCall *next = nullptr; ///< next in its hash bucket
};

struct Parameter {
  std::string name, type;
  uint32_t flags = 0;
  bool isLiteral = false;            ///< its value is part of the call's key
  std::optional<ElementType> scalar; ///< the type, if it is a scalar
};

} // namespace mx::embed

struct mxc_function {
  mxc_module *module = nullptr;
  std::string name, signature, result;
  bool isGraph = false;
  std::vector<mx::embed::Parameter> params;
  /// Appended to under the session's lock, read lock-free.
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
  std::recursive_mutex lock; ///< recursive: errors of tensors are rendered while it may be held
  mx::embed::LifeRef life = std::make_shared<mx::embed::Life>();
  mx::embed::PrintBuffer printed;
  std::ostream out{&printed};
  std::ostringstream err;
  void (*notice)(void *, const char *, size_t) = nullptr;
  void *user = nullptr;
  std::vector<std::unique_ptr<mxc_module>> modules;
  std::unique_ptr<mx::driver::OutsideSession> session;

  mxrt_runtime *runtime() const { return session->runtimeOf(); }
  /// The text written since the last call, as an error; the lock is held.
  mxc_error *takeError();
  /// The same after success: passes the text on to the host's handler for warnings.
  void passNotices();
  /// Renders a runtime error as the driver does. Takes ownership of `status`; takes the lock.
  mxc_error *render(mxrt_status status);
};

namespace mx::embed {

/// An error that needs no session. Never fails.
mxc_error *makeError(const char *code, std::string text);
/// R0002: the host passed an invalid argument.
mxc_error *wrongUse(const std::string &message);
/// The constant errors; releasing one has no effect.
mxc_error *noMemory();
mxc_error *internalError();
/// Runs `body`, which returns an error; exceptions become errors too.
template <class F> mxc_error *guarded(F body) {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return noMemory();
  } catch (...) {
    return internalError();
  }
#else
  return body();
#endif
}

/// Waits for the elements of all parts of a value.
mxc_error *waitFor(mxc_value &value);
/// A tensor of the session with the elements in row-major order, owned by the caller; it may still
/// be in flight.
mxc_error *tensorFor(mxc_session &session, TensorValue &value, mxrt_tensor *&out);
/// A number as a tensor of rank 0.
mxc_error *tensorOfNumber(mxc_session &session, const NumberValue &value, mxrt_dtype type,
                          mxrt_tensor *&out);
/// The bytes of a number in the given element type.
uint64_t bitsOf(const NumberValue &value, mxrt_dtype type);

/// Host memory that the `mut` arguments of a call may write.
class BorrowedMut {
public:
  /// Called for each `mut` argument in order, before the call.
  mxc_error *before(mxc_session &session, mxc_value &value);
  /// Copies the new values of the arguments into that memory; the values refer to that memory
  /// again.
  mxc_error *after(mxc_session &session, llvm::ArrayRef<mxc_value **> changed);

private:
  std::vector<TensorValue *> hosts; ///< of each leaf; null: not such memory. Owned by the arguments
  bool any = false;
};

/// Finds the code of a call, or compiles it. The lock is not held.
mxc_error *resolve(mxc_function &function, const mxc_argument *arguments, size_t count,
                   llvm::ArrayRef<int64_t> key, size_t bucket, const ReadyCall *&out);
/// The type of part `index` of a value of this type; null if unknown. The lock is held.
const sema::Type *partType(sema::CheckedProgram &sema, const sema::Type *type, size_t index);

/// Calls a function of the VM; the lock is not held. Replaces `mut` arguments.
mxc_error *callFunction(mxc_session &session, const ReadyCall &call, mxc_argument *arguments,
                        mxc_value *&result);
/// Converts a VM value to a host value; null if it cannot leave the VM, with the reason in
/// `problem`. The lock is held.
mxc_value *fromVm(mxc_session &session, const mxrt::host::Value &value, const sema::Type *type,
                  std::string &problem);

} // namespace mx::embed
