// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Completion thread of one GPU: finishes device-to-host copies, and reports when the GPU is idle.
// Copies go through a ring of pinned staging buffers, in the order of their start; large ones in
// pieces, several of which are in flight.

#ifndef MXRT_DEVICE_CUDA_COMPLETER_H
#define MXRT_DEVICE_CUDA_COMPLETER_H

#include "device/Device.h"
#include "device/cuda/Failures.h"
#include "device/cuda/Staging.h"

namespace mxrt::cuda {

class Completer {
public:
  Completer(Context &context, Failures &failures, const char *name)
      : context(context), failures(failures), name(name), pieces(context) {}
  Completer(const Completer &) = delete;
  Completer &operator=(const Completer &) = delete;
  /// Nothing may be in flight.
  ~Completer() { stop(); }

  /// Copies to the host after the ticket.
  Status copyOut(void *to, CUdeviceptr from, int64_t bytes, Ticket after, Completion done,
                 mxrt_location location);
  bool needsWatch() { return !isWatched.exchange(true, std::memory_order_seq_cst); }
  Status whenIdle(Completion done);
  void stop();

private:
  /// One copy to the host.
  struct Transfer {
    char *to = nullptr;
    CUdeviceptr from = 0;
    int64_t bytes = 0;
    Ticket after;
    Completion done = {};
    mxrt_location location = {};
    int64_t sent = 0, received = 0;
    Status failure;
    Transfer *next = nullptr;
  };
  struct Piece {
    Transfer *transfer;
    int64_t offset, bytes;
    Ticket ticket;
  };

  Status start();
  void run();
  void sendPieces();
  CUresult sendPiece(Transfer &transfer);
  void receivePiece();
  void finishFirst();
  void watchOnce();
  bool isIdle() const;

  Context &context;
  Failures &failures;
  const char *name;
  Mutex mutex; // guards everything below, unless stated otherwise
  Condition changed;
  os::Thread thread;
  bool closing = false;
  Transfer *first = nullptr, *last = nullptr;
  Ring<Piece> pieces;
  Completion watch = {};
  std::atomic<bool> isWatched{false}; // without the mutex
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_COMPLETER_H
