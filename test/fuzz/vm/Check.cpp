// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Check.h"

#include "host/Program.h"
#include "host/Vm.h"
#include "host/text/Assembler.h"

#include <cstdio>
#include <cstdlib>

namespace mxrt::host {

namespace {

[[noreturn]] void broken(const char *what) {
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

struct Counter {
  mxrt_allocator interface{this, allocate, release, nullptr};
  long live = 0;
  static void *allocate(void *user, size_t bytes, size_t align) {
    ++static_cast<Counter *>(user)->live;
    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
  }
  static void release(void *user, void *memory, size_t, size_t) {
    --static_cast<Counter *>(user)->live;
    std::free(memory);
  }
};

int tensorToken;
const ForeignType tensorType = {"tensor", nullptr};

/// Accepts every operation; gives a value of the declared kind, or an error.
class FuzzHost : public HostInterface {
public:
  Status print(std::string_view text) override {
    size += text.size();
    return success();
  }
  Status resolve(ImportKind, std::string_view, const Signature &signature, void *&target) override {
    target = reinterpret_cast<void *>(uintptr_t(signature.result));
    return success();
  }
  Status invoke(ImportKind, void *target, Invocation &call) override {
    Heap &heap = call.vm.heap();
    switch (Kind(reinterpret_cast<uintptr_t>(target))) {
    case Kind::Unit:
    case Kind::Any:
      return success();
    case Kind::Tensor:
      if (ForeignObject *object = makeForeign(heap, &tensorType, &tensorToken)) {
        call.result = Value(Kind::Tensor, object);
        return success();
      }
      return heap.exhausted();
    case Kind::F32:
      call.result = Value::f32(0.5f);
      return success();
    default: // a host that breaks its word must not break the VM
      return success();
    }
  }
  Status readScalar(const Value &, Kind wanted, Value &out) override {
    out = Value(wanted, int64_t(0));
    return success();
  }
  size_t size = 0;
};

Status countUp(void *, Invocation &call) {
  call.args[0].i += 1;
  return success();
}
Status callBack(void *, Invocation &call) {
  return call.vm.call(call.args[0], call.args.subspan(1), call.result);
}
Status swallow(void *, Invocation &call) {
  Value result;
  Status status = call.vm.call(call.args[0], {}, result);
  release(call.vm.heap(), result);
  call.result = Value::boolean(status.ok());
  return success();
}

void registerNatives(Vm &vm) {
  const ParamData one[] = {{Kind::Int, true}};
  const ParamData fn[] = {{Kind::Fn, false}};
  if (vm.registerNative("count", {one, false, Kind::Unit}, countUp, nullptr).failed() ||
      vm.registerNative("apply", {fn, true, Kind::Any}, callBack, nullptr).failed() ||
      vm.registerNative("works", {fn, false, Kind::Bool}, swallow, nullptr).failed())
    broken("natives cannot be registered");
}

Verdict runAll(Vm &vm, Program *program) {
  vm.setBudget(3000);
  Status status = vm.run(program);
  Verdict verdict = status.ok() ? Verdict::Finished : Verdict::Failed;
  if (status.code() == MXRT_HOST_BYTECODE)
    broken("a verified program failed with a bytecode error");
  // Functions whose arguments are easily made are called as well.
  for (const FunctionData &fn : program->module.functions) {
    std::vector<Value> args;
    for (const ParamData &param : fn.params)
      args.push_back(isInline(param.kind) ? Value(param.kind, int64_t(1)) : Value());
    vm.setBudget(300);
    Value result;
    status = vm.call(program, program->module.strings[fn.name], args, result);
    release(vm.heap(), result);
    for (Value &arg : args)
      release(vm.heap(), arg);
  }
  return verdict;
}

void checkText(Vm &vm, std::span<const uint8_t> bytes) {
  Module module(vm.heap());
  if (decodeModule(vm.heap(), bytes, module).failed())
    return;
  std::string text = disassemble(module), message;
  std::vector<uint8_t> again;
  bool verified = verifyModule(vm.heap(), module).ok();
  if (!assemble(text, again, message)) {
    if (verified) {
      std::fprintf(stderr, "%s\n%s\n", message.c_str(), text.c_str());
      broken("a verified module has no text");
    }
    return;
  }
  Module second(vm.heap());
  if (decodeModule(vm.heap(), again, second).failed() || (verified && disassemble(second) != text))
    broken("the text of a module does not read back");
}

} // namespace

Verdict checkProgram(std::span<const uint8_t> bytes, bool textToo) {
  Counter counter;
  FuzzHost host;
  VmOptions options;
  options.allocator = &counter.interface;
  options.host = &host;
  options.memoryLimit = 1 << 20;
  options.maxDepth = 200;
  options.maxNativeDepth = 8;
  Result<Vm *> made = Vm::create(options);
  if (made.failed())
    broken("no VM");
  Vm *vm = made.take();
  registerNatives(*vm);
  Verdict verdict = Verdict::Refused;
  {
    Finding finding;
    Result<Program *> loaded = vm->load(bytes, &finding);
    if (loaded.ok()) {
      Program *program = loaded.take();
      verdict = runAll(*vm, program);
      vm->unload(program);
    } else if (Status status = loaded.takeStatus(); status.code() != MXRT_HOST_BYTECODE &&
                                                    status.code() != MXRT_MEMORY_LIMIT) {
      broken(status.message());
    }
    if (textToo)
      checkText(*vm, bytes);
  }
  Vm::destroy(vm);
  if (counter.live != 0)
    broken("memory is lost");
  return verdict;
}

} // namespace mxrt::host
