// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The eager executor: runs the tensor operations of host code one by one, as
// calls of shape-generic kernels on the runtime's engine.
//
//   EagerHost host({runtime, &kernels, print, printContext});
//   VmOptions options; options.runtime = runtime; options.host = &host;
//   Vm *vm = MXRT_TRY(Vm::create(options));
//   MXRT_CHECK(host.registerNatives(*vm));
//
// An operation is named by an import of the program, `op[:dtype][(attributes)]`
// with an optional `@cpu:1` at the end (OpNames.h); the name is read once, when
// the program is loaded. Sizes and types are checked when an operation is
// issued; what fails later poisons the result and comes out at a wait.
//
// Thread rule: that of the VM, one thread at a time.

#ifndef MXRT_EAGER_EXECUTOR_H
#define MXRT_EAGER_EXECUTOR_H

#include "eager/Kernels.h"
#include "eager/TensorValue.h"
#include "host/Vm.h"

namespace mxrt::eager {

struct Operation;

struct EagerOptions {
  /// Must outlive the host.
  mxrt_runtime *runtime = nullptr;
  /// Must outlive the host.
  KernelSource *kernels = nullptr;
  /// Gets every line of print, with its newline. Without it print fails.
  Status (*print)(void *context, std::string_view text) = nullptr;
  void *printContext = nullptr;
  /// Look for NaN in the result of each kernel on floats; the first one found
  /// is R0304 with the operation, the index and the place of issue.
  bool checkNan = false;
};

class EagerHost : public host::HostInterface {
public:
  explicit EagerHost(const EagerOptions &options);
  EagerHost(const EagerHost &) = delete;
  EagerHost &operator=(const EagerHost &) = delete;
  /// Waits for what is in flight, since that uses the kernels. Errors not yet
  /// noticed are dropped: mxrt_engine_wait_all first. After the VM.
  virtual ~EagerHost();

  Status print(std::string_view text) override;
  Status resolve(host::ImportKind sort, std::string_view name, const host::Signature &signature,
                 void *&target) override;
  Status invoke(host::ImportKind sort, void *target, host::Invocation &call) override;
  Status readScalar(const host::Value &tensor, host::Kind wanted, host::Value &out) override;
  Status show(const host::Value &foreign, std::string_view spec, host::Text &out) override;

  /// mx.sync() waits for all that was issued; mx.wait(any) for every tensor in
  /// the value; mx.exists(str) -> bool; mx.shape(tensor) -> array and
  /// mx.dim(tensor, i64) -> i64 do not wait.
  Status registerNatives(host::Vm &vm);

  /// For the session's `:nan on`; counts for what is issued from now on.
  void setCheckNan(bool check) { checkNan = check; }
  mxrt_runtime *runtime() const { return owner; }

protected:
  /// Graph variants are the business of who compiles them. These refuse.
  virtual Status resolveGraph(std::string_view name, const host::Signature &signature,
                              void *&target);
  virtual Status invokeGraph(void *target, host::Invocation &call);

private:
  friend struct OpCall;
  mxrt_runtime *owner;
  KernelSource *source;
  Status (*printer)(void *, std::string_view);
  void *printContext;
  bool checkNan;
  bool issued = false; // anything at all, so that there is an engine
  KernelTable kernels;
  Vec<Operation *> operations; // one per name and signature, kept to the end
};

} // namespace mxrt::eager

#endif // MXRT_EAGER_EXECUTOR_H
