// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The eager executor: runs the tensor operations of host code one at a time, as asynchronous calls
// of shape-generic kernels on the runtime's engine.
//
//   EagerHost host({runtime, &kernels, print, printContext});
//   VmOptions options; options.runtime = runtime; options.host = &host;
//   Vm *vm = MXRT_TRY(Vm::create(options));
//   MXRT_CHECK(host.registerNatives(*vm));
//
// An operation is named by an import of the program, `op[:dtype][(attributes)]` with an optional
// `@cpu:1` at the end (OpNames.h); the name is parsed once, when the program is loaded. Sizes and
// types are checked when an operation is issued; later failures poison the result and are returned
// by a wait.
//
// Thread safety: as the VM, one thread at a time.

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
  /// Receives every line of print, with its newline. Without it print fails.
  Status (*print)(void *context, std::string_view text) = nullptr;
  void *printContext = nullptr;
  /// Check the result of each kernel on floats for NaN; the first NaN found is R0304 with the
  /// operation, the index and the source location of issue.
  bool checkNan = false;
  /// Results of kernels hold poison (mxrt/guard.h) until they are written. A float that still does
  /// afterwards is R0001 with the operation and the source location of issue.
  bool checkMemory = false;
};

class EagerHost : public host::HostInterface {
public:
  explicit EagerHost(const EagerOptions &options);
  EagerHost(const EagerHost &) = delete;
  EagerHost &operator=(const EagerHost &) = delete;
  /// Waits for work in flight, which uses the kernels. Unnoticed errors are dropped: call
  /// mxrt_engine_wait_all first. Destroy it after the VM.
  virtual ~EagerHost();

  Status print(std::string_view text) override;
  Status resolve(host::ImportKind sort, std::string_view name, const host::Signature &signature,
                 void *&target) override;
  Status invoke(host::ImportKind sort, void *target, host::Invocation &call) override;
  Status readScalar(const host::Value &tensor, host::Kind wanted, host::Value &out) override;
  Status show(const host::Value &foreign, std::string_view spec, host::Text &out) override;

  /// mx.sync() waits for all issued work; mx.wait(any) for every tensor in the value;
  /// mx.exists(str) -> bool; mx.shape(tensor) -> array and mx.dim(tensor, i64) -> i64 do not wait.
  Status registerNatives(host::Vm &vm);

  /// For the session's `:nan on`; applies to operations issued from now on.
  void setCheckNan(bool check) { checkNan = check; }
  mxrt_runtime *runtime() const { return owner; }

protected:
  /// Graph variants are handled by subclasses that compile them. These defaults refuse.
  virtual Status resolveGraph(std::string_view name, const host::Signature &signature,
                              void *&target);
  virtual Status invokeGraph(void *target, host::Invocation &call);

private:
  friend struct OpCall;
  mxrt_runtime *owner;
  KernelSource *source;
  Status (*printer)(void *, std::string_view);
  void *printContext;
  bool checkNan, checkMemory;
  bool issued = false; // anything at all, so that an engine exists
  KernelTable kernels;
  Vec<Operation *> operations; // one per name and signature, kept to the end
};

} // namespace mxrt::eager

#endif // MXRT_EAGER_EXECUTOR_H
