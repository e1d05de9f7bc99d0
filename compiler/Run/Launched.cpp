// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The channel of a rank to its launcher.
#include "Run/Launched.h"
#include "base/Files.h"
#include "dist/Job.h"
#include "net/Rendezvous.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mx::run {

static bool isSocket(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 && S_ISSOCK(info.st_mode);
}

Launched::Launched() {
  auto job = mxrt::dist::jobOfProcess(mxrt_system_allocator());
  // Wrong values are an error of `dist.sync`.
  if (!job.ok() || !(*job).isGiven)
    return;
  number = (*job).rank;
  ranks = (*job).ranks;
  const char *given = mxrt::os::environment(kLauncher);
  if (!given || (!inherit(given) && !call(given, (*job).name)))
    return; // somebody else started this process
  stops = eventfd(0, EFD_CLOEXEC);
  if (stops < 0 || !mxrt::os::startThread(watcher, watch, this, "mx-launcher"))
    channel = -1;
}

bool Launched::inherit(const char *given) {
  int first = -1, second = -1;
  if (std::sscanf(given, "%d,%d", &first, &second) != 2 || !isSocket(first))
    return false;
  channel = first;
  // Child processes are not ranks.
  fcntl(channel, F_SETFD, FD_CLOEXEC);
  if (fcntl(second, F_SETFD, FD_CLOEXEC) == 0)
    lock = second;
  return true;
}

bool Launched::call(const char *given, const char *job) {
  mxrt::net::Address at;
  int connection = -1;
  if (!mxrt::net::parseAddress(given, at))
    return false;
  int failure = mxrt::os::beginConnect(at.host, at.port, connection);
  for (int i = 0; i < 100 && failure == EINPROGRESS; ++i) {
    mxrt::os::waitForSockets(&connection, 1, true, 100 * mxrt::net::millisecond);
    failure = mxrt::os::connectionState(connection);
  }
  mxrt::net::Hello hello;
  std::snprintf(hello.job, sizeof hello.job, "%s", job);
  hello.kind = mxrt::net::Hello::Channel;
  hello.rank = static_cast<uint32_t>(number);
  hello.ranks = static_cast<uint32_t>(ranks);
  if (failure || mxrt::os::sendBytes(connection, &hello, sizeof hello, &failure) != sizeof hello) {
    std::fprintf(stderr, "rank %d of %d finds no launcher at %s\n", number, ranks, given);
    _exit(1); // nobody would end it
  }
  fcntl(connection, F_SETFL, 0);
  unsetenv(kLauncher); // programs that this one starts are not ranks
  channel = connection;
  isCall = true;
  return true;
}

Launched::~Launched() {
  if (watcher.started) {
    uint64_t one = 1;
    ssize_t written = write(stops, &one, sizeof one);
    (void)written;
    mxrt::os::joinThread(watcher);
  }
  if (stops >= 0)
    close(stops);
  if (isCall) {
    report(Report::Done, "");
    close(channel);
  }
}

void Launched::watch(void *user) {
  auto &self = *static_cast<Launched *>(user);
  for (;;) {
    pollfd files[] = {{self.channel, POLLIN, 0}, {self.stops, POLLIN, 0}};
    if (poll(files, 2, -1) < 0 && errno != EINTR)
      return;
    if (files[1].revents)
      return;
    if (!files[0].revents)
      continue;
    unsigned char rank = 0;
    ssize_t got = recv(self.channel, &rank, 1, MSG_DONTWAIT);
    if (got == 1 && rank < 64)
      self.ended.fetch_or(uint64_t(1) << rank);
    else if (got == 1 && rank > kSignals)
      kill(getpid(), rank - kSignals);
    else if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      kill(getpid(), SIGKILL); // the launcher is gone, and with it the reader of all output
  }
}

mxrt::dist::JobState Launched::state() const {
  return {channel >= 0, ended.load() & ~(uint64_t(1) << number)};
}

bool Launched::report(Report kind, std::string text) {
  if (channel < 0)
    return false;
  if (text.size() > kMaxText)
    text.resize(kMaxText);
  Header header{static_cast<char>(kind), {}, static_cast<uint32_t>(text.size())};
  text.insert(0, reinterpret_cast<const char *>(&header), sizeof header);
  for (size_t at = 0; at < text.size();) {
    ssize_t sent = send(channel, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR)
      return false;
    at += static_cast<size_t>(std::max<ssize_t>(sent, 0));
  }
  return true;
}

} // namespace mx::run
