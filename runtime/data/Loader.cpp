// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data loaders with prefetching. A plan says how batches are composed and is immutable. The state
// of a loader (stream, epoch, position) consists of numbers of the program. A cursor is one pass
// over the batches: it issues a few batches ahead of the consumer.

#include "data/Dataset.h"
#include "data/Numbers.h"
#include "eager/TensorValue.h"
#include "mxrt/random.h"

#include <algorithm>
#include <cstring>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

enum class Last { Keep, Drop, Pad };

struct Plan {
  explicit Plan(const mxrt_allocator *alloc)
      : alloc(alloc), name(alloc), bounds(alloc), counts(alloc) {}
  ~Plan() { release(set); }
  uint32_t refs = 1;
  const mxrt_allocator *alloc;
  Dataset *set = nullptr;
  Vec<char> name; // the spelling of the data set in the program
  int64_t batch = 1, prefetch = 0;
  Last last = Last::Keep;
  bool shuffled = false;

  /// Length buckets: sequences up to bounds[b] and longer than the previous bound form batches of
  /// their own; there are counts[b] of them. Empty: no buckets.
  Vec<int64_t> bounds, counts;

  int64_t batchesOf(int64_t items) const {
    return last == Last::Drop ? items / batch : items / batch + (items % batch != 0);
  }
  int64_t batches() const {
    if (bounds.empty())
      return batchesOf(set->length);
    int64_t sum = 0;
    for (int64_t count : counts)
      sum += batchesOf(count);
    return sum;
  }
  size_t bucketOf(int64_t number) const {
    const int64_t *found = std::lower_bound(bounds.begin(), bounds.end(), lengthOf(set, number));
    return static_cast<size_t>(found - bounds.begin());
  }
};

void releasePlan(void *payload) {
  auto *plan = static_cast<Plan *>(payload);
  if (--plan->refs == 0)
    deleteObject(plan->alloc, plan);
}
const host::ForeignType planType = {"loader", releasePlan};

Plan *planOf(const Value &value) { return static_cast<Plan *>(value.foreign()->payload); }

struct Cursor {
  Cursor(host::Heap &heap, const mxrt_allocator *alloc)
      : heap(heap), alloc(alloc), order(alloc), ready(alloc), numbers(alloc), positions(alloc),
        dealt(alloc), begins(alloc), buckets(alloc) {}
  ~Cursor() {
    for (size_t i = given; i < ready.size(); ++i)
      host::release(heap, ready[i]);
    if (plan)
      releasePlan(plan);
    release(items);
  }
  host::Heap &heap;
  const mxrt_allocator *alloc;
  Plan *plan = nullptr;
  Dataset *items = nullptr; // instead of a plan: one item per iteration
  Vec<int64_t> order;       // permutation of a shuffled epoch
  mxrt_rng itemStream = {}; // stream of the items' random samples
  int64_t epoch = 0;
  int64_t next = 0, end = 0; // range of batches to issue
  Vec<Value> ready;          // issued; those before `given` are consumed
  size_t given = 0;
  Vec<int64_t> numbers, positions;
  /// With buckets: the positions of the epoch batch by batch, the start of each batch and its
  /// bucket.
  Vec<int64_t> dealt, begins;
  Vec<size_t> buckets;
};

void deleteCursor(void *payload) {
  auto *cursor = static_cast<Cursor *>(payload);
  deleteObject(cursor->alloc, cursor);
}
const host::ForeignType cursorType = {"cursor", deleteCursor};

/// Reads the increasing bounds of buckets, and counts the items of each.
Status readBuckets(DataHost &host, Invocation &call, const Value &value, Plan &plan) {
  mxrt_tensor *tensor = eager::tensorOf(value);
  if (!tensor)
    return success();
  Vec<double> bounds(plan.alloc);
  MXRT_CHECK(readNumbers(host, tensor, call.location, bounds));
  if (bounds.empty())
    return error(plan.alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "loader: there is at least one bucket");
  for (size_t b = 0; b < bounds.size(); ++b) {
    auto bound = static_cast<int64_t>(bounds[b]);
    if (bound < (b == 0 ? 1 : plan.bounds[b - 1] + 1))
      return error(plan.alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "loader: buckets rise from 1 on, number %zu is %lld", b,
                   static_cast<long long>(bound));
    if (!plan.bounds.push(bound) || !plan.counts.push(0))
      return outOfMemory(plan.alloc);
  }
  int64_t largest = plan.bounds[bounds.size() - 1];
  for (int64_t i = 0; i < plan.set->length; ++i) {
    int64_t length = lengthOf(plan.set, i);
    if (length < 0)
      return error(plan.alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "loader: buckets are for data sets of sequences, without a function on top");
    if (length > largest)
      return error(plan.alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "loader: sequence %lld has length %lld, the largest bucket is %lld",
                   static_cast<long long>(i), static_cast<long long>(length),
                   static_cast<long long>(largest));
    ++plan.counts[plan.bucketOf(i)];
  }
  return success();
}

/// Assigns the positions of an epoch to batches of one bucket each, in the order in which they fill
/// up. The remainder of each bucket comes last.
Status deal(Cursor &cursor) {
  const Plan &plan = *cursor.plan;
  size_t buckets = plan.bounds.size();
  auto numberAt = [&](int64_t position) {
    return cursor.order.empty() ? position : cursor.order[static_cast<size_t>(position)];
  };
  // The positions of each bucket, and how many of them are assigned.
  Vec<int64_t> sorted(cursor.alloc), seen(cursor.alloc), first(cursor.alloc);
  if (!sorted.resize(static_cast<size_t>(plan.set->length)) || !seen.resize(buckets) ||
      !first.resize(buckets))
    return outOfMemory(cursor.alloc);
  for (size_t b = 1; b < buckets; ++b)
    first[b] = first[b - 1] + plan.counts[b - 1];
  auto emit = [&](size_t b, int64_t rows) {
    if (!cursor.begins.push(static_cast<int64_t>(cursor.dealt.size())) || !cursor.buckets.push(b))
      return false;
    int64_t begin = seen[b] - 1 - (seen[b] - 1) % plan.batch; // start of the batch in its bucket
    for (int64_t r = 0; r < rows; ++r)
      // Wraps around to the start of the bucket, to pad its last batch.
      if (!cursor.dealt.push(sorted[static_cast<size_t>(first[b] + (begin + r) % seen[b])]))
        return false;
    return true;
  };
  for (int64_t position = 0; position < plan.set->length; ++position) {
    size_t b = plan.bucketOf(numberAt(position));
    sorted[static_cast<size_t>(first[b] + seen[b]++)] = position;
    if (seen[b] % plan.batch == 0 && !emit(b, plan.batch))
      return outOfMemory(cursor.alloc);
  }
  for (size_t b = 0; b < buckets && plan.last != Last::Drop; ++b)
    if (int64_t rest = seen[b] % plan.batch;
        rest > 0 && !emit(b, plan.last == Last::Pad ? plan.batch : rest))
      return outOfMemory(cursor.alloc);
  return cursor.begins.push(static_cast<int64_t>(cursor.dealt.size())) ? success()
                                                                       : outOfMemory(cursor.alloc);
}

Status makePlan(void *context, Invocation &call) {
  const mxrt_allocator *alloc = hostOf(context).allocator();
  int64_t batch = call.args[2].i, prefetch = call.args[4].i;
  if (batch < 1)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "loader: a batch has at least one row, this is %lld",
                 static_cast<long long>(batch));
  if (prefetch < 0)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "loader: prefetch is not negative, this is %lld",
                 static_cast<long long>(prefetch));
  Plan *plan = newObject<Plan>(alloc, alloc);
  if (!plan)
    return outOfMemory(alloc);
  plan->set = datasetOf(call.args[0]);
  retain(plan->set);
  plan->batch = batch;
  plan->prefetch = prefetch;
  std::string_view last = call.args[3].str()->view(), name = call.args[1].str()->view();
  plan->last = last == "drop" ? Last::Drop : last == "pad" ? Last::Pad : Last::Keep;
  plan->shuffled = call.args[5].i != 0;
  host::ForeignObject *object =
      plan->name.resize(name.size()) ? host::makeForeign(call.vm.heap(), &planType, plan) : nullptr;
  if (!object) {
    releasePlan(plan);
    return call.vm.heap().exhausted();
  }
  std::memcpy(plan->name.data(), name.data(), name.size());
  call.result = Value(Kind::Handle, object);
  Status status = readBuckets(hostOf(context), call, call.args[6], *plan);
  if (!status.ok()) {
    host::release(call.vm.heap(), call.result);
    call.result = Value::unit();
  }
  return status;
}

Status batches(void *, Invocation &call) {
  call.result = Value::integer(planOf(call.args[0])->batches());
  return success();
}

Status giveCursor(Invocation &call, Cursor *cursor) {
  host::ForeignObject *object = host::makeForeign(call.vm.heap(), &cursorType, cursor);
  if (!object) {
    deleteCursor(cursor);
    return call.vm.heap().exhausted();
  }
  call.result = Value(Kind::Handle, object);
  return success();
}

/// begin(plan, seed, counter, epoch, position)
Status begin(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_allocator *alloc = host.allocator();
  Plan *plan = planOf(call.args[0]);
  int64_t epoch = call.args[3].i, position = call.args[4].i, total = plan->batches();
  if (epoch < 0 || position < 0 || (position >= total && position > 0))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "loader: position %lld of epoch %lld, but there are %lld batches; was it saved "
                 "with another data set?",
                 static_cast<long long>(position), static_cast<long long>(epoch),
                 static_cast<long long>(total));
  Cursor *cursor = newObject<Cursor>(alloc, call.vm.heap(), alloc);
  if (!cursor)
    return outOfMemory(alloc);
  ++plan->refs;
  cursor->plan = plan;
  cursor->next = position;
  cursor->end = total;
  cursor->epoch = epoch;
  Status status;
  mxrt_rng rng = {static_cast<uint64_t>(call.args[1].i), static_cast<uint64_t>(call.args[2].i)};
  mxrt_rng child;
  mxrt_rng_fork(&rng, "loader", 6, &child);
  mxrt_rng_fork(&rng, "items", 5, &cursor->itemStream);
  if (plan->shuffled) {
    // A permutation uses less than one Philox block per item, so epochs do not overlap.
    child.position = static_cast<uint64_t>(epoch) << 40;
    mxrt_device device = {MXRT_CPU, 0};
    mxrt_context now;
    if (!cursor->order.resize(static_cast<size_t>(plan->set->length)))
      status = outOfMemory(alloc);
    if (status.ok())
      status = Status(mxrt_runtime_context(host.options.runtime, &device, &call.location, &now));
    if (status.ok())
      status = Status(
          mxrt_random_permutation_i64(&now, &child, plan->set->length, cursor->order.data()));
  }
  if (status.ok() && !plan->bounds.empty())
    status = deal(*cursor);
  if (status.ok())
    return giveCursor(call, cursor);
  deleteCursor(cursor);
  return status;
}

/// walk(set): one item per iteration.
Status walk(void *context, Invocation &call) {
  const mxrt_allocator *alloc = hostOf(context).allocator();
  Cursor *cursor = newObject<Cursor>(alloc, call.vm.heap(), alloc);
  if (!cursor)
    return outOfMemory(alloc);
  cursor->items = datasetOf(call.args[0]);
  retain(cursor->items);
  cursor->end = cursor->items->length;
  return giveCursor(call, cursor);
}

/// Selects the items of the next batch. `whole`: it has the full batch size.
Status chooseNext(Cursor &cursor, bool &whole) {
  Plan *plan = cursor.plan;
  Dataset *set = plan ? plan->set : cursor.items;
  bool dealt = !cursor.begins.empty();
  int64_t rows = plan ? plan->batch : 1, first = cursor.next * rows;
  whole = first + rows <= set->length;
  if (dealt) {
    first = cursor.begins[static_cast<size_t>(cursor.next)];
    rows = cursor.begins[static_cast<size_t>(cursor.next) + 1] - first;
    whole = rows == plan->batch;
  } else if (!whole && plan->last != Last::Pad) {
    rows = set->length - first;
  }
  if (!cursor.numbers.resize(static_cast<size_t>(rows)) ||
      !cursor.positions.resize(static_cast<size_t>(rows)))
    return outOfMemory(cursor.alloc);
  for (int64_t r = 0; r < rows; ++r) {
    // Wraps around to the start of the epoch: those rows pad the last batch.
    int64_t at = dealt ? cursor.dealt[static_cast<size_t>(first + r)] : (first + r) % set->length;
    cursor.numbers[static_cast<size_t>(r)] =
        cursor.order.empty() ? at : cursor.order[static_cast<size_t>(at)];
    cursor.positions[static_cast<size_t>(r)] = first + r;
  }
  return success();
}

Status issueNext(DataHost &host, Invocation &call, Cursor &cursor) {
  Plan *plan = cursor.plan;
  Dataset *set = plan ? plan->set : cursor.items;
  bool whole = true;
  MXRT_CHECK(chooseNext(cursor, whole));
  Value batch;
  Vec<mxrt_tensor *> tensors(cursor.alloc);
  ItemRequest request;
  request.numbers = {cursor.numbers.data(), cursor.numbers.size()};
  request.positions = {cursor.positions.data(), cursor.positions.size()};
  request.single = !plan;
  request.stream = cursor.itemStream;
  request.epoch = cursor.epoch;
  if (!cursor.buckets.empty())
    request.length = plan->bounds[cursor.buckets[static_cast<size_t>(cursor.next)]];
  MXRT_CHECK(issueItems(host, call, set, request, batch, tensors));
  if (!cursor.ready.push(batch)) {
    host::release(cursor.heap, batch);
    return outOfMemory(cursor.alloc);
  }
  if (!whole && plan->last == Last::Keep)
    host.noteShortBatch({plan->name.data(), plan->name.size()},
                        static_cast<int64_t>(cursor.numbers.size()),
                        {tensors.data(), tensors.size()});
  ++cursor.next;
  return success();
}

Status next(void *context, Invocation &call) {
  auto &cursor = *static_cast<Cursor *>(call.args[0].foreign()->payload);
  size_t ahead = cursor.plan ? static_cast<size_t>(cursor.plan->prefetch) : 2;
  while (cursor.next < cursor.end && cursor.ready.size() - cursor.given <= ahead)
    MXRT_CHECK(issueNext(hostOf(context), call, cursor));
  if (cursor.given == cursor.ready.size())
    return error(cursor.alloc, MXRT_INTERNAL, noLocation, "loader: there are no more batches");
  call.result = cursor.ready[cursor.given++];
  // Consumed batches are erased in bulk, so the amortised cost is low.
  if (cursor.given > 64 || cursor.given == cursor.ready.size()) {
    size_t left = cursor.ready.size() - cursor.given;
    std::copy(cursor.ready.begin() + cursor.given, cursor.ready.end(), cursor.ready.begin());
    while (cursor.ready.size() > left)
      cursor.ready.pop();
    cursor.given = 0;
  }
  return success();
}

} // namespace

static constexpr ParamData plan[] = {{Kind::Handle, false}, {Kind::Str, false}, {Kind::Int, false},
                                     {Kind::Str, false},    {Kind::Int, false}, {Kind::Bool, false},
                                     {Kind::Any, false}};
static constexpr ParamData handle[] = {{Kind::Handle, false}};
static constexpr ParamData state[] = {{Kind::Handle, false},
                                      {Kind::Int, false},
                                      {Kind::Int, false},
                                      {Kind::Int, false},
                                      {Kind::Int, false}};
static const NativeRow natives[] = {{"mx.data.plan", plan, false, Kind::Handle, makePlan},
                                    {"mx.data.batches", handle, false, Kind::Int, batches},
                                    {"mx.data.begin", state, false, Kind::Handle, begin},
                                    {"mx.data.walk", handle, false, Kind::Handle, walk},
                                    {"mx.data.next", handle, false, Kind::Tuple, next},
                                    {"mx.data.next.only", handle, false, Kind::Tensor, next}};
const NativeGroup mxrt_natives_loaders = {"mxrt_natives_loaders", natives, std::size(natives)};

} // namespace mxrt::data
