// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients that are matmuls, uᵀ @ v, averaged by exchanging u and v. The code that the compiler
// makes (Graph/ExchangeForms.cpp) multiplies the factors of each rank, with the kernels that the gradient
// itself would have, and adds the results in rank order.
//
//   mx.dist.factors(kv, weight: f64, name: str, u, v, name, u, v, ...) -> factors
//       Waits until all ranks have told their numbers of rows. A KVStore that was not told to
//       compress this way makes no call: nothing travels.
//   mx.dist.factors_travel(factors, key: i64) -> bool      false: the key has to be averaged densely
//   mx.dist.factor_rows(factors, key: i64, rank: i64) -> i64
//   mx.dist.factor_pair(factors, key: i64, rank: i64) -> (u, v, weight: f64)
//   mx.dist.weights(factors) -> f64                        the sum over all ranks

#include "data/DistFactors.h"

#include "eager/TensorValue.h"
#include "host/Heap.h"
#include "memory/Tensor.h"

#include <new>

namespace mxrt::data {

using dist::FactorsOfCall;
using dist::Item;
using dist::Store;
using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::Value;

namespace {

struct Handle {
  explicit Handle(const mxrt_allocator *alloc) : alloc(alloc), call(alloc) {}
  const mxrt_allocator *alloc;
  FactorsOfCall call;
};
void deleteHandle(void *payload) {
  auto *handle = static_cast<Handle *>(payload);
  deleteObject(handle->alloc, handle);
}
const host::ForeignType factorsType = {"factors", deleteHandle};

Status factorsOf(void *context, const Invocation &call, FactorsOfCall *&out) {
  const Value &value = call.args[0];
  if (value.kind != Kind::Handle || value.foreign()->type != &factorsType)
    return error(hostOf(context).allocator(), MXRT_HOST_TYPE, noLocation, "%.*s takes factors",
                 int(call.name.size()), call.name.data());
  out = &static_cast<Handle *>(value.foreign()->payload)->call;
  return success();
}
/// The key that the arguments name; its rank exists too.
Status keyOf(void *context, const Invocation &call, FactorsOfCall *&out, dist::Factors *&key) {
  MXRT_CHECK(factorsOf(context, call, out));
  int64_t number = call.args[1].i, rank = call.args.size() > 2 ? call.args[2].i : 0;
  bool isThere = number >= 0 && uint64_t(number) < out->keys.size() && rank >= 0 &&
                 uint64_t(rank) < out->weights.size();
  if (!isThere)
    return error(hostOf(context).allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "%.*s: there are no such factors", int(call.name.size()), call.name.data());
  key = &out->keys[size_t(number)];
  return success();
}

} // namespace

Status factors(void *context, Invocation &call) {
  const mxrt_allocator *alloc = hostOf(context).allocator();
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  Vec<Item> items(alloc);
  for (size_t i = 2; i + 2 < call.args.size(); i += 3) {
    Item item;
    item.form = kvstore::Form::Factors;
    item.tensor = tensorOf(call.args[i + 1]);
    item.second = tensorOf(call.args[i + 2]);
    bool fits = call.args[i].kind == Kind::Str && item.tensor && item.second &&
                item.tensor->rank == 2 && item.second->rank == 2 &&
                item.tensor->sizes()[0] == item.second->sizes()[0] &&
                item.tensor->type == item.second->type;
    if (!fits)
      return error(alloc, MXRT_HOST_TYPE, noLocation, "%.*s takes names and pairs of matrices",
                   int(call.name.size()), call.name.data());
    item.name = call.args[i].str()->view();
    if (!items.push(item))
      return outOfMemory(alloc);
  }
  Handle *made = newObject<Handle>(alloc, alloc);
  if (!made)
    return outOfMemory(alloc);
  Status status;
  if (store->takesFactors())
    status = store->exchangeFactors(call.args[1].d, {items.data(), items.size()}, call.location,
                                    made->call);
  else
    for (size_t i = 0; i < items.size() && status.ok(); ++i)
      if (!made->call.keys.push(dist::Factors(alloc)) || !made->call.weights.resize(1))
        status = outOfMemory(alloc);
  host::ForeignObject *object =
      status.ok() ? host::makeForeign(call.vm.heap(), &factorsType, made) : nullptr;
  if (!object) {
    deleteHandle(made);
    return status.failed() ? std::move(status) : call.vm.heap().exhausted();
  }
  call.result = Value(Kind::Handle, object);
  return success();
}

Status factorsTravel(void *context, Invocation &call) {
  FactorsOfCall *all = nullptr;
  dist::Factors *key = nullptr;
  MXRT_CHECK(keyOf(context, call, all, key));
  call.result = Value(Kind::Bool, int64_t(key->travel));
  return success();
}

Status factorRows(void *context, Invocation &call) {
  FactorsOfCall *all = nullptr;
  dist::Factors *key = nullptr;
  MXRT_CHECK(keyOf(context, call, all, key));
  call.result = Value::integer(
      key->travel ? static_cast<int64_t>(key->counts[size_t(call.args[2].i)]) : 0);
  return success();
}

Status factorPair(void *context, Invocation &call) {
  FactorsOfCall *all = nullptr;
  dist::Factors *key = nullptr;
  MXRT_CHECK(keyOf(context, call, all, key));
  if (!key->travel)
    return error(hostOf(context).allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "%.*s: these factors do not travel", int(call.name.size()), call.name.data());
  TensorRef sides[2];
  MXRT_CHECK(key->partsOf(int(call.args[2].i), call.location, sides[0], sides[1]));
  host::Heap &heap = call.vm.heap();
  host::AggregateObject *tuple = host::makeAggregate(heap, 3, nullptr);
  if (!tuple)
    return heap.exhausted();
  Value out(Kind::Tuple, tuple);
  for (TensorRef &side : sides) {
    Value value = eager::makeTensorValue(heap, side.get());
    if (!value.isSet()) {
      host::release(heap, out);
      return heap.exhausted();
    }
    side.release();
    ::new (tuple->items() + tuple->count++) Value(value);
  }
  ::new (tuple->items() + tuple->count++) Value(Value::f64(all->weights[size_t(call.args[2].i)]));
  call.result = out;
  return success();
}

Status factorWeights(void *context, Invocation &call) {
  FactorsOfCall *all = nullptr;
  MXRT_CHECK(factorsOf(context, call, all));
  call.result = Value::f64(all->total);
  return success();
}

} // namespace mxrt::data
