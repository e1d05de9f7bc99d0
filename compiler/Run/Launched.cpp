// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The channel of a rank to its launcher.
#include "Run/Launched.h"
#include "dist/Job.h"
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
  // `dist.sync` reports invalid values.
  if (!job.ok() || !mxrt::os::environment("MX_SIZE"))
    return;
  number = (*job).rank;
  ranks = (*job).ranks;
  const char *given = mxrt::os::environment(kLauncher);
  int first = -1, second = -1;
  if (!given || std::sscanf(given, "%d,%d", &first, &second) != 2 || !isSocket(first))
    return; // started by another launcher
  stops = eventfd(0, EFD_CLOEXEC);
  channel = first;
  if (stops < 0 || !mxrt::os::startThread(watcher, watch, this, "mx-launcher")) {
    channel = -1;
    return;
  }
  // Child processes are not ranks.
  fcntl(channel, F_SETFD, FD_CLOEXEC);
  if (fcntl(second, F_SETFD, FD_CLOEXEC) == 0)
    lock = second;
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
