// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collective calls: announcements, agreement, failures.

#include "kvstore/Exchange.h"

#include "net/Faults.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mxrt::kvstore {
namespace {

/// Tags of what is not a bucket.
constexpr uint32_t announcementKey = UINT32_MAX, descriptionKey = UINT32_MAX - 1;
constexpr size_t maxDescriptionBytes = size_t(64) << 20;
/// With a number for each key that is not dense: that of another model, maybe.
constexpr size_t maxAnnouncementBytes = size_t(64) << 20;

} // namespace

Call::~Call() {
  if (!owner)
    return;
  (previous ? previous->next : owner->first) = next;
  (next ? next->previous : owner->last) = previous;
}

Exchange::Exchange(net::Transport &transport) : transport(transport) { transport.watch(*this); }

Exchange::~Exchange() {
  transport.unwatch(*this);
  for (Call *call = first; call; call = call->next)
    call->owner = nullptr;
}

// -- announcements ------------------------------------------------------------

template <Exchange::Arrived arrived>
void Exchange::receive(Call::Peer &peer, uint32_t key, size_t maxBytes) {
  auto run = [](void *user, net::View view, Status status) {
    auto &peer = *static_cast<Call::Peer *>(user);
    Call &call = *peer.call;
    Exchange &self = *call.owner;
    peer.receiving = nullptr;
    --call.outstanding;
    if (status.failed()) {
      if (call.failure.ok())
        self.breakFrom(0, status);
    } else if (call.failure.failed()) {
      (void)self.transport.release(view);
    } else {
      (self.*arrived)(call, peer, view);
    }
  };
  Result<net::Op *> op =
      transport.receive(peer.rank, {0, peer.call->number, key, 0}, maxBytes, {run, &peer});
  if (op.failed())
    return fail(op.takeStatus());
  peer.receiving = *op;
  ++peer.call->outstanding;
}

void Exchange::send(Call::Peer &peer, int which, const void *data, size_t bytes) {
  auto run = [](void *user, Status status) {
    auto &sending = *static_cast<Call::Peer::Sending *>(user);
    Call &call = *sending.peer->call;
    sending.op = nullptr;
    --call.outstanding;
    if (status.failed() && call.failure.ok())
      call.owner->breakFrom(0, status);
  };
  Call::Peer::Sending &sending = peer.sends[which];
  sending.peer = &peer;
  uint32_t key = which == 0 ? announcementKey : descriptionKey;
  Result<net::Op *> op =
      transport.send(peer.rank, {0, peer.call->number, key, 0}, data, bytes, {run, &sending});
  if (op.failed())
    return fail(op.takeStatus());
  sending.op = *op;
  ++peer.call->outstanding;
}

void Exchange::begin(Call &call) {
  call.owner = this;
  call.number = nextNumber++;
  call.previous = last;
  (last ? last->next : first) = &call;
  last = &call;
  if (broken.failed())
    return failCall(call, broken);
  size_t ranks = size_t(transport.size());
  if (!call.peers.resize(ranks) || !call.flights.resize(call.table.buckets.size()) ||
      !call.prepareAnnouncement(transport.rank(), ranks))
    return fail(outOfMemory(transport.allocator()));
  for (Call::Flight &flight : call.flights)
    flight.call = &call;
  call.missing = int(ranks) - 1;
  for (size_t rank = 0; rank < ranks && call.failure.ok(); ++rank) {
    Call::Peer &peer = call.peers[rank];
    peer.call = &call;
    peer.rank = int(rank);
    peer.own = {call.table.hash, call.weight};
    if (peer.rank == transport.rank()) {
      peer.theirs = peer.own;
      continue;
    }
    receive<&Exchange::announced>(peer, announcementKey, maxAnnouncementBytes);
    if (call.failure.ok())
      send(peer, 0, call.announcement.data(), call.announcement.size());
  }
  if (call.failure.ok() && call.missing == 0)
    decide(call);
}

void Exchange::announced(Call &call, Call::Peer &peer, net::View view) {
  bool complete = view.bytes >= sizeof peer.theirs;
  if (complete)
    std::memcpy(&peer.theirs, view.data, sizeof peer.theirs);
  if (complete && peer.theirs.hash == peer.own.hash)
    complete = call.readCounts(peer.rank, view);
  if (!transport.release(view))
    return; // the loss of a rank is reported next
  if (!complete || !(std::isfinite(peer.theirs.weight) && peer.theirs.weight >= 0))
    return fail(error(transport.allocator(), MXRT_KVSTORE, noLocation,
                      "rank %d sent a malformed announcement", peer.rank));
  --call.missing;
  if (peer.theirs.hash != peer.own.hash) {
    if (call.description.empty())
      if (Status status = call.table.describe(call.description); status.failed())
        return fail(std::move(status));
    ++call.differing;
    receive<&Exchange::described>(peer, descriptionKey, maxDescriptionBytes);
    if (call.failure.ok())
      send(peer, 1, call.description.data(), call.description.size());
  }
  decide(call);
}

void Exchange::described(Call &call, Call::Peer &peer, net::View view) {
  Status found = call.table.difference(transport.rank(), peer.rank,
                                       {static_cast<const char *>(view.data), view.bytes});
  if (!transport.release(view))
    return;
  --call.differing;
  if (call.mismatch.ok() || peer.rank < call.mismatchRank) {
    call.mismatch = std::move(found);
    call.mismatchRank = peer.rank;
  }
  decide(call);
}

/// Decides a call once the announcements of all ranks are here and earlier calls are decided.
/// A mismatch is not reported before: by then every rank can find it by itself.
void Exchange::decide(Call &first) {
  for (Call *call = &first; call; call = call->next) {
    bool isNext = !call->previous || call->previous->isOver;
    if (!isNext || call->isOver || call->missing > 0 || call->differing > 0)
      return;
    if (call->mismatch.failed())
      return breakFrom(call->number, call->mismatch, true);
    Status status;
    if (isWeighted(call->table.action))
      status = sumWeights(*call);
    if (status.failed())
      failCall(*call, status);
    else
      agree(*call);
  }
}

Status Exchange::sumWeights(Call &call) {
  for (const Call::Peer &peer : call.peers)
    call.totalWeight += peer.theirs.weight;
  bool usable = std::isfinite(call.totalWeight) && call.totalWeight > 0;
  for (const Bucket &bucket : call.table.buckets)
    if (bucket.dtype == MXRT_F32)
      usable &= std::isfinite(float(call.totalWeight)) && float(call.totalWeight) > 0;
  if (usable)
    return success();
  return error(transport.allocator(), MXRT_KVSTORE_WEIGHT, noLocation,
               "the weights of all ranks add up to %g", call.totalWeight);
}

void Exchange::agree(Call &call) {
  call.isRunning = true;
  call.isOver = true;
  call.dropWeightless();
  for (Call::Flight &flight : call.flights)
    if (flight.state == Call::Flight::Waiting)
      start(flight);
  if (call.agreed.run)
    call.agreed.run(call.agreed.user, call.failure.share());
}

/// The ranks have the same calls in the same order, and a call waits for earlier ones alone.
bool Exchange::isNextFor(const Call &call, uint32_t bucket) const {
  if (call.table.plans[bucket].encoders == 0 || net::planted(net::Fault::OrderIgnored))
    return true;
  for (const Call *earlier = call.previous; earlier; earlier = earlier->previous)
    if (earlier->residuals.data() == call.residuals.data() && earlier->failure.ok() &&
        earlier->flights[bucket].state != Call::Flight::Over)
      return false;
  return true;
}

// -- buckets ------------------------------------------------------------------

void Exchange::push(Call &call, uint32_t bucket, void *memory, ExchangeDone done,
                    const OwnRows &own) {
  if (call.failure.failed())
    return done.run(done.user, call.failure.share());
  Call::Flight &flight = call.flights[bucket];
  flight.memory = memory;
  flight.own = own;
  flight.done = done;
  flight.state = Call::Flight::Waiting;
  ++call.outstanding;
  if (call.isRunning)
    start(flight);
}

void Exchange::start(Call::Flight &flight) {
  Call &call = *flight.call;
  auto number = uint32_t(&flight - call.flights.data());
  if (!isNextFor(call, number))
    return;
  const Key &key = call.table.keys[call.table.buckets[number].first];
  if (Form form = call.travels(number); form != Form::Dense) {
    if (Status status = startParts(flight, form); status.failed())
      fail(std::move(status));
    return;
  }
  if (key.form == Form::Rows && flight.own.count != allElements)
    addRows(call.table.tableOf(key), flight.own, flight.memory);
  Reduction reduction;
  reduction.tag = {0, call.number, number, 0};
  reduction.dtype = call.table.buckets[number].dtype;
  reduction.data = flight.memory;
  reduction.mean = isWeighted(call.table.action);
  reduction.weight = call.weight;
  reduction.totalWeight = call.totalWeight;
  if (!call.residuals.empty()) {
    reduction.encoding = call.table.encodingOf(call.table.buckets[number]);
    reduction.residual = &call.residuals[number];
  }
  run(flight, call.table.plans[number], reduction);
}

/// Starts the collective of a flight.
void Exchange::run(Call::Flight &flight, const Plan &plan, const Reduction &reduction) {
  flight.state = Call::Flight::Running;
  auto over = [](void *user) {
    auto &flight = *static_cast<Call::Flight *>(user);
    Status outcome = flight.collective->outcome();
    Call &call = *flight.call;
    if (outcome.code() == MXRT_NAN_FOUND)
      outcome = call.owner->unsendable(flight);
    if (!call.residuals.empty() && (outcome.ok() || net::planted(net::Fault::FailureCommits)))
      call.residuals[size_t(&flight - call.flights.data())].commit();
    if (outcome.failed())
      call.owner->breakFrom(0, outcome);
    else if (flight.parts)
      outcome = call.owner->finishRows(flight);
    flight.call->owner->end(flight, std::move(outcome));
  };
  Result<Box<Collective>> made =
      makeBox<Collective>(transport.allocator(), transport, plan, reduction,
                          CollectiveDone{over, &flight});
  if (made.failed()) {
    flight.state = Call::Flight::Waiting;
    return fail(made.takeStatus());
  }
  flight.collective = made.take();
  if (Status status = flight.collective->start(); status.failed()) {
    flight.state = Call::Flight::Waiting; // it never began
    fail(std::move(status));
  }
}

/// The error of a value that the codec cannot send, with its key.
Status Exchange::unsendable(const Call::Flight &flight) const {
  const KeyTable &table = flight.call->table;
  auto number = size_t(&flight - flight.call->flights.data());
  const Bucket &bucket = table.buckets[number];
  size_t element = flight.collective->unsendableElement();
  uint32_t at = bucket.first;
  while (at + 1 < bucket.first + bucket.count && table.keys[at + 1].offset <= element)
    ++at;
  const Key &key = table.keys[at];
  return error(transport.allocator(), MXRT_NAN_FOUND, noLocation,
               "average: element %zu of `%.*s` is not finite, and compress=%s cannot send it",
               element - key.offset, int(std::min<size_t>(key.nameBytes, 200)),
               table.nameOf(key).data(), codecName(table.codec.kind));
}

void Exchange::end(Call::Flight &flight, Status status) {
  Call &call = *flight.call;
  auto number = uint32_t(&flight - call.flights.data());
  flight.state = Call::Flight::Over;
  --call.outstanding;
  flight.done.run(flight.done.user, std::move(status));
  if (call.residuals.empty())
    return;
  for (Call *later = call.next; later; later = later->next)
    if (later->residuals.data() == call.residuals.data() && later->isRunning &&
        later->flights[number].state == Call::Flight::Waiting)
      return start(later->flights[number]);
}

// -- failures -----------------------------------------------------------------

/// Announcements continue in both directions: each rank finds the cause by itself, and may
/// leave once the others have read its messages. Buckets in flight end by themselves.
void Exchange::failCall(Call &call, const Status &why) {
  if (call.failure.failed())
    return;
  call.failure = why.share();
  for (Call::Flight &flight : call.flights)
    if (flight.state == Call::Flight::Waiting)
      end(flight, why.share());
  if (!call.isOver) {
    call.isOver = true;
    if (call.agreed.run)
      call.agreed.run(call.agreed.user, why.share());
  }
}

/// Earlier calls continue: all ranks have agreed on them, or will find their failure.
/// `everywhere`: all ranks find this failure, so announcements of later calls are obsolete.
void Exchange::breakFrom(uint32_t number, const Status &why, bool everywhere) {
  Status cause = why.share(); // `why` may belong to a call
  if (broken.ok())
    broken = cause.share();
  for (Call *call = first; call; call = call->next) {
    if (call->number < number)
      continue;
    failCall(*call, cause);
    if (everywhere && call->number > number)
      cancelSends(*call);
  }
}

void Exchange::cancelSends(Call &call) {
  for (Call::Peer &peer : call.peers)
    for (Call::Peer::Sending &sending : peer.sends)
      if (sending.op)
        transport.cancel(sending.op);
}

/// Free of deadlock: among the remaining ranks, all messages of the one with the fewest
/// calls are read by the others.
void Exchange::abandon() {
  for (Call *call = first; call; call = call->next)
    for (Call::Peer &peer : call->peers)
      for (Call::Peer::Sending &sending : peer.sends)
        if (call->failure.failed() && sending.op)
          return;
  for (Call *call = first; call; call = call->next)
    for (Call::Peer &peer : call->peers)
      if (call->failure.failed() && peer.receiving)
        transport.cancel(peer.receiving);
}

void Exchange::fail(Status why) {
  if (transport.size() > 1)
    transport.giveUp(why.share());
  breakFrom(0, why);
}

void Exchange::peerLost(int, const Status &why) { breakFrom(0, why); }

} // namespace mxrt::kvstore
