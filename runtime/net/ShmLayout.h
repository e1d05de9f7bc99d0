// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout of the shared memory of a job: one control segment, and a data segment
// of each rank that the others map read-only.
//
// A message begins with a header in the sender's segment. The sender puts the
// header's offset into the ring of announcements of the pair; the receiver reads
// the bytes in place, and puts the header's number into the ring of
// returns. Receivers drain their rings at every poll, whether they wait for
// the messages or not, so that no order of keys can block. A ring has a single
// producer and a single consumer. Offsets and lengths that are read here are
// validated, in case a peer corrupted them.

#ifndef MXRT_NET_SHMLAYOUT_H
#define MXRT_NET_SHMLAYOUT_H

#include "net/Transport.h"

#include <atomic>

namespace mxrt::net::shm {

inline constexpr int maxRanks = 64;
inline constexpr uint32_t ringEntries = 256;
inline constexpr uint64_t magic = 0x31304D48534D584D; // "MXMSHM01"

/// In the data segment of the sender, its only writer.
struct alignas(64) Header {
  /// 0 when the sender took the message back: what was read of it is void.
  std::atomic<uint32_t> valid;
  uint32_t number; // among the sender's headers
  Tag tag;
  uint64_t offset, bytes; // in the same segment
  uint32_t checksum;      // of the fields above, without `valid`
};

template <typename T> struct Ring {
  alignas(64) std::atomic<uint32_t> head; // written by the reader
  alignas(64) std::atomic<uint32_t> tail; // written by the writer
  std::atomic<uint32_t> roomWanted;       // the writer waits for room
  alignas(64) T entries[ringEntries];

  /// False if it is full: the reader will ring the doorbell.
  bool push(T entry) {
    uint32_t at = tail.load(std::memory_order_relaxed);
    if (at - head.load(std::memory_order_acquire) >= ringEntries) {
      roomWanted.store(1);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (at - head.load() >= ringEntries)
        return false;
    }
    entries[at % ringEntries] = entry;
    tail.store(at + 1, std::memory_order_release);
    return true;
  }
  bool empty() const {
    return head.load(std::memory_order_relaxed) == tail.load(std::memory_order_acquire);
  }
  /// Only if not empty. Any number, if the writer corrupted it.
  T front() const { return entries[head.load(std::memory_order_relaxed) % ringEntries]; }
  void pop() { head.store(head.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  /// After entries were taken: whether the writer must be woken.
  bool madeRoom() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return roomWanted.load() && roomWanted.exchange(0);
  }
};

/// From one rank to another.
struct Pair {
  Ring<uint64_t> announced; // offsets of headers
  Ring<uint32_t> returned;  // numbers of headers, written by the receiver
};

/// The state of a rank in one word; for Lost with the reason and the rank that
/// noticed.
enum class Standing : uint32_t { Absent, Present, Left, GaveUp, Lost };
enum class Reason : uint32_t { Silent, Ended, Malformed };
inline uint32_t lostWord(Reason reason, int by) {
  return uint32_t(Standing::Lost) | uint32_t(reason) << 8 | uint32_t(by) << 16;
}
inline Standing standingOf(uint32_t word) { return Standing(word & 0xFF); }
inline Reason reasonOf(uint32_t word) { return Reason(word >> 8 & 0xFF); }
inline int noticedBy(uint32_t word) { return int(word >> 16); }

struct alignas(64) Rank {
  std::atomic<uint32_t> doorbell; // counts events that the rank should poll for
  std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> standing;
  std::atomic<uint32_t> heartbeat;
  std::atomic<int64_t> process;
};

struct Control {
  std::atomic<uint64_t> ready; // `magic` once the rest is there
  uint32_t ranks;
  uint64_t segmentBytes;
  std::atomic<uint32_t> attached, mapped;
  Rank rank[maxRanks];
  // Behind it: Pair[ranks * ranks], by sender and receiver.
};

inline size_t controlBytes(int ranks) {
  return sizeof(Control) + sizeof(Pair) * size_t(ranks) * size_t(ranks);
}

} // namespace mxrt::net::shm

#endif // MXRT_NET_SHMLAYOUT_H
