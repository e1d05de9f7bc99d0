// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives: executes the steps of a plan as messages arrive. CollectiveEncoding.cpp has those
// with encodings.

#include "kvstore/Collective.h"

#include "kvstore/Fold.h"
#include "net/Faults.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mxrt::kvstore {
namespace {

/// The chunk of messages with a weight; pieces stay far below it.
constexpr uint32_t weightChunk = UINT32_MAX;

} // namespace

Collective::~Collective() {
  if (!started || over)
    return;
  transport.unwatch(*this);
  for (State &state : states)
    if (state.view.owner)
      (void)transport.release(state.view);
}

Status Collective::start() {
  const mxrt_allocator *alloc = transport.allocator();
  bool moves = exchange.dtype == MXRT_U8 && !adds(plan.pattern) && !exchange.mean;
  size_t bytes = exchange.dtype == MXRT_F32 ? 4 : exchange.dtype == MXRT_F64 ? 8 : moves;
  if (!bytes)
    return error(alloc, MXRT_DTYPE, noLocation, "sums are of f32 or f64, not of %s",
                 mxrt_dtype_name(exchange.dtype));
  if (started || plan.elementBytes != bytes || plan.rank != transport.rank() ||
      plan.ranks != transport.size())
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "the plan is for another exchange");
  if (exchange.mean && !(std::isfinite(exchange.weight) && exchange.weight >= 0))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "a weight must be finite and not negative, not %g", exchange.weight);
  bool weighted = exchange.mean && plan.count > 0 && exchange.totalWeight == 0;
  size_t ranks = size_t(plan.ranks), steps = plan.steps.size();
  uint32_t inputs = 1;
  for (const Step &step : plan.steps)
    inputs = std::max(inputs, step.inputs + 1);
  if (!states.resize(steps + (weighted ? 2 * ranks : 0)) || !ready.reserve(steps) ||
      !arrays.resize(inputs) || (weighted && !weights.resize(ranks)))
    return outOfMemory(alloc);
  bool encodes = plan.encoders > 0;
  if (encodes)
    MXRT_CHECK(makeRoomToEncode());

  started = true;
  stepsLeft = steps;
  weightsLeft = weighted ? plan.ranks : 0;
  totalWeight = exchange.totalWeight;
  transport.watch(*this);
  for (State &state : states)
    state.owner = this;
  for (size_t i = 0; i < steps; ++i)
    states[i].waits = plan.steps[i].waits + (weighted && plan.steps[i].final);
  for (int peer = 0; peer < plan.ranks && !net::planted(net::Fault::LossIgnored); ++peer)
    if (peer != plan.rank && transport.isLost(peer) && !transport.hasLeft(peer) && failure.ok())
      fail(transport.lossOf(peer));
  if (exchange.mean && failure.ok()) {
    if (bytes == 4)
      scaleBy(static_cast<float *>(exchange.data),
              float(encodes ? exchange.weight / totalWeight : exchange.weight), plan.count);
    else
      scaleBy(static_cast<double *>(exchange.data), exchange.weight, plan.count);
  }
  for (uint32_t i = 0; i < steps && failure.ok(); ++i) {
    if (plan.steps[i].kind == Step::Kind::Receive)
      post(i);
    else if (states[i].waits == 0)
      (void)ready.push(i); // reserved
  }
  if (weighted && failure.ok())
    exchangeWeights();
  drain();
  return success();
}

// -- steps --------------------------------------------------------------------

void Collective::post(uint32_t index) {
  const Step &step = plan.steps[index];
  net::Tag tag = exchange.tag;
  tag.chunk = step.chunk;
  Result<net::Op *> op = transport.receive(step.peer, tag, step.bytes, {received, &states[index]});
  if (op.failed())
    return fail(op.takeStatus());
  states[index].op = *op;
  ++outstanding;
}

void Collective::run(uint32_t index) {
  const Step &step = plan.steps[index];
  if (step.kind == Step::Kind::Encode) {
    if (encodeStep(step))
      finishStep(index);
    return;
  }
  if (step.kind == Step::Kind::Fold) {
    bool done = step.coding != Coding::Plain ? foldEncoded(step)
                : plan.elementBytes == 4     ? fold<float>(step)
                : plan.elementBytes == 8     ? fold<double>(step)
                                             : fold<uint8_t>(step);
    if (done)
      finishStep(index);
    return;
  }
  net::Tag tag = exchange.tag;
  tag.chunk = step.chunk;
  const char *data = step.coding == Coding::Plain ? static_cast<const char *>(exchange.data) +
                                                        step.range.begin * plan.elementBytes
                                                  : encoded.data() + step.encoded;
  Result<net::Op *> op = transport.send(step.peer, tag, data, step.bytes, {sent, &states[index]});
  if (op.failed())
    return fail(op.takeStatus());
  states[index].op = *op;
  ++outstanding;
}

/// False if a sender retracted its message while it was read. It does so when it
/// knows of a lost rank, which will be reported here too: the step waits for that.
template <typename T> bool Collective::fold(const Step &step) {
  T *out = static_cast<T *>(exchange.data) + step.range.begin;
  const uint32_t *inputs = plan.inputs.data() + step.firstInput;
  auto **from = reinterpret_cast<const T **>(arrays.data());
  size_t count = step.inputs;
  for (size_t i = 0; i < count; ++i)
    from[i] = inputs[i] == Plan::own ? out : static_cast<const T *>(states[inputs[i]].view.data);
  if (net::planted(net::Fault::FoldInArrivalOrder))
    for (size_t i = 1; i < count; ++i)
      for (size_t k = i; k > 0 && inputs[k] != Plan::own && inputs[k - 1] != Plan::own &&
                         states[inputs[k]].arrival < states[inputs[k - 1]].arrival;
           --k)
        std::swap(from[k], from[k - 1]);
  if (net::planted(net::Fault::OwnAddedTwice) && count == 2)
    from[count++] = out;
  foldInto(out, from, count, step.range.count);
  bool intact = true;
  for (size_t i = 0; i < step.inputs; ++i)
    if (inputs[i] != Plan::own)
      intact &= transport.release(std::exchange(states[inputs[i]].view, {}));
  if (!intact)
    return false;
  if constexpr (std::is_floating_point_v<T>)
    if (step.final && exchange.mean && plan.encoders == 0)
      divideBy(out, T(totalWeight), step.range.count);
  return true;
}

void Collective::finishStep(uint32_t index) {
  const Step &step = plan.steps[index];
  --stepsLeft;
  for (uint32_t i = 0; i < step.nexts; ++i) {
    uint32_t next = plan.nexts[step.firstNext + i];
    if (--states[next].waits == 0)
      (void)ready.push(next); // reserved
  }
}

/// Runs all ready steps. Not re-entrant: steps are finished inside of it.
void Collective::drain() {
  if (draining || over)
    return;
  draining = true;
  while (!ready.empty() && failure.ok()) {
    uint32_t index = ready.back();
    ready.pop();
    run(index);
  }
  draining = false;
  if (outstanding == 0 && (failure.failed() || (stepsLeft == 0 && weightsLeft == 0)))
    end();
}

void Collective::sent(void *user, Status status) {
  auto &state = *static_cast<State *>(user);
  Collective &self = *state.owner;
  state.op = nullptr;
  --self.outstanding;
  size_t index = size_t(&state - self.states.data());
  if (status.failed())
    self.fail(std::move(status));
  else if (index < self.plan.steps.size() && self.failure.ok())
    self.finishStep(uint32_t(index));
  self.drain();
}

void Collective::received(void *user, net::View view, Status status) {
  auto &state = *static_cast<State *>(user);
  Collective &self = *state.owner;
  state.op = nullptr;
  --self.outstanding;
  size_t index = size_t(&state - self.states.data()), steps = self.plan.steps.size();
  if (status.failed()) {
    self.fail(std::move(status));
  } else if (self.failure.failed()) {
    (void)self.transport.release(view);
  } else if (index >= steps) {
    self.weightArrived(int(index - steps) - self.plan.ranks, view);
  } else {
    const Step &step = self.plan.steps[index];
    size_t wanted = step.bytes;
    if (view.bytes != wanted) {
      (void)self.transport.release(view);
      self.fail(error(self.transport.allocator(), MXRT_KVSTORE, noLocation,
                      "rank %d sent %zu bytes for key %u, chunk %u; %zu were expected", step.peer,
                      view.bytes, self.exchange.tag.key, step.chunk, wanted));
    } else {
      state.view = view;
      state.arrival = ++self.arrivals;
      self.finishStep(uint32_t(index));
    }
  }
  self.drain();
}

// -- weights ------------------------------------------------------------------

void Collective::exchangeWeights() {
  net::Tag tag = exchange.tag;
  tag.chunk = weightChunk;
  size_t steps = plan.steps.size(), ranks = size_t(plan.ranks);
  for (int peer = 0; peer < plan.ranks && failure.ok(); ++peer) {
    if (peer == plan.rank)
      continue;
    State &send = states[steps + size_t(peer)], &receive = states[steps + ranks + size_t(peer)];
    Result<net::Op *> sending =
        transport.send(peer, tag, &exchange.weight, sizeof(double), {sent, &send});
    if (sending.failed())
      return fail(sending.takeStatus());
    send.op = *sending;
    ++outstanding;
    Result<net::Op *> receiving =
        transport.receive(peer, tag, sizeof(double), {received, &receive});
    if (receiving.failed())
      return fail(receiving.takeStatus());
    receive.op = *receiving;
    ++outstanding;
  }
  weightArrived(plan.rank, {&exchange.weight, sizeof(double), nullptr});
}

void Collective::weightArrived(int peer, net::View view) {
  const mxrt_allocator *alloc = transport.allocator();
  double weight = -1;
  if (view.bytes == sizeof weight)
    std::memcpy(&weight, view.data, sizeof weight);
  if (!transport.release(view))
    return; // as with a fold
  if (!(std::isfinite(weight) && weight >= 0))
    return fail(error(alloc, MXRT_KVSTORE, noLocation, "rank %d sent an invalid weight", peer));
  weights[size_t(peer)] = weight;
  if (--weightsLeft > 0)
    return;
  for (double each : weights) // totalWeight was 0
    totalWeight += each;
  if (net::planted(net::Fault::LocalWeightOnly))
    totalWeight = exchange.weight * plan.ranks;
  bool usable = std::isfinite(totalWeight) && totalWeight > 0;
  if (plan.elementBytes == 4)
    usable &= std::isfinite(float(totalWeight)) && float(totalWeight) > 0;
  if (!usable)
    return fail(
        error(alloc, MXRT_KVSTORE_WEIGHT, noLocation, "the weights of all ranks add up to %g", totalWeight),
        true);
  for (uint32_t i = 0; i < plan.steps.size(); ++i)
    if (plan.steps[i].final && --states[i].waits == 0)
      (void)ready.push(i); // reserved
}

// -- completion ---------------------------------------------------------------

void Collective::peerLost(int, const Status &why) {
  if (net::planted(net::Fault::LossIgnored))
    return;
  if (!over)
    fail(why.share());
  drain();
}

void Collective::fail(Status why, bool everywhere) {
  if (failure.failed())
    return;
  // Other ranks wait for this one. The transport reports lost ranks to them, but
  // not an error that only this rank has, or a rank that left too early.
  bool known = everywhere;
  for (int peer = 0; peer < plan.ranks && !known; ++peer)
    known = peer != plan.rank && transport.isLost(peer) && !transport.hasLeft(peer);
  failure = std::move(why);
  if (!known && plan.ranks > 1)
    transport.giveUp(failure.share());
  ready.clear();
  for (State &state : states) {
    // The other ranks find the error by the weights: these are still sent.
    bool weightSend = &state >= states.data() + plan.steps.size();
    if (state.op && !(everywhere && weightSend))
      transport.cancel(state.op);
    if (state.view.owner)
      (void)transport.release(std::exchange(state.view, {}));
  }
}

void Collective::end() {
  over = true;
  transport.unwatch(*this);
  if (done.run)
    done.run(done.user);
}

Status waitFor(net::Transport &transport, Collective &collective) {
  while (!collective.finished())
    if (!transport.progress() && !collective.finished())
      transport.wait(-1);
  return collective.outcome();
}

} // namespace mxrt::kvstore
