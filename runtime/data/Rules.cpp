// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizers of a KVStore: a rule, which is a number that the compiler chose and the numbers of
// the optimizer, and its state by key. The state of a key is a value of the program,
// a struct, that only the program's code looks at. While code updates it, it is taken out, so
// that its tensors have one owner and are written in place.
//
//   mx.rule.make(number: i64, name: str, numbers) -> rule
//   mx.rule.optimizer(rule) -> optimizer                      without any state
//   mx.rule.number(optimizer) -> i64
//   mx.rule.numbers(optimizer) -> numbers
//   mx.rule.has(optimizer, key: str, size: i64, ...) -> bool  the sizes are those of the first call
//   mx.rule.take(optimizer, key: str) -> state
//   mx.rule.restored(optimizer, key: str, state) -> state     a new one, or that of the checkpoint
//   mx.rule.put(optimizer, key: str, state)
//   mx.rule.unknown(optimizer), mx.rule.missing(name: str)    fail

#include "data/Optimizer.h"

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

void deleteRule(void *payload) {
  auto *rule = static_cast<Rule *>(payload);
  deleteObject(rule->alloc, rule);
}
void deleteOptimizer(void *payload) {
  auto *optimizer = static_cast<Optimizer *>(payload);
  deleteObject(optimizer->alloc, optimizer);
}

} // namespace

const host::ForeignType optimizerType = {"optimizer", deleteOptimizer};

namespace {

const host::ForeignType ruleType = {"rule", deleteRule};

/// Makes `payload` the result of the call, or deletes it.
template <typename T>
Status giveHandle(DataHost &host, Invocation &call, const host::ForeignType &type, T *payload) {
  host::ForeignObject *object = host::makeForeign(call.vm.heap(), &type, payload);
  if (!object) {
    deleteObject(host.allocator(), payload);
    return call.vm.heap().exhausted();
  }
  call.result = Value(Kind::Handle, object);
  return success();
}

Status make(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Rule *rule = newObject<Rule>(host.allocator(), call.vm.heap(), host.allocator());
  if (!rule)
    return outOfMemory(host.allocator(), call.location);
  std::string_view name = call.args[1].str()->view();
  if (!keepText(name, rule->name)) {
    deleteObject(host.allocator(), rule);
    return outOfMemory(host.allocator(), call.location);
  }
  rule->number = call.args[0].i;
  host::retain(call.args[2]);
  rule->numbers = call.args[2];
  return giveHandle(host, call, ruleType, rule);
}

Status makeOptimizer(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  auto *made = newObject<Optimizer>(host.allocator(), call.vm.heap(), host.allocator(),
                                    call.args[0].foreign());
  if (!made)
    return outOfMemory(host.allocator(), call.location);
  return giveHandle(host, call, optimizerType, made);
}

Status numberOf(void *, Invocation &call) {
  call.result = Value::integer(optimizerOf(call.args[0]).by().number);
  return success();
}

Status numbersOf(void *, Invocation &call) {
  Value numbers = optimizerOf(call.args[0]).by().numbers;
  host::retain(numbers);
  call.result = numbers;
  return success();
}

/// Whether there is state for the key. It is that of a model with the same sizes.
Status has(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Optimizer &optimizer = optimizerOf(call.args[0]);
  std::string_view key = call.args[1].str()->view();
  const State *state = optimizer.find(key);
  if (state && state->isTaken)
    return lostState(host.allocator(), key);
  call.result = Value::boolean(state && state->value.isSet());
  std::span<Value> sizes = call.args.subspan(2);
  bool fits = !state || state->sizes.size() == sizes.size();
  for (size_t i = 0; state && fits && i < sizes.size(); ++i)
    fits = sizes[i].kind == Kind::Int && sizes[i].i == state->sizes[i];
  if (!fits)
    return error(host.allocator(), MXRT_SHAPE, noLocation,
                 "step: `%.*s` had other sizes in the first step of this KVStore\nhelp: connect "
                 "another KVStore for another model, or give its variable another name",
                 int(key.size()), key.data());
  if (state)
    return success();
  State *made = newObject<State>(host.allocator(), host.allocator());
  bool done = made && keepText(key, made->key);
  for (size_t i = 0; done && i < sizes.size(); ++i)
    done = made->sizes.push(sizes[i].i);
  if (!done || !optimizer.states.push(made)) {
    if (made)
      deleteObject(host.allocator(), made);
    return outOfMemory(host.allocator(), call.location);
  }
  return success();
}

Status noState(void *context, std::string_view key) {
  return error(hostOf(context).allocator(), MXRT_INTERNAL, noLocation,
               "the optimizer has no state of `%.*s`", int(key.size()), key.data());
}

Status take(void *context, Invocation &call) {
  std::string_view key = call.args[1].str()->view();
  State *state = optimizerOf(call.args[0]).find(key);
  if (!state || !state->value.isSet())
    return noState(context, key);
  call.result = state->value;
  state->value = Value();
  state->isTaken = true;
  return success();
}

Status put(void *context, Invocation &call) {
  std::string_view key = call.args[1].str()->view();
  Optimizer &optimizer = optimizerOf(call.args[0]);
  State *state = optimizer.find(key);
  if (!state)
    return noState(context, key);
  host::retain(call.args[2]);
  host::replace(optimizer.heap, state->value, call.args[2]);
  state->isTaken = false;
  return success();
}

/// The rule was not among those of the program when kv.step was compiled.
Status unknown(void *context, Invocation &call) {
  const Rule &rule = optimizerOf(call.args[0]).by();
  if (rule.number < 0)
    return error(hostOf(context).allocator(), MXRT_KVSTORE, noLocation,
                 "step: this KVStore has no optimizer\nhelp: give it one, "
                 "`update=dist.on_worker(optim.Sgd(lr=0.1))`, or average the gradient with "
                 "`kv.average` and apply your own");
  return error(hostOf(context).allocator(), MXRT_KVSTORE, noLocation,
               "step: it was compiled before the optimizer `%.*s`\nhelp: define the function that "
               "calls it again",
               int(rule.name.size()), rule.name.data());
}

Status missing(void *context, Invocation &call) {
  std::string_view name = call.args[0].str()->view();
  return error(hostOf(context).allocator(), MXRT_UNSUPPORTED, noLocation,
               "%.*s does not run in this version, it is only checked\nhelp: "
               "`dist.local(workers=2, update=dist.on_worker(…))` runs workers in one process",
               int(name.size()), name.data());
}

} // namespace

static constexpr ParamData makeParams[] = {{Kind::Int, false}, {Kind::Str, false}, {Kind::Any, false}};
static constexpr ParamData handle[] = {{Kind::Handle, false}};
static constexpr ParamData handleStr[] = {{Kind::Handle, false}, {Kind::Str, false}};
static constexpr ParamData handleStrStruct[] = {
    {Kind::Handle, false}, {Kind::Str, false}, {Kind::Struct, false}};
static constexpr ParamData str[] = {{Kind::Str, false}};
static const NativeRow natives[] = {
    {"mx.rule.make", makeParams, false, Kind::Handle, make},
    {"mx.rule.optimizer", handle, false, Kind::Handle, makeOptimizer},
    {"mx.rule.number", handle, false, Kind::Int, numberOf},
    {"mx.rule.numbers", handle, false, Kind::Struct, numbersOf},
    {"mx.rule.has", handleStr, true, Kind::Bool, has},
    {"mx.rule.take", handleStr, false, Kind::Struct, take},
    {"mx.rule.restored", handleStrStruct, false, Kind::Struct, restoredState},
    {"mx.rule.put", handleStrStruct, false, Kind::Unit, put},
    {"mx.rule.unknown", handle, false, Kind::Unit, unknown},
    {"mx.rule.missing", str, false, Kind::Unit, missing}};
const NativeGroup mxrt_natives_rules = {"mxrt_natives_rules", natives, std::size(natives)};

} // namespace mxrt::data
