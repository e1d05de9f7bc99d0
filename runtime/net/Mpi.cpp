// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread that calls MPI, and the queues between it and the links.

#include "net/Mpi.h"

#include "base/Sync.h"
#include "net/MpiLibrary.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mxrt::net {
namespace {

using mpi::Library;

/// A frame on its way, with its bytes behind it.
struct Frame {
  Frame *next = nullptr;
  int peer = 0;
  size_t bytes = 0;
  mpi::Handle request = nullptr;
  char *data() { return reinterpret_cast<char *>(this + 1); }
};

Frame *newFrame(int peer, size_t bytes) {
  void *memory = std::malloc(sizeof(Frame) + bytes);
  Frame *made = memory ? ::new (memory) Frame : nullptr;
  if (made) {
    made->peer = peer;
    made->bytes = bytes;
  }
  return made;
}

struct FrameQueue {
  Frame *first = nullptr, *last = nullptr;
  void push(Frame *frame) {
    frame->next = nullptr;
    (last ? last->next : first) = frame;
    last = frame;
  }
  Frame *pop() {
    Frame *frame = first;
    if (frame) {
      first = frame->next;
      last = first ? last : nullptr;
    }
    return frame;
  }
  ~FrameQueue() {
    while (Frame *frame = pop())
      std::free(frame);
  }
};

/// Frames that wait for MPI, for each peer.
constexpr int queuedFrames = 4;

class MpiLinks final : public Links {
public:
  MpiLinks(int rank, int ranks, uint32_t number, size_t maxFrameBytes)
      : self(rank), ranks(ranks), tag(int(number % 30000) + 1), maxFrameBytes(maxFrameBytes) {}

  const char *address() const override { return ""; }
  void connect(const char *const *) override {}
  bool hasRoom(int peer) const override {
    Lock lock(mutex);
    return waiting[peer] < queuedFrames;
  }
  void send(int peer, const void *header, size_t headerBytes, const void *payload,
            size_t payloadBytes) override;
  bool next(Event &event) override;
  void wait(int64_t timeoutNs) override;
  void wake() override {
    Lock lock(mutex);
    changed = true;
    condition.wakeAll();
  }
  void leave(int64_t timeoutNs) override;
  void destroy() override;
  uint64_t wireBytes() const override { return 0; }

private:
  friend class MpiThread;
  const int self, ranks, tag;
  const size_t maxFrameBytes;
  mutable Mutex mutex;
  Condition condition;
  bool changed = false;      // since the last wait()
  bool outOfMemory = false;  // a frame was lost here
  FrameQueue outbox, inbox;
  int waiting[64] = {};
  int opened = 0;
  Frame *current = nullptr;
  Piece piece{};
  // of the thread
  FrameQueue sending, receiving;
  MpiLinks *others = nullptr; // all of the process
};

/// All calls of MPI.
class MpiThread {
public:
  static MpiThread &instance() {
    static MpiThread one; // never destroyed before the process ends
    return one;
  }
  /// Starts MPI at the first call.
  bool start(Reason &why, int &rank, int &ranks);
  void add(MpiLinks &links) {
    Lock lock(mutex);
    links.others = all;
    all = &links;
  }
  /// The thread no longer knows them when this returns.
  void remove(MpiLinks &links) {
    Lock lock(mutex);
    for (MpiLinks **at = &all; *at; at = &(*at)->others)
      if (*at == &links) {
        *at = links.others;
        return;
      }
  }

private:
  static bool load(Library &library, Reason &why);
  static void run(void *self);
  static void atEnd();
  bool moveOn(MpiLinks &links);
  static void finished(FrameQueue &queue, Frame *&before, Frame *frame);

  Mutex mutex;
  os::Thread thread;
  Library library;
  MpiLinks *all = nullptr;
  int rank = -1, ranks = 0;
  enum class Phase : uint32_t { None, Starting, Running, Failed, Ending, Ended };
  std::atomic<uint32_t> phase{0};
  void enter(Phase next) {
    phase.store(uint32_t(next));
    os::futexWake(phase, UINT32_MAX);
  }
  Phase now() const { return Phase(phase.load()); }
};

bool MpiThread::load(Library &library, Reason &why) {
  void *file = nullptr;
  for (const char *name : {"libmpi.so.40", "libmpi.so"})
    if ((file = os::openLibrary(name)))
      break;
  if (!file) {
    std::snprintf(why, sizeof why, "there is no libmpi.so.40");
    return false;
  }
  library.world = os::librarySymbol(file, "ompi_mpi_comm_world");
  library.byte = os::librarySymbol(file, "ompi_mpi_byte");
  bool isWhole = library.world && library.byte;
#define MXRT_MPI_LOAD(name, type)                                                                  \
  library.name = reinterpret_cast<Library::name##Type>(os::librarySymbol(file, "MPI_" #name));     \
  isWhole &= library.name != nullptr;
  MXRT_MPI_FUNCTIONS(MXRT_MPI_LOAD)
#undef MXRT_MPI_LOAD
  if (!isWhole)
    std::snprintf(why, sizeof why, "libmpi.so is not that of Open MPI");
  return isWhole;
}

bool MpiThread::start(Reason &why, int &ownRank, int &ownRanks) {
  Lock lock(mutex);
  if (now() == Phase::None) {
    if (!load(library, why))
      return false;
    enter(Phase::Starting);
    if (!os::startThread(thread, run, this, "mx-mpi")) {
      enter(Phase::Failed);
    } else {
      while (now() == Phase::Starting)
        os::futexWait(phase, uint32_t(Phase::Starting));
      if (now() == Phase::Running)
        std::atexit(atEnd);
    }
  }
  if (now() != Phase::Running) {
    std::snprintf(why, sizeof why, "MPI cannot start");
    return false;
  }
  ownRank = rank;
  ownRanks = ranks;
  return true;
}

/// Without MPI_Finalize, mpirun takes the end of a process for a failure. It waits for the other
/// ranks, which may be gone: then mpirun ends this one.
void MpiThread::atEnd() {
  MpiThread &self = instance();
  if (self.now() != Phase::Running)
    return;
  self.enter(Phase::Ending);
  for (int i = 0; i < 100 && self.now() == Phase::Ending; ++i)
    os::futexWait(self.phase, uint32_t(Phase::Ending), 100 * millisecond);
  if (self.now() == Phase::Ended)
    os::joinThread(self.thread);
}

void MpiThread::finished(FrameQueue &queue, Frame *&before, Frame *frame) {
  (before ? before->next : queue.first) = frame->next;
  if (queue.last == frame)
    queue.last = before;
}

bool MpiThread::moveOn(MpiLinks &links) {
  bool any = false;
  mpi::State state;
  // What is to be sent.
  for (;;) {
    Frame *frame;
    {
      Lock lock(links.mutex);
      frame = links.outbox.pop();
    }
    if (!frame)
      break;
    any = true;
    library.Isend(frame->data(), int(frame->bytes), library.byte, frame->peer, links.tag,
                  library.world, &frame->request);
    links.sending.push(frame);
  }
  // What was sent.
  for (Frame *before = nullptr, *frame = links.sending.first; frame;) {
    Frame *following = frame->next;
    int done = 0;
    library.Test(&frame->request, &done, &state);
    if (done) {
      any = true;
      finished(links.sending, before, frame);
      Lock lock(links.mutex);
      --links.waiting[frame->peer];
      links.changed = true;
      links.condition.wakeAll();
      std::free(frame);
    } else {
      before = frame;
    }
    frame = following;
  }
  // What comes.
  for (;;) {
    int there = 0, bytes = 0;
    mpi::Handle message = nullptr;
    library.Improbe(mpi::anySource, links.tag, library.world, &there, &message, &state);
    if (!there)
      break;
    any = true;
    library.Get_count(&state, library.byte, &bytes);
    Frame *frame =
        bytes >= 0 && size_t(bytes) <= links.maxFrameBytes ? newFrame(state.source, size_t(bytes))
                                                           : nullptr;
    if (!frame) {
      Lock lock(links.mutex);
      links.outOfMemory = links.changed = true;
      links.condition.wakeAll();
      break;
    }
    library.Imrecv(frame->data(), bytes, library.byte, &message, &frame->request);
    links.receiving.push(frame);
  }
  // What has come. Frames of a peer complete in their order: only the first one may be handed on.
  for (Frame *frame = links.receiving.first; frame; frame = links.receiving.first) {
    int done = 0;
    library.Test(&frame->request, &done, &state);
    if (!done)
      break;
    any = true;
    (void)links.receiving.pop();
    Lock lock(links.mutex);
    links.inbox.push(frame);
    links.changed = true;
    links.condition.wakeAll();
  }
  return any;
}

void MpiThread::run(void *user) {
  auto &self = *static_cast<MpiThread *>(user);
  int isThere = 0, provided = 0;
  self.library.Initialized(&isThere);
  bool isUp = isThere || self.library.Init_thread(nullptr, nullptr, mpi::threadFunneled,
                                                  &provided) == mpi::success;
  if (isUp) {
    self.library.Comm_rank(self.library.world, &self.rank);
    self.library.Comm_size(self.library.world, &self.ranks);
  }
  self.enter(isUp ? Phase::Running : Phase::Failed);
  int64_t pause = 0;
  while (self.now() == Phase::Running) {
    bool any = false;
    {
      Lock lock(self.mutex);
      for (MpiLinks *links = self.all; links; links = links->others)
        any |= self.moveOn(*links);
    }
    // MPI has nothing to sleep on: a busy exchange is polled, an idle one every half millisecond.
    pause = any ? 0 : std::min<int64_t>(pause + 2 * microsecond, 500 * microsecond);
    if (pause > 20 * microsecond)
      os::sleepNs(pause);
    else
      os::yieldThread();
  }
  if (self.now() == Phase::Ending) {
    if (!isThere)
      self.library.Finalize();
    self.enter(Phase::Ended);
  }
}

void MpiLinks::send(int peer, const void *header, size_t headerBytes, const void *payload,
                    size_t payloadBytes) {
  Frame *frame = newFrame(peer, headerBytes + payloadBytes);
  if (frame) {
    std::memcpy(frame->data(), header, headerBytes);
    if (payloadBytes)
      std::memcpy(frame->data() + headerBytes, payload, payloadBytes);
  }
  Lock lock(mutex);
  if (!frame) {
    outOfMemory = true;
    return;
  }
  ++waiting[peer];
  outbox.push(frame);
}

bool MpiLinks::next(Event &event) {
  std::free(std::exchange(current, nullptr));
  for (; opened < ranks; ) {
    int peer = opened++;
    if (peer == self)
      continue;
    event = {Event::Kind::Open, peer, nullptr, 0, nullptr};
    return true;
  }
  Lock lock(mutex);
  if (outOfMemory && opened < 2 * ranks) { // what is missing cannot be made up for: all links break
    int peer = opened++ - ranks;
    event = {Event::Kind::Broken, peer == self ? (self + 1) % ranks : peer, nullptr, 0,
             "there was no memory for its message"};
    return true;
  }
  current = inbox.pop();
  if (!current) {
    changed = false;
    return false;
  }
  piece = {current->data(), current->bytes};
  event = {Event::Kind::Frame, current->peer, &piece, 1, nullptr};
  return true;
}

void MpiLinks::wait(int64_t timeoutNs) {
  Lock lock(mutex);
  if (!changed)
    condition.wait(mutex, timeoutNs);
  changed = false;
}

void MpiLinks::leave(int64_t timeoutNs) {
  int64_t deadline = os::monotonicNs() + timeoutNs;
  for (;;) {
    int64_t left = deadline - os::monotonicNs();
    {
      Lock lock(mutex);
      int all = 0;
      for (int peer = 0; peer < ranks; ++peer)
        all += waiting[peer];
      if (all == 0 || left <= 0)
        return;
    }
    Event ignored;
    if (!next(ignored))
      wait(std::min(left, 10 * millisecond));
  }
}

void MpiLinks::destroy() {
  MpiThread::instance().remove(*this);
  // MPI may still read and write frames that were not completed: they stay for the process.
  sending = {};
  receiving = {};
  std::free(std::exchange(current, nullptr));
  this->~MpiLinks();
  std::free(this);
}

} // namespace

Result<TransportBox> connectMpi(const mxrt_allocator *alloc, const Meeting &meeting,
                                const LinkedOptions &options, Clock &clock) {
  Reason why = "";
  int rank = -1, ranks = 0;
  MpiThread &thread = MpiThread::instance();
  if (!thread.start(why, rank, ranks))
    return error(alloc, MXRT_KVSTORE_ENGINE, noLocation,
                 "the transport mpi is not here: %s\n"
                 "help: ranks of one machine need none: write `--transport shm`",
                 why);
  if (rank != meeting.rank || ranks != meeting.ranks)
    return error(alloc, MXRT_KVSTORE, noLocation,
                 "this is rank %d of %d, and rank %d of %d for MPI\n"
                 "help: start the ranks with `mxc launch --via mpirun`",
                 meeting.rank, meeting.ranks, rank, ranks);
  void *memory = std::malloc(sizeof(MpiLinks));
  if (!memory)
    return outOfMemory(alloc);
  auto *links = ::new (memory)
      MpiLinks(rank, ranks, meeting.number, Linked::maxFrameBytes(options, ranks));
  thread.add(*links);
  auto *made = newObject<Linked>(alloc, alloc, rank, ranks, *links, clock, options);
  if (!made) {
    links->destroy();
    return outOfMemory(alloc);
  }
  TransportBox box(alloc, made);
  MXRT_CHECK(made->connect(nullptr, meeting.limitNs, meeting.check, meeting.checkUser));
  return box;
}

} // namespace mxrt::net
