// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native functions of the KVStore for host code. A `kv` is a handle.
//
//   mx.dist.local(workers: i64, over: str, outer: str, inner: i64,
//                 compress: str, number: f64) -> kv
//       `over`: "direct", "ring", "tree" or "levels"; `outer` and `inner` are those
//       of levels (else "direct" and 1). `compress` is the codec of averages and
//       `number` its threshold or ratio, or "factors" and "auto" for matmuls as
//       factors. Every call makes a connection of its own.
//   mx.dist.sync(over: str, outer: str, inner: i64, compress: str, number: f64) -> kv
//       With the other processes of the job (dist/Job.h). Waits for them.
//   mx.dist.rank(kv) -> i64
//   mx.dist.size(kv) -> i64
//   mx.dist.members(kv) -> i64
//   mx.dist.init(kv, name, value, name, value, ...) -> (value, ...)
//   mx.dist.average(kv, weight: f64, name, value, ...) -> (value, ...)   of gradients
//   mx.dist.mean(kv, weight: f64, name, value, ...) -> (value, ...)      never compressed
//   mx.dist.sum(kv, name, value, ...) -> (value, ...)
//   mx.dist.gather(kv, name, value, ...) -> (value, ...)
//   mx.dist.scatter(kv, name, value, ...) -> (value, ...)
//   mx.dist.factors, …                        factors of matmuls (DistFactors.cpp)
//   mx.dist.barrier(kv)
//   mx.dist.stats(kv) -> (sent_bytes: i64, received_bytes: i64, sent_messages: i64,
//                         received_messages: i64, calls: i64, wait_seconds: f64)
//   mx.dist.table(kv, key: str) -> str        one row a key; all keys for ""
//   mx.dist.close(kv)
//
// A value is a tensor, or an aggregate whose leaves are tensors (a model, a gradient,
// a tuple): each leaf is a key, named by its path below `name`, as in checkpoints.
// The result has the same structure, with new tensors; nothing is written in place.
// Names come in the order of first use in the forward pass, front layers first:
// it decides about buckets and priorities. Nothing waits but barrier, stats, table and
// the numbers of init.
//
//   init      any element type; host numbers (bool, i64, f32, f64) get those of
//             rank 0 too, which waits for them
//   average   f16, bf16, f32, f64; f16 and bf16 are summed in f32 and rounded once
//   mean, sum the same
//   gather    any element type; f32[n, ...] becomes f32[size * n, ...]
//   scatter   as sum; f32[n, ...] becomes f32[n / size, ...], n a multiple of size
//
// average takes some parts of the value before as structs, each with the name of its key, in the
// order of the keys (Graph/ExchangeForms.cpp). What the value has there is not read:
//
//   mx.rows(index, rows, dense, size: i64, sparse: bool)
//             the rows of a table with `size` rows, to be added at `index`; if not sparse, `dense`
//             has all elements
//   mx.exchanged(value, done: bool)
//             the value is already the mean, if done; else it is averaged
//
// average, mean, sum, gather and scatter refuse host numbers (R0203): a number is known to
// the program, a rank-0 tensor is what travels. Units and functions stay as they are.

#include "data/Connection.h"
#include "data/DistFactors.h"
#include "data/Leaves.h"
#include "dist/Job.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"
#include "net/Local.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace mxrt::data {

using dist::Instance;
using dist::Item;
using dist::Store;
using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;
using kvstore::Action;
using kvstore::Codec;
using kvstore::Layout;
using kvstore::Topology;
using net::LocalHub;

namespace {

void deleteConnection(void *payload) {
  auto *connection = static_cast<Connection *>(payload);
  deleteObject(connection->alloc, connection);
}

} // namespace

const host::ForeignType connectionType = {"kvstore", deleteConnection};

Status storeOf(void *context, const Invocation &call, Store *&store) {
  const Value &value = call.args[0];
  if (value.kind != Kind::Handle || value.foreign()->type != &connectionType)
    return error(hostOf(context).allocator(), MXRT_HOST_TYPE, noLocation,
                 "%.*s takes a kvstore", int(call.name.size()), call.name.data());
  store = static_cast<Connection *>(value.foreign()->payload)->store;
  return success();
}

namespace {

Status topologyOf(const mxrt_allocator *alloc, std::string_view name, bool isOuter,
                  Topology &topology) {
  for (Topology each : {Topology::Direct, Topology::Ring, Topology::Tree, Topology::Levels})
    if (name == topologyName(each) && !(isOuter && each == Topology::Levels)) {
      topology = each;
      return success();
    }
  return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
               "there is no topology `%.*s`; known are direct, ring, tree%s",
               int(std::min<size_t>(name.size(), 40)), name.data(), isOuter ? "" : " and levels");
}

/// A hub of one rank, which needs no host.
Status joinAlone(Connection &connection, net::TransportBox &out) {
  const mxrt_allocator *alloc = connection.alloc;
  connection.hub = newObject<LocalHub>(alloc, alloc, 1);
  if (!connection.hub)
    return outOfMemory(alloc);
  MXRT_CHECK(connection.hub->open());
  auto *transport = newObject<net::Local>(alloc, alloc, *connection.hub, 0);
  if (!transport)
    return outOfMemory(alloc);
  Status status = transport->open();
  out = net::TransportBox(alloc, transport);
  return status;
}

constexpr int64_t maxWorkers = 1024;

/// The arguments (over, outer, inner) from `first` on.
Status layoutOf(const mxrt_allocator *alloc, const Invocation &call, const char *function,
                size_t first, Layout &layout) {
  MXRT_CHECK(topologyOf(alloc, call.args[first].str()->view(), false, layout.topology));
  MXRT_CHECK(topologyOf(alloc, call.args[first + 1].str()->view(), true, layout.outer));
  int64_t inner = call.args[first + 2].i;
  if (inner < 1 || inner > maxWorkers)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "%s: groups of %lld ranks; it must be 1 to %lld", function,
                 static_cast<long long>(inner), static_cast<long long>(maxWorkers));
  layout.inner = int(inner);
  return success();
}

/// How gradients travel.
struct Sending {
  Codec codec;
  kvstore::Form factors = kvstore::Form::Dense;
};

/// The arguments (compress, number) from `first` on. Where sums are encoded again on their way,
/// only codecs that round every element are of use.
Status sendingOf(const mxrt_allocator *alloc, const Invocation &call, const char *function,
                 size_t first, const Layout &layout, Sending &sending) {
  std::string_view name = call.args[first].str()->view();
  double number = call.args[first + 1].d;
  Codec &codec = sending.codec;
  if (name == "factors" || name == "auto") {
    sending.factors = name == "auto" ? kvstore::Form::Cheaper : kvstore::Form::Factors;
    return success();
  }
  auto kind = Codec::Kind::None;
  while (name != codecName(kind) && kind < Codec::Kind::TopK)
    kind = Codec::Kind(int(kind) + 1);
  if (name != codecName(kind))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "%s: there is no compress=%.*s\nhelp: write `compress=dist.fp16()`, or another "
                 "function of `dist` that gives a `Compress`",
                 function, int(std::min<size_t>(name.size(), 40)), name.data());
  codec.kind = kind;
  if (kind == Codec::Kind::Bit2)
    codec.threshold = float(number);
  if (kind == Codec::Kind::TopK)
    codec.ratio = number;
  MXRT_CHECK(codec.check(alloc));
  Topology topology = layout.topology == Topology::Levels ? layout.outer : layout.topology;
  bool rounds = kind == Codec::Kind::Fp16 || kind == Codec::Kind::Bf16 || kind == Codec::Kind::None;
  if (topology != Topology::Direct && !rounds)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "%s: compress=%s needs over=direct: with %s each worker would compress a sum "
                 "that was compressed before\nhelp: write `over=dist.direct()`, or "
                 "`compress=dist.fp16()`",
                 function, codecName(kind), topologyName(topology));
  return success();
}

/// The store of a connection, and its handle as the result of the call. `join(connection,
/// transport)` gets the transport.
template <typename Join>
Status open(DataHost &host, Invocation &call, const Layout &layout, const Sending &sending,
            Instance *instance, Join join) {
  const mxrt_allocator *alloc = host.allocator();
  auto *connection = newObject<Connection>(alloc, alloc, instance);
  if (!connection)
    return outOfMemory(alloc);
  net::TransportBox transport;
  Status status = join(*connection, transport);
  if (status.ok()) {
    auto made = Store::connect(host.options.runtime, std::move(transport), layout, call.location,
                               sending.factors, sending.codec);
    if (made.ok())
      connection->store = made.take();
    status = made.takeStatus();
  }
  if (status.ok() && instance && !instance->add(*connection->store))
    status = outOfMemory(alloc);
  host::ForeignObject *object =
      status.ok() ? host::makeForeign(call.vm.heap(), &connectionType, connection) : nullptr;
  if (!object) {
    deleteConnection(connection);
    return status.failed() ? std::move(status) : call.vm.heap().exhausted();
  }
  call.result = Value(Kind::Handle, object);
  return success();
}

/// local(workers, over, outer, inner, compress, number)
Status local(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_allocator *alloc = host.allocator();
  int64_t workers = call.args[0].i;
  if (workers < 1 || workers > maxWorkers)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "dist.local: workers=%lld; it must be 1 to %lld",
                 static_cast<long long>(workers), static_cast<long long>(maxWorkers));
  Layout layout;
  MXRT_CHECK(layoutOf(alloc, call, "dist.local", 1, layout));
  Sending sending;
  MXRT_CHECK(sendingOf(alloc, call, "dist.local", 4, layout, sending));
  if (!host.options.instance && workers > 1)
    return error(alloc, MXRT_KVSTORE_MODE, noLocation,
                 "dist.local: %lld workers cannot run here: there is one instance of the program\n"
                 "help: run it as a program, `mxc run FILE`, or write `workers=1`",
                 static_cast<long long>(workers));
  Instance *instance = workers > 1 ? host.options.instance : nullptr;
  return open(host, call, layout, sending, instance,
              [&](Connection &connection, net::TransportBox &out) {
                if (!instance)
                  return joinAlone(connection, out);
                auto joined = instance->join(int(workers), call.location);
                if (joined.ok())
                  out = joined.take();
                return joined.takeStatus();
              });
}

/// Whether a rank that waits for the others of its job may go on with that.
Status checkJobWait(void *user) {
  const DataOptions &options = static_cast<DataHost *>(user)->options;
  if (mxrt_runtime_cancelled(options.runtime))
    return Status(mxrt_status_constant(MXRT_CANCELLED));
  uint64_t ended = options.instance ? options.instance->job().ended : 0;
  return ended ? error(mxrt_runtime_allocator(options.runtime), MXRT_KVSTORE, noLocation,
                       "rank %d is lost: its program ended before it connected",
                       std::countr_zero(ended))
               : success();
}

/// sync(over, outer, inner, compress, number)
Status sync(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_allocator *alloc = host.allocator();
  Instance *instance = host.options.instance;
  Layout layout;
  MXRT_CHECK(layoutOf(alloc, call, "dist.sync", 0, layout));
  Sending sending;
  MXRT_CHECK(sendingOf(alloc, call, "dist.sync", 3, layout, sending));
  if (instance && instance->isOneOfSeveral())
    return error(alloc, MXRT_KVSTORE_MODE, noLocation,
                 "dist.sync: this process is one rank, but runs several instances of the program\n"
                 "help: a program uses either `dist.sync` or `dist.local`");
  dist::Job job = MXRT_TRY(dist::jobOfProcess(alloc));
  return open(
      host, call, layout, sending, instance, [&](Connection &connection, net::TransportBox &out) {
        if (job.ranks == 1)
          return joinAlone(connection, out);
        dist::JobWait wait;
        // A launcher ends the job if a rank fails meanwhile.
        if (instance && instance->job().hasLauncher)
          wait.limitNs = 24 * 3600 * net::second;
        wait.check = checkJobWait;
        wait.user = &host;
        auto joined = dist::connectJob(alloc, job, host.jobConnections++, wait, connection.clock);
        if (joined.ok())
          out = joined.take();
        return joined.takeStatus();
      });
}

// -- values as keys -----------------------------------------------------------

bool isNumber(Kind kind) {
  return kind == Kind::Bool || kind == Kind::Int || kind == Kind::F32 || kind == Kind::F64;
}
mxrt_dtype typeOfNumber(Kind kind) {
  return kind == Kind::Bool  ? MXRT_BOOL
         : kind == Kind::Int ? MXRT_I64
         : kind == Kind::F32 ? MXRT_F32
                             : MXRT_F64;
}

/// The tensors and numbers of the values of a call, in order.
class Collector {
public:
  Collector(DataHost &host, Invocation &call, Action action)
      : host(host), call(call), action(action), alloc(host.allocator()), paths(alloc),
        names(alloc), starts(alloc), items(alloc), numbers(alloc), results(alloc) {}

  /// The values from argument `first` on: name, value, name, value, ...
  Status collect(size_t first) {
    if ((call.args.size() - first) % 2 != 0)
      return error(alloc, MXRT_HOST_TYPE, noLocation, "%.*s takes names and values",
                   int(call.name.size()), call.name.data());
    for (size_t i = first; i < call.args.size(); i += 2)
      if (call.args[i].kind != Kind::Str)
        return error(alloc, MXRT_HOST_TYPE, noLocation, "%.*s: a name is a text",
                     int(call.name.size()), call.name.data());
    for (size_t i = first; i < call.args.size(); i = nextForm) {
      MXRT_CHECK(paths.begin(call.args[i].str()->view()));
      nextForm = i + 2;
      MXRT_CHECK(paths.visit(call.args[i + 1], [&](const Value &leaf) {
        if (const Value *form = formHere())
          return addForm(*form);
        if (mxrt_tensor *tensor = tensorOf(leaf))
          return add({{}, tensor});
        return isNumber(leaf.kind) ? addNumber(leaf) : success();
      }));
      if (nextForm < call.args.size() && isForm(call.args[nextForm + 1]))
        return error(alloc, MXRT_HOST_TYPE, noLocation, "%.*s: `%.*s` is not a part of the value",
                     int(call.name.size()), call.name.data(),
                     int(call.args[nextForm].str()->view().size()),
                     call.args[nextForm].str()->text());
    }
    if (!starts.push(names.size()) || !results.resize(items.size()))
      return outOfMemory(alloc);
    for (size_t i = 0; i < items.size(); ++i)
      items[i].name = {names.data() + starts[i], starts[i + 1] - starts[i]};
    return success();
  }

  /// Issues the call.
  Status issue(Store &store, double weight) {
    return store.issue(action, weight, {items.data(), items.size()}, call.location,
                       {results.data(), results.size()});
  }

  /// The tuple of the results, with the structure of the values.
  Status give(size_t first) {
    host::Heap &heap = call.vm.heap();
    size_t count = 0, next = 0;
    for (size_t i = first; i < call.args.size(); i += 2)
      count += !isForm(call.args[i + 1]);
    host::AggregateObject *tuple = host::makeAggregate(heap, static_cast<uint32_t>(count), nullptr);
    if (!tuple)
      return heap.exhausted();
    Value made(Kind::Tuple, tuple);
    Status status;
    for (size_t i = first; i < call.args.size() && status.ok(); i = nextForm) {
      Value value;
      status = paths.begin(call.args[i].str()->view());
      nextForm = i + 2;
      if (status.failed())
        break;
      status = paths.rebuild(
          heap, call.args[i + 1],
          [&](const Value &old, Value &out) {
            const Value *form = formHere();
            if (form && isDone(*form)) {
              out = form->aggregate()->items()[0];
              host::retain(out);
              return success();
            }
            bool travelled = form || tensorOf(old) || isNumber(old.kind);
            return giveLeaf(old, travelled ? std::move(results[next++]) : TensorRef(), out);
          },
          value);
      if (status.ok())
        ::new (tuple->items() + tuple->count++) Value(value);
    }
    if (status.failed()) {
      host::release(heap, made);
      return status;
    }
    call.result = made;
    return success();
  }

private:
  static bool isForm(const Value &value) {
    return value.kind == Kind::Struct && value.aggregate()->type->name->view().starts_with("mx.");
  }
  /// What is exchanged in place of the leaf that the path names; null: the leaf.
  const Value *formHere() {
    if (nextForm >= call.args.size() || !isForm(call.args[nextForm + 1]) ||
        call.args[nextForm].str()->view() != paths.path())
      return nullptr;
    nextForm += 2;
    return &call.args[nextForm - 1];
  }
  static bool isRows(const Value &form) {
    return form.aggregate()->type->name->view() == "mx.rows";
  }
  static bool isDone(const Value &form) { return !isRows(form) && form.aggregate()->items()[1].i; }

  Status addForm(const Value &form) {
    std::span<Value> parts = form.aggregate()->view();
    if (isDone(form))
      return success();
    if (!isRows(form))
      return add({{}, tensorOf(parts[0])});
    bool isSparse = parts[4].i;
    Item item;
    item.form = kvstore::Form::Rows;
    item.tensor = tensorOf(parts[isSparse ? 1 : 2]);
    item.second = isSparse ? tensorOf(parts[0]) : nullptr;
    item.rows = parts[3].i;
    return add(item);
  }

  Status add(const Item &item) {
    bool room = starts.push(names.size()) && items.push(item);
    for (char each : paths.path())
      room = room && names.push(each);
    return room ? success() : outOfMemory(alloc);
  }

  Status addNumber(const Value &value) {
    mxrt_dtype dtype = typeOfNumber(value.kind);
    if (action != Action::Init)
      return error(alloc, MXRT_DTYPE, noLocation,
                   "%s: `%.*s` is a number of type %s; only tensors travel", actionName(action),
                   int(std::min<size_t>(paths.path().size(), 200)), paths.path().data(),
                   mxrt_dtype_name(dtype));
    mxrt_device device = {MXRT_CPU, 0};
    mxrt_tensor *made = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_create(host.options.runtime, &device, dtype, 0, nullptr,
                                         &call.location, &made)));
    TensorRef tensor(made);
    if (value.kind == Kind::Bool)
      *made->data() = value.i != 0;
    else
      std::memcpy(made->data(), &value.i, size_t(mxrt_dtype_size(dtype)));
    MXRT_CHECK(add({{}, made}));
    return numbers.push(std::move(tensor)) ? success() : outOfMemory(alloc);
  }

  Status giveLeaf(const Value &old, TensorRef result, Value &out) {
    if (tensorOf(old)) {
      out = eager::makeTensorValue(call.vm.heap(), result.get());
      if (!out.isSet())
        return call.vm.heap().exhausted();
      result.release();
    } else if (isNumber(old.kind)) {
      MXRT_CHECK(Status(mxrt_tensor_wait(host.options.runtime, result.get(), &call.location)));
      out = Value(old.kind, int64_t(0));
      if (old.kind == Kind::Bool)
        out.i = *result->data() != 0;
      else
        std::memcpy(&out.i, result->data(), size_t(mxrt_dtype_size(typeOfNumber(old.kind))));
    } else {
      out = old;
      host::retain(out);
    }
    return success();
  }

  DataHost &host;
  Invocation &call;
  const Action action;
  const mxrt_allocator *alloc;
  Leaves paths;
  size_t nextForm = 0; // the argument with its name
  Vec<char> names;    // of all items, one after the other
  Vec<size_t> starts; // of the name of each item, and the end
  Vec<Item> items;
  Vec<TensorRef> numbers; // host numbers as tensors
  Vec<TensorRef> results;
};

Status issueCall(void *context, Invocation &call, Action action, double weight, size_t first) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  Collector collector(hostOf(context), call, action);
  MXRT_CHECK(collector.collect(first));
  MXRT_CHECK(collector.issue(*store, weight));
  return collector.give(first);
}

Status init(void *context, Invocation &call) {
  return issueCall(context, call, Action::Init, 1, 1);
}
Status average(void *context, Invocation &call) {
  return issueCall(context, call, Action::Average, call.args[1].d, 2);
}
Status mean(void *context, Invocation &call) {
  return issueCall(context, call, Action::Mean, call.args[1].d, 2);
}
Status sum(void *context, Invocation &call) { return issueCall(context, call, Action::Sum, 1, 1); }
Status gather(void *context, Invocation &call) {
  return issueCall(context, call, Action::Gather, 1, 1);
}
Status scatter(void *context, Invocation &call) {
  return issueCall(context, call, Action::Scatter, 1, 1);
}

Status rank(void *context, Invocation &call) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  call.result = Value::integer(store->rank());
  return success();
}
/// size() and members(): membership is fixed.
Status size(void *context, Invocation &call) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  call.result = Value::integer(store->size());
  return success();
}
Status barrier(void *context, Invocation &call) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  return store->barrier(call.location);
}
Status closeStore(void *context, Invocation &call) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  store->close();
  return success();
}

Status stats(void *context, Invocation &call) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  dist::Totals totals = store->totals();
  host::AggregateObject *tuple = host::makeAggregate(call.vm.heap(), 6, nullptr);
  if (!tuple)
    return call.vm.heap().exhausted();
  for (uint64_t each : {totals.sentBytes, totals.receivedBytes, totals.sentMessages,
                        totals.receivedMessages, totals.calls})
    ::new (tuple->items() + tuple->count++) Value(Value::integer(static_cast<int64_t>(each)));
  ::new (tuple->items() + tuple->count++) Value(Value::f64(double(totals.waitNs) * 1e-9));
  call.result = Value(Kind::Tuple, tuple);
  return success();
}

/// table(kv, key): all keys if it is empty.
Status table(void *context, Invocation &call) {
  Store *store = nullptr;
  MXRT_CHECK(storeOf(context, call, store));
  Vec<char> text(hostOf(context).allocator());
  MXRT_CHECK(store->describe(call.args[1].str()->view(), text));
  host::StrObject *made = host::makeStr(call.vm.heap(), {text.data(), text.size()});
  if (!made)
    return call.vm.heap().exhausted();
  call.result = Value(Kind::Str, made);
  return success();
}

} // namespace

static constexpr ParamData layout[] = {{Kind::Int, false}, {Kind::Str, false}, {Kind::Str, false},
                                       {Kind::Int, false}, {Kind::Str, false}, {Kind::F64, false}};
static constexpr ParamData over[] = {{Kind::Str, false},
                                     {Kind::Str, false},
                                     {Kind::Int, false},
                                     {Kind::Str, false},
                                     {Kind::F64, false}};
static constexpr ParamData kv[] = {{Kind::Handle, false}};
static constexpr ParamData factorsKey[] = {{Kind::Handle, false}, {Kind::Int, false}};
static constexpr ParamData factorsKeyRank[] = {
    {Kind::Handle, false}, {Kind::Int, false}, {Kind::Int, false}};
static constexpr ParamData kvText[] = {{Kind::Handle, false}, {Kind::Str, false}};
static constexpr ParamData kvWeight[] = {{Kind::Handle, false}, {Kind::F64, false}};
static const NativeRow natives[] = {
    {"mx.dist.local", layout, false, Kind::Handle, local},
    {"mx.dist.sync", over, false, Kind::Handle, sync},
    {"mx.dist.rank", kv, false, Kind::Int, rank},
    {"mx.dist.size", kv, false, Kind::Int, size},
    {"mx.dist.members", kv, false, Kind::Int, size},
    {"mx.dist.init", kv, true, Kind::Tuple, init},
    {"mx.dist.average", kvWeight, true, Kind::Tuple, average},
    {"mx.dist.mean", kvWeight, true, Kind::Tuple, mean},
    {"mx.dist.sum", kv, true, Kind::Tuple, sum},
    {"mx.dist.gather", kv, true, Kind::Tuple, gather},
    {"mx.dist.scatter", kv, true, Kind::Tuple, scatter},
    {"mx.dist.factors", kvWeight, true, Kind::Handle, factors},
    {"mx.dist.factors_travel", factorsKey, false, Kind::Bool, factorsTravel},
    {"mx.dist.factor_rows", factorsKeyRank, false, Kind::Int, factorRows},
    {"mx.dist.factor_pair", factorsKeyRank, false, Kind::Tuple, factorPair},
    {"mx.dist.weights", kv, false, Kind::F64, factorWeights},
    {"mx.dist.barrier", kv, false, Kind::Unit, barrier},
    {"mx.dist.stats", kv, false, Kind::Tuple, stats},
    {"mx.dist.table", kvText, false, Kind::Str, table},
    {"mx.dist.close", kv, false, Kind::Unit, closeStore}};
const NativeGroup mxrt_natives_dist = {"mxrt_natives_dist", natives, std::size(natives)};

} // namespace mxrt::data
