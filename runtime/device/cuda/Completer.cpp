// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device-to-host copies through staging buffers, and the wait until a GPU is idle.

#include "device/cuda/Completer.h"

#include <algorithm>
#include <cstring>

namespace mxrt::cuda {

/// Starts the thread at the first use. Under the lock.
Status Completer::start() {
  if (thread.started)
    return success();
  int errorNumber = 0;
  if (os::startThread(
          thread, [](void *self) { static_cast<Completer *>(self)->run(); }, this, name,
          &errorNumber))
    return success();
  return error(&context.alloc, MXRT_SYSTEM, noLocation,
               "cannot start a thread for %s (errno %d)", name, errorNumber);
}

void Completer::stop() {
  {
    Lock lock(mutex);
    closing = true;
    if (!thread.started)
      return;
  }
  changed.wakeAll();
  os::joinThread(thread);
}

Status Completer::copyOut(void *to, CUdeviceptr from, int64_t bytes, Ticket after, Completion done,
                          mxrt_location location) {
  auto *transfer = newObject<Transfer>(&context.alloc);
  if (!transfer)
    return outOfMemory(&context.alloc, location);
  transfer->to = static_cast<char *>(to);
  transfer->from = from;
  transfer->bytes = bytes;
  transfer->after = after;
  transfer->done = done;
  transfer->location = location;
  Lock lock(mutex);
  if (Status started = start(); started.failed()) {
    deleteObject(&context.alloc, transfer);
    return started;
  }
  (last ? last->next : first) = transfer;
  last = transfer;
  sendPieces();
  changed.wakeOne();
  return success();
}

Status Completer::whenIdle(Completion done) {
  Lock lock(mutex);
  if (Status started = start(); started.failed()) {
    isWatched.store(false, std::memory_order_seq_cst);
    return started;
  }
  watch = done;
  changed.wakeOne();
  return success();
}

/// Enqueues pieces while there are buffers for them. Under the lock.
void Completer::sendPieces() {
  Current current(context.driver, context.handle);
  for (Transfer *transfer = first; transfer; transfer = transfer->next)
    while (!pieces.full() && transfer->sent < transfer->bytes && transfer->failure.ok()) {
      CUresult result = sendPiece(*transfer);
      transfer->failure = failures.of(result, "a copy to the host", transfer->location);
    }
}

CUresult Completer::sendPiece(Transfer &transfer) {
  Stream &out = context.streams->out;
  Ring<Piece>::Slot *slot = nullptr;
  CUresult result = pieces.next(slot);
  if (result == CUDA_SUCCESS && transfer.sent == 0)
    result = out.follow(transfer.after);
  if (result != CUDA_SUCCESS)
    return result;
  int64_t bytes = std::min(transfer.bytes - transfer.sent, stagingBytes);
  result = context.driver.cuMemcpyDtoHAsync_v2(
      slot->data, transfer.from + static_cast<uint64_t>(transfer.sent), static_cast<size_t>(bytes),
      out.handle());
  if (result != CUDA_SUCCESS)
    return result;
  slot->note = {&transfer, transfer.sent, bytes, {}};
  result = out.record(slot->note.ticket);
  if (result != CUDA_SUCCESS)
    return result;
  pieces.take();
  transfer.sent += bytes;
  return result;
}

/// Waits for the oldest piece and takes it out of its buffer. Under the lock, which it gives up
/// meanwhile.
void Completer::receivePiece() {
  Ring<Piece>::Slot &slot = pieces.oldest();
  Piece piece = slot.note;
  mutex.unlock();
  CUresult result = piece.ticket.stream->wait(piece.ticket.number);
  if (result == CUDA_SUCCESS)
    memcpy(piece.transfer->to + piece.offset, slot.data, static_cast<size_t>(piece.bytes));
  Status status = failures.of(result, "a copy to the host", piece.transfer->location);
  mutex.lock();
  piece.transfer->received += piece.bytes;
  if (piece.transfer->failure.ok())
    piece.transfer->failure = std::move(status);
  pieces.drop();
  sendPieces();
}

/// Reports the first transfer. Under the lock, which it gives up meanwhile.
void Completer::finishFirst() {
  Transfer *transfer = first;
  first = transfer->next;
  if (!first)
    last = nullptr;
  mutex.unlock();
  transfer->done.run(transfer->done.user, std::move(transfer->failure));
  deleteObject(&context.alloc, transfer);
  mutex.lock();
}

bool Completer::isIdle() const {
  for (const Stream *stream : {&context.streams->compute, &context.streams->in,
                               &context.streams->out})
    if (!stream->isKnownDone(stream->recorded()))
      return false;
  return true;
}

/// Waits for one item of a stream, or reports that there is none. Under the lock, which it gives
/// up meanwhile.
void Completer::watchOnce() {
  for (Stream *stream : {&context.streams->compute, &context.streams->in, &context.streams->out}) {
    uint64_t known = stream->knownDone();
    if (failures.hasEnded() || known == stream->recorded())
      continue;
    mutex.unlock();
    CUresult result = stream->wait(known + 1);
    failures.end(result); // recorded; no function has returned it yet
    mutex.lock();
    return;
  }
  Completion done = watch;
  watch = {};
  // Work that is enqueued from here on asks for a watch of its own.
  isWatched.store(false, std::memory_order_seq_cst);
  if (!failures.hasEnded() && !isIdle() && !isWatched.exchange(true, std::memory_order_seq_cst)) {
    watch = done;
    return;
  }
  mutex.unlock();
  done.run(done.user, success());
  mutex.lock();
}

void Completer::run() {
  mutex.lock();
  for (;;) {
    if (first && (first->received == first->bytes ||
                  (first->failure.failed() && first->received == first->sent)))
      finishFirst();
    else if (!pieces.empty())
      receivePiece();
    else if (watch.run)
      watchOnce();
    else if (closing)
      break;
    else
      changed.wait(mutex);
  }
  mutex.unlock();
}

} // namespace mxrt::cuda
