// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared-memory transport between processes of one machine. Zero copy for memory
// from allocate(): a receiver reads it in place. Other memory is copied once,
// into the sender's segment.
//
// Segments are created exclusively, for this user only, and are unlinked as soon
// as all ranks have mapped them: a killed job leaves no files.
//
// Failure detection: a thread of each rank sends a heartbeat every `beatNs` and
// monitors the others. An exited process is reported within two beats, a stopped
// one after `lostAfterNs`. Its state is in shared memory, so all ranks agree, and
// a process that resumes finds out that it was declared lost.
//
// Fields of a peer's messages are validated against the segments. Payloads have
// no checksum: they are read from memory, not from a wire.
//
// Thread rule: as Transport. allocate() and release count as calls.

#ifndef MXRT_NET_SHM_H
#define MXRT_NET_SHM_H

#include "net/Clock.h"
#include "net/Endpoint.h"
#include "net/ShmLayout.h"

namespace mxrt::net {

struct ShmOptions {
  /// Same for all ranks of a job and for no other job: letters, digits, `-`, `_`.
  const char *job = "";
  int rank = 0, ranks = 1;
  size_t segmentBytes = size_t(1) << 30; // of a rank; pages are taken when they are needed
  int64_t beatNs = 100 * millisecond;
  int64_t lostAfterNs = 5 * second;
  int64_t connectNs = 60 * second;
  /// Called while connect() waits for other ranks; an error ends the wait.
  Status (*check)(void *user) = nullptr;
  void *checkUser = nullptr;
  Limits limits;
};

class Shm final : public Endpoint {
public:
  Shm(const mxrt_allocator *alloc, const ShmOptions &options, Clock &clock)
      : Endpoint(alloc, options.rank, options.ranks, options.limits), options(options),
        clock(clock), peers(alloc), records(alloc), blocks(alloc) {}
  /// An orderly exit: the other ranks see that this one left.
  ~Shm() override;
  /// Waits for all ranks. R0002 for options, R0006 for what the system refuses,
  /// R0701 with the ranks that did not come in time. The name of the job is not used later.
  Status connect();
  void wait(int64_t timeoutNs) override;
  void wake() override { ring(self); }

  /// Memory that peers read in place, aligned to 64 bytes; R0102 if the segment
  /// is full or the system has no pages.
  Result<void *> allocate(size_t bytes);
  void deallocate(void *memory);

private:
  struct ShmMessage : Message {
    const shm::Header *header = nullptr; // of the sender
    uint32_t number = 0;
    ShmMessage *next = nullptr; // of those that wait to be returned
  };
  /// Of a header of this rank.
  struct Record {
    shm::Header *header = nullptr;
    Op *op = nullptr; // nullptr: no operation waits for it
    void *staged = nullptr;
    int peer = -1;         // -1: free
    uint32_t nextFree = 0; // number + 1
  };
  struct Peer {
    char *segment = nullptr; // mapped for reading
    int process = -1;        // stands for the process
    uint32_t lastBeat = 0;   // of the heart's thread, as the next one
    int64_t silentNs = 0;
    ShmMessage *unreturned = nullptr; // the ring was full
    Op *waitingFirst = nullptr, *waitingLast = nullptr; // for the ring, a header, memory
  };
  /// Of the own segment, by offset.
  struct Block {
    size_t offset, bytes;
    bool used;
  };

  Status startSend(Op &op) override;
  bool cancelSend(Op &op, bool force) override;
  bool takeMessage(Message &message) override;
  bool dropMessage(Message &message, bool taken) override;
  void spreadEnd() override;
  bool poll() override;

  Status checkOptions() const;
  Status openControl(int64_t deadline);
  Status check() const { return options.check ? options.check(options.checkUser) : success(); }
  Status waitForAll(const std::atomic<uint32_t> &counter, int64_t deadline, const char *what);
  Status openSegments(int64_t deadline);
  Status systemError(const char *what, int number) const;
  void removeNames();
  Status freeHeader(uint32_t &number);
  Status post(Op &op, bool &isRingFull);
  void unqueue(Op &op);
  void giveBack(ShmMessage *message);
  bool takeReturns(int peer);
  bool takeAnnouncements(int peer);
  void finishSendsTo(int left);
  void postWaiting(Peer &peer);
  void ring(int peer);
  void ringAll();
  void lose(int peer, shm::Reason reason);
  void readStandings();
  void readStanding(int peer, uint32_t word);
  static void beat(void *self);
  void lookAfterOthers(int64_t elapsed);
  shm::Pair &pair(int from, int to) const {
    return pairs[size_t(from) * size_t(ranks) + size_t(to)];
  }
  shm::Rank &rankOf(int rank) const { return control->rank[rank]; }

  const ShmOptions options;
  Clock &clock;
  char controlName[96] = {}, segmentName[96] = {};
  bool madeControl = false, madeSegment = false;
  int segmentFile = -1;
  shm::Control *control = nullptr;
  shm::Pair *pairs = nullptr;
  char *segment = nullptr;
  Vec<Peer> peers;
  Vec<Record> records;    // of all headers, by number
  uint32_t firstFree = 0; // number + 1
  size_t inFlight = 0;    // headers in use
  Vec<Block> blocks;
  uint32_t ticket = 0;
  os::Thread heart;
  std::atomic<uint32_t> heartStops{0};
};

} // namespace mxrt::net

#endif // MXRT_NET_SHM_H
