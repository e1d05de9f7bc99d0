// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchanges over every transport, and disks. (Codecs allocate nothing.)

#include "../net/SimLinks.h"
#include "AllocationSweep.h"
#include "base/SharedMemory.h"
#include "kvstore/Exchange.h"
#include "net/Linked.h"
#include "net/Local.h"
#include "net/Rendezvous.h"
#include "net/Shm.h"
#include "net/SimDisk.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <unistd.h>

namespace mxrt::test {
namespace {

using namespace kvstore;
using namespace net;

/// A mean of a few numbers, at one rank.
struct Job {
  Job(const mxrt_allocator *alloc, Transport &transport)
      : plan(alloc), transport(transport), data{1, 2, 3, 4, float(transport.rank())} {}
  Status start() {
    MXRT_CHECK(plan.make({Topology::Ring, Topology::Direct, 1, 4}, transport.rank(),
                         transport.size(), 5, 4));
    Reduction what;
    what.data = data;
    what.mean = true;
    what.weight = 1 + transport.rank();
    collective = std::make_unique<Collective>(transport, plan, what);
    return collective->start();
  }
  bool finished() const { return collective && collective->finished(); }
  Plan plan;
  Transport &transport;
  float data[5];
  std::unique_ptr<Collective> collective;
};

/// The error of a rank that had no memory, before those of ranks that lost it.
Status outcomeOf(Stage &stage, Job *jobs[2]) {
  for (int rank = 0; rank < 2; ++rank)
    if (!jobs[rank]->finished())
      return outOfMemory(stage.memory.get());
  for (int rank = 0; rank < 2; ++rank)
    if (Status status = jobs[rank]->collective->outcome(); status.code() == MXRT_OUT_OF_MEMORY)
      return status;
  for (int rank = 0; rank < 2; ++rank) {
    MXRT_CHECK(jobs[rank]->collective->outcome());
    for (float value : jobs[rank]->data)
      stage.saw(std::to_string(value));
  }
  return success();
}

Status simulated(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  Sim sim(alloc, 7, 2);
  MXRT_CHECK(sim.open());
  SessionOptions options;
  options.fragmentBytes = 8;
  Session first(alloc, 0, 2, sim.datagrams(0), sim, options);
  Session other(alloc, 1, 2, sim.datagrams(1), sim, options);
  MXRT_CHECK(first.open());
  MXRT_CHECK(other.open());
  Session *sessions[] = {&first, &other};
  Job a(alloc, first), b(alloc, other);
  Job *jobs[] = {&a, &b};
  MXRT_CHECK(a.start());
  MXRT_CHECK(b.start());
  sim.wake(0, 0);
  sim.wake(1, 0);
  for (int rank; !(a.finished() && b.finished()) && (rank = sim.next(20 * net::second)) >= 0;) {
    sessions[rank]->progress();
    sim.wake(rank, sessions[rank]->nextDeadline());
  }
  Status status = outcomeOf(stage, jobs);
  // A network without memory drops datagrams, so that ranks lose each other: the same cause.
  bool isLost = status.code() == MXRT_KVSTORE && stage.memory.failures() > 0;
  return isLost ? outOfMemory(alloc) : std::move(status);
}

/// Short messages at once, long ones on request.
Status linked(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  for (size_t shortBytes : {size_t(1024), size_t(2)}) {
    SimLinks net(2, 1);
    LinkedOptions options;
    options.shortBytes = shortBytes;
    Linked first(alloc, 0, 2, net.links(0), net, options);
    Linked second(alloc, 1, 2, net.links(1), net, options);
    MXRT_CHECK(first.connect(nullptr, net::second));
    MXRT_CHECK(second.connect(nullptr, net::second));
    Job a(alloc, first), b(alloc, second);
    Job *jobs[] = {&a, &b};
    MXRT_CHECK(a.start());
    MXRT_CHECK(b.start());
    for (int i = 0; i < 10000 && !(a.finished() && b.finished()); ++i) {
      bool any = first.progress();
      any |= second.progress();
      if (!any)
        net.advance(net.now() + net::second);
    }
    MXRT_CHECK(outcomeOf(stage, jobs));
  }
  return success();
}

/// Rank 0 of one, which serves the rendezvous for itself.
Status meeting(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  MonotonicClock clock;
  Meeting meeting;
  meeting.job = "sweep";
  meeting.limitNs = 20 * millisecond; // a server without memory does not answer
  std::snprintf(meeting.at.host, sizeof meeting.at.host, "127.0.0.1");
  int listener = -1;
  if (os::listenAt(meeting.at.host, 0, listener, meeting.at.port) != 0)
    return outOfMemory(alloc);
  close(listener);
  Vec<char> text(alloc);
  Vec<const char *> addresses(alloc);
  Status status = meet(alloc, meeting, 4711, clock, text, addresses);
  if (status.failed())
    return stage.memory.failures() > 0 ? outOfMemory(alloc) : std::move(status);
  stage.saw(addresses[0]);
  return success();
}

Status local(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  LocalHub hub(alloc, 2);
  MXRT_CHECK(hub.open());
  Local first(alloc, hub, 0), second(alloc, hub, 1);
  MXRT_CHECK(first.open());
  MXRT_CHECK(second.open());
  Job a(alloc, first), b(alloc, second);
  Job *jobs[] = {&a, &b};
  MXRT_CHECK(a.start());
  MXRT_CHECK(b.start());
  for (int i = 0; i < 1000 && !(a.finished() && b.finished()); ++i) {
    first.progress();
    second.progress();
  }
  return outcomeOf(stage, jobs);
}

/// Calls of two ranks: a mean in two buckets, then keys that differ.
Status calls(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  struct Outcome {
    bool done = false;
    Status status;
    static void note(void *user, Status status) {
      auto &self = *static_cast<Outcome *>(user);
      self.done = true;
      self.status = std::move(status);
    }
  };
  LocalHub hub(alloc, 2);
  MXRT_CHECK(hub.open());
  Local first(alloc, hub, 0), second(alloc, hub, 1);
  MXRT_CHECK(first.open());
  MXRT_CHECK(second.open());
  Local *transports[] = {&first, &second};
  KeyTable tables[2][2] = {{KeyTable(alloc), KeyTable(alloc)}, {KeyTable(alloc), KeyTable(alloc)}};
  float memory[2][2][3] = {};
  Outcome outcomes[2][3];
  std::unique_ptr<Exchange> exchanges[2];
  std::vector<std::unique_ptr<Call>> begun;
  for (int rank = 0; rank < 2; ++rank) {
    int64_t shape[] = {3}, other[] = {3 + rank};
    KeySpec same[] = {{"a", MXRT_F32, shape, Form::Dense}, {"b", MXRT_F32, shape, Form::Dense}};
    KeySpec differs[] = {{"c", MXRT_F32, other, Form::Dense}};
    MXRT_CHECK(tables[rank][0].make(Action::Average, same, {}, rank, 2, {4, 4}));
    MXRT_CHECK(tables[rank][1].make(Action::Sum, differs, {}, rank, 2));
    exchanges[rank] = std::make_unique<Exchange>(*transports[rank]);
    for (int bucket = 0; bucket < 2; ++bucket)
      for (int i = 0; i < 3; ++i)
        memory[rank][bucket][i] = float(1 + rank + bucket + i);
    begun.push_back(std::make_unique<Call>(alloc, tables[rank][0], 1 + rank));
    exchanges[rank]->begin(*begun.back());
    for (uint32_t bucket = 0; bucket < 2; ++bucket)
      exchanges[rank]->push(*begun.back(), bucket, memory[rank][bucket],
                            {Outcome::note, &outcomes[rank][bucket]});
    begun.push_back(std::make_unique<Call>(alloc, tables[rank][1], 1,
                                           ExchangeDone{Outcome::note, &outcomes[rank][2]}));
    exchanges[rank]->begin(*begun.back());
  }
  for (int i = 0; i < 1000; ++i)
    for (Local *transport : transports)
      transport->progress();
  Status found, lost;
  for (auto &rank : outcomes)
    for (int i = 0; i < 3; ++i) {
      stage.check(rank[i].done, "a call does not end");
      Status status = rank[i].status.share();
      if (i == 2 && status.code() == MXRT_KVSTORE_MISMATCH)
        continue; // as it should
      if (status.code() == MXRT_OUT_OF_MEMORY)
        found = std::move(status);
      else if (status.failed())
        lost = std::move(status);
    }
  begun.clear();
  MXRT_CHECK(std::move(found));
  MXRT_CHECK(std::move(lost));
  for (auto &rank : memory)
    for (auto &bucket : rank)
      for (float value : bucket)
        stage.saw(std::to_string(value));
  return success();
}

/// Rank 0 has the memory of the sweep, rank 1 all it wants.
Status sharedMemory(Stage &stage) {
  static int count = 0;
  std::string job = "sweep-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  MonotonicClock clock;
  ShmOptions options;
  options.job = job.c_str();
  options.ranks = 2;
  options.segmentBytes = 1 << 20;
  std::atomic<bool> failed = false, finished = false;
  std::thread other([&] {
    // Not before rank 0 is there: it may have no memory for that.
    std::string name = "/dev/shm/mx-" + job;
    while (!failed && !std::filesystem::exists(name))
      std::this_thread::yield();
    ShmOptions own = options;
    own.rank = 1;
    // If rank 0 fails before this one has its segment, nobody can tell it.
    own.connectNs = 10 * net::second;
    Shm transport(mxrt_system_allocator(), own, clock);
    if (failed || transport.connect().failed())
      return;
    Job b(mxrt_system_allocator(), transport);
    if (b.start().ok())
      (void)waitFor(transport, *b.collective);
    // If it left earlier, rank 0 might notice, and make an error that nobody needs.
    while (!finished)
      std::this_thread::yield();
  });
  Status status = [&]() -> Status {
    Shm transport(stage.memory.get(), options, clock);
    MXRT_CHECK(transport.connect());
    Job a(stage.memory.get(), transport);
    if (Status starting = a.start(); starting.failed()) {
      transport.giveUp(starting.share());
      return starting;
    }
    MXRT_CHECK(waitFor(transport, *a.collective));
    for (float value : a.data)
      stage.saw(std::to_string(value));
    return success();
  }();
  failed = status.failed();
  finished = true;
  other.join();
  return status;
}

Status disks(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  std::string folder =
      (std::filesystem::temp_directory_path() / ("mx-sweep-disk-" + std::to_string(getpid())))
          .string();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  SimDisk simulated(alloc, 1);
  FolderDisk real(alloc, folder.c_str());
  for (Disk *disk : {static_cast<Disk *>(&simulated), static_cast<Disk *>(&real)}) {
    MXRT_CHECK(disk->append("log", "abc", 3));
    MXRT_CHECK(disk->append("log", "defghijklmnop", 13));
    MXRT_CHECK(disk->sync("log"));
    MXRT_CHECK(disk->rename("log", "old"));
    Vec<char> bytes(alloc);
    MXRT_CHECK(disk->read("old", 100, bytes));
    stage.saw(std::string(bytes.data(), bytes.size()));
  }
  std::filesystem::remove_all(folder);
  return success();
}

constexpr const char *comesAgain = "a datagram that there is no memory for is sent again";

const SweepProgram programs[] = {{"simulated", simulated, comesAgain},
                                 {"local", local},
                                 {"calls", calls, "the error of keys that differ, for which the reserve serves"},
                                 {"linked", linked},
                                 {"meeting", meeting, "a call that there is no memory for comes again"},
                                 {"shm", sharedMemory},
                                 {"disks", disks}};

INSTANTIATE_TEST_SUITE_P(Net, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
