// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks as threads of one process: start, output, errors and exit.
#include "Run/Replicas.h"
#include "Run/Machine.h"
#include "abi/Runtime.h"
#include "base/Os.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <streambuf>
#include <system_error>

namespace mx::run {

using mxrt::Status;

// ---------------------------------------------------------------------------- output

/// Forwards flushed text under the lock: unchanged for rank 0, as whole lines with a prefix for
/// others.
class Replicas::Buffer final : public std::streambuf {
public:
  Buffer(std::mutex &mutex, std::ostream &target, std::string prefix)
      : mutex(mutex), target(target), prefix(std::move(prefix)) {}
  ~Buffer() override {
    if (!prefix.empty() && !text.empty() && text.back() != '\n')
      text += '\n';
    sync();
  }

protected:
  int overflow(int c) override {
    if (c != traits_type::eof())
      text += static_cast<char>(c);
    return 0;
  }
  std::streamsize xsputn(const char *from, std::streamsize count) override {
    text.append(from, static_cast<size_t>(count));
    return count;
  }
  int sync() override {
    size_t end = prefix.empty() ? text.size() : text.rfind('\n') + 1; // npos + 1 == 0
    if (end == 0)
      return 0;
    std::lock_guard guard(mutex);
    for (size_t at = 0; at < end;) {
      size_t next = prefix.empty() ? end : text.find('\n', at) + 1;
      target << prefix;
      target.write(text.data() + at, static_cast<std::streamsize>(next - at));
      at = next;
    }
    text.erase(0, end);
    if (target.flush())
      return 0;
    target.clear(); // a failed write affects this line only
    return -1;
  }

private:
  std::mutex &mutex;
  std::ostream &target;
  const std::string prefix;
  std::string text;
};

struct Replicas::Stream {
  Stream(std::mutex &mutex, std::ostream &target, std::string prefix)
      : buffer(mutex, target, std::move(prefix)), stream(&buffer) {}
  Buffer buffer;
  std::ostream stream;
};

Replicas::Replicas(std::ostream &out, std::ostream &err, Launched &launched, Body body)
    : body(std::move(body)), launched(launched), target(out), errors(err),
      ownOut(std::make_unique<Stream>(writing, out, "")),
      ownErr(std::make_unique<Stream>(writing, err, "")) {
  ownErr->stream << std::unitbuf;
  ranks.push_back(std::make_unique<Replica>(*this, 0));
}

Replicas::~Replicas() { finish(true); }

std::ostream &Replicas::out() { return ownOut->stream; }
std::ostream &Replicas::err() {
  if (launched.rank() > 0)
    return unseen;
  return ownErr->stream;
}

void Replicas::write(std::ostream &to, const std::string &text) {
  std::lock_guard guard(writing);
  to << text << std::flush;
}

// ---------------------------------------------------------------------------- ranks

std::string folderOfRank(const std::string &folder, int rank) {
  return rank > 0 ? folder + "/rank" + std::to_string(rank) : folder;
}

std::string fileOfRank(const std::string &file, int rank) {
  std::filesystem::path path(file);
  if (rank > 0 && !file.empty())
    path.replace_extension(".rank" + std::to_string(rank) + path.extension().string());
  return path;
}

bool Replica::isOneOfSeveral() const { return all.count.load() > 1; }
mxrt::dist::QueueHub &Replica::queues() { return *all.queues; }
mxrt::dist::JobState Replica::job() const { return all.launched.state(); }

mxrt::Result<mxrt::net::TransportBox> Replica::join(int workers, mxrt_location location) {
  const mxrt_allocator *alloc = mxrt_system_allocator();
  if (all.count.load() == 1)
    if (Status status = all.start(workers, location); !status.ok())
      return status;
  if (workers != all.count.load())
    return Status(mxrt_status_make(
        alloc, MXRT_KVSTORE_MODE, location,
        "dist.local: %d workers, but this program runs as %d\nhelp: use the same number of workers "
        "in all calls",
        workers, all.count.load()));
  auto index = static_cast<size_t>(joined++);
  std::lock_guard guard(all.mutex);
  while (all.meetings.size() <= index) {
    Replicas::Meeting made{std::make_unique<mxrt::net::LocalHub>(alloc, workers),
                           std::vector<bool>(static_cast<size_t>(workers))};
    if (Status status = made.hub->open(); !status.ok())
      return status;
    all.meetings.push_back(std::move(made));
    // Ranks whose program has ended will not join.
    for (int rank = 0; rank < workers; ++rank)
      if (auto end = all.ends[static_cast<size_t>(rank)]; end.ended) {
        mxrt::net::Local gone(alloc, *all.meetings.back().hub, rank);
        if (gone.open().ok() && end.failed)
          gone.giveUp(mxrt::outOfMemory()); // the reason is not shown
        all.meetings.back().isHere[static_cast<size_t>(rank)] = true;
      }
  }
  Replicas::Meeting &meeting = all.meetings[index];
  auto *transport = mxrt::newObject<mxrt::net::Local>(alloc, alloc, *meeting.hub, number);
  if (!transport)
    return mxrt::outOfMemory(alloc, location);
  mxrt::net::TransportBox box(alloc, transport);
  if (Status status = transport->open(); !status.ok())
    return status;
  meeting.isHere[static_cast<size_t>(number)] = true;
  return box;
}

Status Replicas::start(int workers, mxrt_location location) {
  for (int rank = 1; rank < workers; ++rank)
    ranks.push_back(std::make_unique<Replica>(*this, rank));
  ends.resize(static_cast<size_t>(workers));
  queues = std::make_unique<mxrt::dist::QueueHub>(mxrt_system_allocator(), workers);
  // The threads are divided: rank 0 keeps its workers, and its loops take no more than its part.
  if (Machine *machine = ranks[0]->machine.load()) {
    int32_t total = mxrt_runtime_threads(machine->runtime());
    mxrt_thread_budget_take(machine->runtime()->budget, total - std::max(1, total / workers));
  }
  count = workers;
  for (int rank = 1; rank < workers; ++rank) {
    Replica &replica = *ranks[static_cast<size_t>(rank)];
    try {
      replica.thread = std::thread([this, &replica] { runInstance(replica); });
    } catch (const std::system_error &error) {
      for (int other = rank; other < workers; ++other)
        leave(*ranks[static_cast<size_t>(other)], /*failed=*/true);
      return Status(mxrt_status_make(mxrt_system_allocator(), MXRT_SYSTEM, location,
                                     "dist.local: no thread for rank %d: %s", rank, error.what()));
    }
  }
  return {};
}

void Replicas::runInstance(Replica &replica) {
  Stream out(writing, target, "[" + std::to_string(replica.number) + "] ");
  std::ostringstream err; // compiler messages, which rank 0 has shown already, and reports
  int workers = count.load();
  const char *given = mxrt::os::environment("MX_NUM_THREADS");
  int total = given && std::atoi(given) > 0 ? std::atoi(given) : mxrt::os::processorCount();
  bool fine = body(replica, std::max(1, total / workers), out.stream, err);
  out.stream.flush();
  if (!fine && !replica.hasReported)
    replica.report(replica.judge(MXRT_INTERNAL), err.str());
  leave(replica, !fine);
}

/// Exit of a rank: the others do not wait for it at connections that it has not joined.
void Replicas::leave(Replica &replica, bool failed) {
  std::lock_guard guard(mutex);
  auto rank = static_cast<size_t>(replica.number);
  ends[rank] = {true, failed};
  hasFailed |= failed;
  queues->leave(replica.number);
  for (Meeting &meeting : meetings) {
    if (meeting.isHere[rank])
      continue;
    meeting.isHere[rank] = true;
    mxrt::net::Local gone(mxrt_system_allocator(), *meeting.hub, replica.number);
    if (gone.open().ok() && failed)
      gone.giveUp(mxrt::outOfMemory());
  }
}

bool Replicas::finish(bool fine) {
  Replica &own = *ranks[0];
  if (!fine && !own.hasReported && launched.isRank())
    own.report(own.judge(MXRT_INTERNAL), unseen.str());
  if (count.load() == 1 || std::exchange(isJoined, true))
    return fine && !hasFailed;
  leave(own, hasFailed);
  for (auto &replica : ranks)
    if (replica->thread.joinable())
      replica->thread.join();
  std::sort(kept.begin(), kept.end());
  if (!hasReport && !kept.empty())
    write(errors, kept.front().second);
  return fine && !hasFailed;
}

// ---------------------------------------------------------------------------- errors

void Replica::attach(Machine *now) {
  machine = now;
  if (!now)
    while (all.cancelling.load() > 0) // another thread may still use the old one
      std::this_thread::yield();
  else if (all.isInterrupted.load())
    now->cancelThis();
}

void Replicas::cancel() {
  isInterrupted = true;
  ++cancelling;
  for (int rank = 0, end = count.load(); rank < end; ++rank)
    if (Machine *machine = ranks[static_cast<size_t>(rank)]->machine.load())
      machine->cancelThis();
  --cancelling;
}

void Replica::cancelAll() { all.cancel(); }

void Replica::stopOthers() {
  if (all.count.load() == 1)
    return giveUp(); // other processes
  {
    std::lock_guard guard(all.mutex);
    if (std::exchange(all.hasFailed, true))
      return;
  }
  ++all.cancelling;
  for (auto &other : all.ranks)
    if (other.get() != this)
      if (Machine *running = other->machine.load())
        running->cancelThis();
  --all.cancelling;
}

Replica::Verdict Replica::judge(mxrt_code code) {
  std::lock_guard guard(all.mutex);
  if (all.count.load() == 1 && !all.launched.isRank())
    return Verdict::Alone;
  hasReported = true;
  if (all.count.load() == 1) // the launcher knows about other errors
    return code == MXRT_CANCELLED ? Verdict::Stopped
           : code == MXRT_KVSTORE ? Verdict::Keep
                                  : Verdict::Report;
  // Cancelled: another rank failed, or Ctrl-C was pressed, which rank 0 reports.
  if (all.hasReport || (code == MXRT_CANCELLED && (number > 0 || !all.isInterrupted.load())))
    return Verdict::Silent;
  if (code == MXRT_KVSTORE)
    return Verdict::Keep;
  all.hasReport = true;
  return Verdict::Report;
}

void Replica::report(Verdict verdict, const std::string &text) {
  if (all.count.load() == 1 && all.launched.isRank()) {
    auto kind = verdict == Verdict::Stopped ? Launched::Report::Stopped
                : verdict == Verdict::Keep  ? Launched::Report::Lost
                                            : Launched::Report::Error;
    if (!all.launched.report(kind, text))
      all.write(all.errors, text);
    return;
  }
  if (verdict == Verdict::Report) {
    all.write(all.errors, text);
  } else if (verdict == Verdict::Keep) {
    std::lock_guard guard(all.mutex);
    all.kept.push_back({number, text});
  }
}

std::string Replica::name() const {
  int count = all.count.load(), own = number;
  if (count == 1 && all.launched.isRank()) {
    count = all.launched.size();
    own = all.launched.rank();
  }
  return "rank " + std::to_string(own) + " of " + std::to_string(count);
}

} // namespace mx::run
