// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread of a store, which drives its transport, and the functions of bucket ops.

#include "abi/Runtime.h"
#include "dist/StoreParts.h"
#include "engine/LaneNames.h"
#include "profile/Profile.h"

namespace mxrt::dist {

/// Polling interval for cancellation while waiting for other ranks.
static constexpr int64_t cancelCheckNs = 20'000'000;

/// On a worker of the communication lane.
mxrt_status Store::runBucket(mxrt_op_context *context, void *payload) {
  auto &op = *static_cast<BucketOp *>(payload);
  Store &store = op.store;
  if (mxrt_status failed = mxrt_op_input_error(context))
    op.inputError = Status(mxrt_status_retain(failed));
  else if (mxrt_op_cancelled(context))
    op.inputError = Status(mxrt_status_constant(MXRT_CANCELLED));
  else
    op.inputError = op.pack();
  op.readyNs = os::monotonicNs();
  op.token = mxrt_op_defer(context);
  store.post(op); // it may be freed when this returns
  return nullptr;
}

void Store::run() {
  for (bool isBroken = false;;) {
    bool any = transport->progress();
    any |= readLetters();
    if (active && exchange.failure().ok() && runtime->cancelled.load(std::memory_order_relaxed))
      exchange.fail(Status(mxrt_status_constant(MXRT_CANCELLED)));
    if (!isBroken && exchange.failure().failed()) {
      isBroken = true;
      Lock lock(mutex);
      broken = exchange.failure();
    }
    reap();
    if (any)
      continue;
    countTraffic();
    bool isClosing = false, isGivingUp = false;
    {
      Lock lock(mutex);
      if (firstLetter)
        continue;
      isClosing = stopping;
      isGivingUp = givesUp;
    }
    if (isGivingUp && exchange.failure().ok()) {
      exchange.fail(Status(mxrt_status_constant(MXRT_CANCELLED)));
      continue;
    }
    if (isClosing && !active)
      return;
    if (isClosing && exchange.failure().failed())
      exchange.abandon();
    transport->wait(active ? cancelCheckNs : -1);
  }
}

bool Store::readLetters() {
  Letter *letter;
  {
    Lock lock(mutex);
    letter = std::exchange(firstLetter, nullptr);
    lastLetter = nullptr;
  }
  bool any = letter;
  while (letter) {
    Letter *next = letter->next;
    if (letter->kind == Letter::Begin) {
      auto &call = static_cast<ActiveCall &>(*letter);
      call.after = active;
      active = &call;
      exchange.begin(call.call);
    } else {
      auto &op = static_cast<BucketOp &>(*letter);
      auto done = [](void *user, Status status) {
        auto &op = *static_cast<BucketOp *>(user);
        op.store.finish(op, std::move(status));
      };
      if (op.inputError.failed()) {
        exchange.fail(op.inputError.share());
        finish(op, op.inputError.share());
      } else {
        exchange.push(op.active.call, op.bucket, op.memory, {done, &op}, op.own);
      }
    }
    letter = next;
  }
  return any;
}

/// The end of a bucket. Frees the op.
void Store::finish(BucketOp &op, Status status) {
  ActiveCall &call = op.active;
  const kvstore::KeyTable &keys = op.keys();
  const kvstore::Bucket &bucket = keys.buckets[op.bucket];
  if (status.ok() && op.scratch.buffer)
    unpackBucket(keys, op.bucket, rank(), op.memory, {op.outputs.data(), op.outputs.size()});
  int64_t now = os::monotonicNs();
  uint64_t sent = status.ok() ? call.call.sentBytes(op.bucket) : 0;
  kvstore::Form form = status.ok() ? call.call.travels(op.bucket) : kvstore::Form::Dense;
  countTraffic(); // a program that has waited for the result sees its bytes
  if (op.token) {
    Lock lock(mutex);
    figures.waitNs += now - op.readyNs;
    for (uint32_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
      Table::Row &row = call.table.rows[i];
      ++row.steps;
      row.waitNs += now - op.readyNs;
      row.form = form;
      row.sentBytes += form == kvstore::Form::Dense ? keys.keys[i].sentBytes : sent;
    }
  }
  if (op.token && profile->enabled())
    profile->record(profile::Category::Copy, op.nameOf(form).text, op.location,
                    int32_t(engine::communicationLane), op.readyNs, now,
                    static_cast<int64_t>(op.bytesOf(form)));
  if (op.token)
    mxrt_op_complete(op.token, status.release());
  deleteObject(alloc, &op);
  --call.bucketsLeft;
}

void Store::reap() {
  for (ActiveCall **at = &active; ActiveCall *call = *at;) {
    if (call->bucketsLeft > 0 || !call->call.finished()) {
      at = &call->after;
      continue;
    }
    *at = call->after;
    bool isCounted = call->table.keys.action != kvstore::Action::Connect;
    deleteObject(alloc, call);
    if (!isCounted)
      continue;
    Lock lock(mutex);
    --openCalls;
    callEnded.wakeAll();
  }
}

void Store::countTraffic() {
  const net::Counters &counters = transport->counters();
  Lock lock(mutex);
  figures.sentBytes = counters.sentBytes;
  figures.receivedBytes = counters.receivedBytes;
  figures.sentMessages = counters.sentMessages;
  figures.receivedMessages = counters.receivedMessages;
}

} // namespace mxrt::dist
