// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host VM: interprets the bytecode that host code is compiled to.
//
//   Vm *vm = MXRT_TRY(Vm::create(options));
//   Program *program = MXRT_TRY(vm->load(bytes));   // decoded, verified, linked
//   Status status = vm->run(program);
//   vm->unload(program);
//   Vm::destroy(vm);
//
// Thread safety: a VM, its programs and its values belong to one thread at a time. Only cancel()
// may be called from any thread, and from a signal handler. No state is global: any number of VMs
// can exist at the same time.

#ifndef MXRT_HOST_VM_H
#define MXRT_HOST_VM_H

#include "host/Module.h"
#include "host/Text.h"
#include "host/Value.h"
#include "mxrt/runtime.h"

#include <span>
#include <string_view>

namespace mxrt::host {

class Vm;
struct Machine;
struct Program;

/// One call of a native function, tensor operation or graph variant.
struct Invocation {
  Vm &vm;
  std::string_view name;
  /// Borrowed, except that the callee owns `mut` ones during the call: it may replace them, but
  /// leaves a value of the declared kind, also when it fails.
  std::span<Value> args;
  /// Set by the callee, which passes on its reference. Starts as unit.
  Value result;
  /// Source location of the calling statement.
  mxrt_location location;
};

struct Signature {
  std::span<const ParamData> params;
  bool variadic = false;
  Kind result = Kind::Unit;
};

/// A returned error is raised in the calling program, at the call.
using NativeFunction = Status (*)(void *context, Invocation &call);

/// The VM's interface to its host, which provides kernels and output. All calls come from the
/// thread that runs the VM.
class HostInterface {
public:
  /// Output of `print`, a whole line with its newline.
  virtual Status print(std::string_view text) = 0;

  /// Resolves a tensor operation or graph variant when a program is loaded; the target is passed
  /// back in each call. Refuses by returning an error.
  virtual Status resolve(ImportKind sort, std::string_view name,
                         const Signature &signature, void *&target);
  virtual Status invoke(ImportKind sort, void *target, Invocation &call);

  /// The element of a rank-0 tensor as `wanted` (Bool, Int, F32, F64 or DType); waits for it.
  virtual Status readScalar(const Value &tensor, Kind wanted, Value &out);
  /// Text of a tensor or handle; `spec` is the format of an f-string or empty. Waits for a tensor.
  virtual Status show(const Value &foreign, std::string_view spec, Text &out);

protected:
  ~HostInterface() = default;
};

/// Called before each statement while it is set. A returned error is raised there; the program
/// cannot catch MXRT_CANCELLED.
using StatementHook = Status (*)(void *context, Vm &vm);

struct VmOptions {
  /// Must outlive the VM and every error it returned. Provides the allocator.
  mxrt_runtime *runtime = nullptr;
  /// Overrides the runtime's allocator; without either it is the system allocator.
  const mxrt_allocator *allocator = nullptr;
  /// Must outlive the VM.
  HostInterface *host = nullptr;
  /// Limit on the bytes of host values, tables and call frames together.
  size_t memoryLimit = SIZE_MAX / 2;
  /// Maximum depth of nested calls of host functions, then of natives that call back.
  uint32_t maxDepth = 10000;
  uint32_t maxNativeDepth = 64;
  /// `//` and `%` by zero give 0 instead of raising (--unchecked).
  bool uncheckedDivision = false;
};

class Vm {
public:
  static Result<Vm *> create(const VmOptions &options);
  /// Every program must be unloaded and every value released before.
  static void destroy(Vm *vm);

  /// A program that imports `name` declares this signature, or one whose calls fit it: a specific
  /// kind where this has any, arguments where this is variadic. `context` must outlive the VM. A
  /// second registration of a name fails.
  Status registerNative(std::string_view name, Signature signature,
                        NativeFunction function, void *context);

  /// Decodes, verifies and links. The caller owns the program and returns it with unload(); values
  /// of it that are still alive keep it alive.
  Result<Program *> load(std::span<const uint8_t> bytes,
                         Finding *finding = nullptr);
  void unload(Program *program);

  /// Runs the entry function, if there is one.
  Status run(Program *program);
  /// Calls a function of `program` by name. Arguments are borrowed, `mut` ones are moved in and
  /// out. The caller owns `result`.
  Status call(Program *program, std::string_view function,
              std::span<Value> args, Value &result);
  /// Calls a function value; natives use it for callbacks.
  Status call(const Value &function, std::span<Value> args, Value &result);

  /// Requests the running program to stop; it does so at its next jump or call. Stays set until
  /// clearCancel(). Safe from any thread and any signal handler.
  void cancel();
  void clearCancel();
  /// Long-running natives poll it.
  bool cancelRequested() const;

  /// nullptr removes the hook. Costs nothing while there is none.
  void setStatementHook(StatementHook hook, void *context);
  /// Runs at most `instructions` more; then R0804, which a program cannot catch. Costs nothing
  /// without a budget.
  void setBudget(uint64_t instructions);
  void clearBudget();
  /// The remaining budget; 0 if there is none.
  uint64_t budget() const;

  /// A module variable by name. The value is borrowed; unset for an unknown name.
  Value global(std::string_view name) const;
  /// Takes over `value` on success. The variable must exist and have its kind.
  Status setGlobal(std::string_view name, Value value);
  /// Deletes a variable and its name. Programs that still use it find it unset and cannot set it.
  void dropGlobal(std::string_view name);

  /// The traceback (source locations) of the last returned error, innermost first, and how many
  /// more there were. Valid until the next call into the VM.
  std::span<const Location> traceback() const;
  uint32_t elidedLocations() const;

  /// For a stepper: the running function calls, innermost first (depth 0).
  uint32_t depth() const;
  Location locationAt(uint32_t depth) const;
  std::span<const Value> registersAt(uint32_t depth) const;

  /// Appends `value` in the form that print shows.
  Status show(const Value &value, Text &out);
  Heap &heap();
  HostInterface *host() const;

private:
  explicit Vm(Machine &machine) : machine(machine) {}
  friend Machine;
  Machine &machine;
};

} // namespace mxrt::host

#endif // MXRT_HOST_VM_H
