// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public interface of the host VM, and the set-up and tear-down of its state.

#include "host/Vm.h"
#include "host/Machine.h"

#include <algorithm>

namespace mxrt::host {

//===-- HostInterface: a host without tensors ------------------------------===//

Status HostInterface::resolve(ImportKind, std::string_view name,
                              const Signature &, void *&) {
  return error(nullptr, MXRT_UNSUPPORTED, noLocation,
               "this host has no operation '%.*s'",
               int(std::min<size_t>(name.size(), 200)), name.data());
}
Status HostInterface::invoke(ImportKind, void *, Invocation &call) {
  return error(call.vm.heap().baseAllocator(), MXRT_UNSUPPORTED, noLocation,
               "this host runs no tensor operations");
}
Status HostInterface::readScalar(const Value &, Kind, Value &) {
  return error(nullptr, MXRT_UNSUPPORTED, noLocation,
               "this host cannot read tensors");
}
Status HostInterface::show(const Value &foreign, std::string_view spec,
                           Text &out) {
  if (!spec.empty())
    return error(out.owner().baseAllocator(), MXRT_UNSUPPORTED, noLocation,
                 "this host cannot format a %s", foreign.foreign()->type->name);
  out.append('<');
  out.append(foreign.foreign()->type->name);
  out.append('>');
  return success();
}

//===-- Machine -------------------------------------------------------------===//

static const mxrt_allocator *allocatorOf(const VmOptions &options) {
  if (options.allocator)
    return options.allocator;
  return options.runtime ? mxrt_runtime_allocator(options.runtime)
                         : mxrt_system_allocator();
}

Machine::Machine(const VmOptions &options)
    : options(options), heap(allocatorOf(options), options.memoryLimit),
      face(*this), natives(heap), globals(heap) {}

Status Machine::prepare() {
  memoryError =
      makeError(heap, outOfMemory(), std::span<const Location>(), 0);
  return memoryError ? success() : heap.exhausted();
}

Machine::~Machine() {
  clearPending();
  for (Global *global : globals.rows)
    mxrt::host::dropGlobal(heap, global);
  for (NativeEntry *native : natives.rows) {
    release(heap, native->name);
    heap.release(native->params, native->paramCount * sizeof(ParamData) + 1);
    deleteObject(heap.allocator(), native);
  }
  if (memoryError)
    release(heap, memoryError);
  while (firstSegment) {
    Segment *gone = firstSegment;
    firstSegment = gone->next;
    heap.release(gone, gone->size);
  }
}

void Machine::updateWatching() {
  if (hook || hasBudget)
    attention.fetch_or(watchBit, std::memory_order_relaxed);
  else
    attention.fetch_and(~uint32_t(watchBit), std::memory_order_relaxed);
}

//===-- Vm ------------------------------------------------------------------===//

// A lock-free flag makes cancel() safe in a signal handler.
static_assert(std::atomic<uint32_t>::is_always_lock_free);

Result<Vm *> Vm::create(const VmOptions &options) {
  const mxrt_allocator *alloc = allocatorOf(options);
  auto *machine = newObject<Machine>(alloc, options);
  if (!machine)
    return outOfMemory(alloc);
  Status status = machine->prepare();
  if (status.failed()) {
    deleteObject(alloc, machine);
    return status;
  }
  return &machine->face;
}

void Vm::destroy(Vm *vm) {
  if (!vm)
    return;
  const mxrt_allocator *alloc = vm->machine.heap.baseAllocator();
  deleteObject(alloc, &vm->machine);
}

Status Vm::registerNative(std::string_view name, Signature signature,
                          NativeFunction function, void *context) {
  Heap &heap = machine.heap;
  if (machine.natives.find(name))
    return error(heap.baseAllocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "native function '%.*s' is registered already",
                 int(std::min<size_t>(name.size(), 200)), name.data());
  auto *entry = newObject<NativeEntry>(heap.allocator());
  StrObject *copy = makeStr(heap, name);
  size_t count = signature.params.size();
  auto *params = static_cast<ParamData *>(
      heap.allocate(count * sizeof(ParamData) + 1));
  if (entry && copy && params) {
    std::copy(signature.params.begin(), signature.params.end(), params);
    *entry = {copy,     params,  uint32_t(count), signature.variadic,
              signature.result, function, context};
    if (machine.natives.insert(entry))
      return success();
  }
  Status status = heap.exhausted();
  if (params)
    heap.release(params, count * sizeof(ParamData) + 1);
  if (copy)
    release(heap, copy);
  deleteObject(heap.allocator(), entry);
  return status;
}

Result<Program *> Vm::load(std::span<const uint8_t> bytes, Finding *finding) {
  return linkProgram(machine, bytes, finding);
}

void Vm::unload(Program *program) {
  if (program)
    release(machine.heap, static_cast<Object *>(program));
}

Status Vm::run(Program *program) {
  if (program->module.entry == noEntry)
    return success();
  Value result;
  Status status = machine.enter(program->functions[program->module.entry],
                                nullptr, {}, result);
  release(machine.heap, result);
  return status;
}

Status Vm::call(Program *program, std::string_view function,
                std::span<Value> args, Value &result) {
  for (size_t i = 0; i < program->module.functions.size(); ++i)
    if (program->module.functionName(uint32_t(i)) == function)
      return machine.enter(program->functions[i], nullptr, args, result);
  return error(machine.heap.baseAllocator(), MXRT_INVALID_ARGUMENT, noLocation,
               "the program has no function '%.*s'",
               int(std::min<size_t>(function.size(), 200)), function.data());
}

Status Vm::call(const Value &function, std::span<Value> args, Value &result) {
  if (function.kind != Kind::Fn)
    return error(machine.heap.baseAllocator(), MXRT_HOST_TYPE, noLocation,
                 "a value of %s cannot be called", kindName(function.kind));
  ClosureObject *closure = function.closure();
  return machine.enter(closure->program->functions[closure->function], closure,
                       args, result);
}

void Vm::cancel() {
  machine.attention.fetch_or(Machine::cancelBit, std::memory_order_relaxed);
}
void Vm::clearCancel() {
  machine.attention.fetch_and(~uint32_t(Machine::cancelBit),
                              std::memory_order_relaxed);
}
bool Vm::cancelRequested() const {
  return machine.attention.load(std::memory_order_relaxed) & Machine::cancelBit;
}

void Vm::setStatementHook(StatementHook hook, void *context) {
  machine.hook = hook;
  machine.hookContext = context;
  machine.updateWatching();
}
void Vm::setBudget(uint64_t instructions) {
  machine.hasBudget = true;
  machine.budget = instructions;
  machine.updateWatching();
}
void Vm::clearBudget() {
  machine.hasBudget = false;
  machine.budget = 0;
  machine.updateWatching();
}
uint64_t Vm::budget() const { return machine.budget; }

Value Vm::global(std::string_view name) const {
  const Global *global = machine.globals.find(name);
  return global ? global->value : Value();
}

Status Vm::setGlobal(std::string_view name, Value value) {
  Global *global = machine.globals.find(name);
  if (!global || !fits(value.kind, global->kind))
    return error(machine.heap.baseAllocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 global ? "variable '%.*s' is of another kind"
                        : "there is no variable '%.*s'",
                 int(std::min<size_t>(name.size(), 200)), name.data());
  replace(machine.heap, global->value, value);
  return success();
}

void Vm::dropGlobal(std::string_view name) {
  if (Global *global = machine.globals.find(name)) {
    machine.globals.erase(global);
    mxrt::host::dropGlobal(machine.heap, global);
  }
}

std::span<const Location> Vm::traceback() const {
  return {machine.pending.locations, machine.pending.count};
}
uint32_t Vm::elidedLocations() const { return machine.pending.elided; }

uint32_t Vm::depth() const { return machine.depth; }

static Frame *frameAt(Machine &machine, uint32_t depth) {
  Frame *frame = machine.frame;
  while (frame && depth--)
    frame = frame->caller;
  return frame;
}
Location Vm::locationAt(uint32_t depth) const {
  Frame *frame = frameAt(machine, depth);
  return frame ? machine.locationOf(*frame) : Location{nullptr, nullptr, 0, 0};
}
std::span<const Value> Vm::registersAt(uint32_t depth) const {
  Frame *frame = frameAt(machine, depth);
  if (!frame)
    return {};
  return {frame->registers(), frame->fn->registerCount};
}

Status Vm::show(const Value &value, Text &out) {
  if (machine.showValue(value, out))
    return out.failed() ? machine.heap.exhausted() : success();
  return machine.pending.status.share();
}
Heap &Vm::heap() { return machine.heap; }
HostInterface *Vm::host() const { return machine.options.host; }

} // namespace mxrt::host
