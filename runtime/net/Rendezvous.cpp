// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The server and the callers of a rendezvous.

#include "net/Rendezvous.h"

#include "base/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mxrt::net {

static_assert(sizeof(Hello) == 80 && sizeof(Answer) == 16, "no padding travels");

/// Callers that have said nothing yet: more are strangers.
static constexpr size_t maxCalls = 512;
static constexpr size_t maxAnswer = 64 << 10;

bool parseAddress(const char *text, Address &out) {
  const char *colon = text ? std::strrchr(text, ':') : nullptr;
  if (!colon || colon == text || size_t(colon - text) >= sizeof out.host)
    return false;
  char *end = nullptr;
  long port = std::strtol(colon + 1, &end, 10);
  if (end == colon + 1 || *end || port < 1 || port > 65535)
    return false;
  std::memcpy(out.host, text, size_t(colon - text));
  out.host[colon - text] = 0;
  out.port = int(port);
  return true;
}

Rendezvous::Rendezvous(const mxrt_allocator *alloc, const char *name, int ranks)
    : alloc(alloc), ranks(ranks), calls(alloc), channels(alloc), watched(alloc) {
  std::snprintf(job, sizeof job, "%s", name);
}

Rendezvous::~Rendezvous() {
  for (Call &call : calls)
    os::closeFile(call.socket);
  for (Call &call : channels)
    os::closeFile(call.socket);
  if (listener >= 0)
    os::closeFile(listener);
}

int Rendezvous::open(const char *host, int port) {
  int failure = os::listenAt(host, port, listener, bound);
  watchAll();
  return failure;
}

void Rendezvous::watchAll() {
  watched.clear();
  (void)watched.push(listener);
  for (Call &call : calls)
    (void)watched.push(call.socket);
}

void Rendezvous::step() {
  for (;;) {
    Call call;
    if (os::acceptCall(listener, call.socket, call.host) != 0)
      break;
    if (calls.size() >= maxCalls || !calls.push(call))
      os::closeFile(call.socket);
  }
  for (Call &call : calls)
    read(call);
  for (size_t i = calls.size(); i-- > 0;)
    if (calls[i].socket < 0)
      calls.swapRemove(i);
  watchAll();
}

void Rendezvous::read(Call &call) {
  int failure = 0;
  while (call.socket >= 0) {
    char more;
    bool isWhole = call.received == sizeof call.hello;
    int64_t got = isWhole ? os::receiveBytes(call.socket, &more, 1, &failure)
                          : os::receiveBytes(call.socket,
                                             reinterpret_cast<char *>(&call.hello) + call.received,
                                             sizeof call.hello - call.received, &failure);
    if (got < 0 && failure == EAGAIN)
      return;
    if (got <= 0 || isWhole) { // it ended, or says too much
      os::closeFile(std::exchange(call.socket, -1));
      return;
    }
    call.received += size_t(got);
    if (call.received == sizeof call.hello)
      check(call);
  }
}

void Rendezvous::check(Call &call) {
  const Hello &hello = call.hello;
  if (hello.magic != Hello::ours || std::strncmp(hello.job, job, sizeof job) != 0) {
    os::closeFile(std::exchange(call.socket, -1));
    return;
  }
  char text[128];
  auto refuse = [&] { answer(call, true, text, std::strlen(text)); };
  if (hello.ranks != uint32_t(ranks) || hello.rank >= hello.ranks) {
    std::snprintf(text, sizeof text, "rank %u of %u is not one of the %d ranks of this job",
                  hello.rank, hello.ranks, ranks);
    return refuse();
  }
  for (Call &other : calls)
    if (&other != &call && other.known && other.socket >= 0 && hello.kind == Hello::Meet &&
        other.hello.number == hello.number && other.hello.rank == hello.rank) {
      std::snprintf(text, sizeof text, "rank %u is there twice", hello.rank);
      return refuse();
    }
  call.known = true;
  if (hello.kind == Hello::Channel) {
    if (channels.push(call))
      call.socket = -1;
    return;
  }
  tryToMeet(hello.number);
}

void Rendezvous::tryToMeet(uint32_t number) {
  int there = 0;
  for (const Call &call : calls)
    there += call.known && call.socket >= 0 && call.hello.number == number;
  if (there < ranks)
    return;
  Vec<char> text(alloc);
  if (!text.reserve(size_t(ranks) * (os::maxAddress + 8)))
    return; // it is tried again with the next call
  for (int rank = 0; rank < ranks; ++rank)
    for (const Call &call : calls) {
      if (!call.known || call.socket < 0 || call.hello.number != number ||
          call.hello.rank != uint32_t(rank))
        continue;
      char line[os::maxAddress + 8];
      int length = std::snprintf(line, sizeof line, "%s:%u\n", call.host, call.hello.port);
      for (int i = 0; i < length; ++i)
        (void)text.push(line[i]);
    }
  for (Call &call : calls)
    if (call.known && call.socket >= 0 && call.hello.number == number)
      answer(call, false, text.data(), text.size());
  met = std::max(met, number + 1);
}

void Rendezvous::answer(Call &call, bool failed, const char *text, size_t bytes) {
  Answer head;
  head.failed = failed;
  head.bytes = uint32_t(bytes);
  int failure = 0;
  // A few KiB: they fit into the buffer of a fresh connection.
  (void)os::sendBytes(call.socket, &head, sizeof head, &failure);
  (void)os::sendBytes(call.socket, text, bytes, &failure);
  os::closeFile(std::exchange(call.socket, -1));
}

bool Rendezvous::takeChannel(int &rank, int &connection) {
  if (channels.size() == 0)
    return false;
  rank = int(channels[0].hello.rank);
  connection = channels[0].socket;
  channels.swapRemove(0);
  return true;
}

// -- callers --------------------------------------------------------------------

namespace {

Status lateError(const mxrt_allocator *alloc, const Meeting &meeting, int failure) {
  char buffer[128];
  return error(alloc, MXRT_KVSTORE, noLocation,
               "the ranks did not meet at %s:%d within %lld ms%s%s", meeting.at.host,
               meeting.at.port, static_cast<long long>(meeting.limitNs / millisecond),
               failure ? ": " : "",
               failure ? os::errorText(failure, buffer, sizeof buffer) : "");
}

/// Connects; while nobody listens there, tries again. Closed by the caller.
Result<int> call(const mxrt_allocator *alloc, const Meeting &meeting, Clock &clock,
                 int64_t deadline) {
  for (int failure = 0;;) {
    int socket = -1;
    failure = os::beginConnect(meeting.at.host, meeting.at.port, socket);
    while (failure == EINPROGRESS || (failure == 0 && socket >= 0)) {
      failure = os::connectionState(socket);
      if (failure == 0)
        return socket;
      if (failure != EINPROGRESS)
        break;
      Status stopped = meeting.check ? meeting.check(meeting.checkUser) : success();
      if (stopped.failed() || clock.now() >= deadline) {
        os::closeFile(socket);
        return stopped.failed() ? std::move(stopped) : lateError(alloc, meeting, ETIMEDOUT);
      }
      os::waitForSockets(&socket, 1, true, 50 * millisecond);
    }
    if (socket >= 0)
      os::closeFile(socket);
    if (clock.now() >= deadline)
      return lateError(alloc, meeting, failure);
    if (meeting.check)
      MXRT_CHECK(meeting.check(meeting.checkUser));
    os::sleepNs(20 * millisecond);
  }
}

struct Socket {
  int number = -1;
  ~Socket() {
    if (number >= 0)
      os::closeFile(number);
  }
};

/// Reads the answer. False if the connection ended before: that server has other ranks to serve.
Result<bool> readAnswer(const mxrt_allocator *alloc, const Meeting &meeting, int socket,
                        Clock &clock, int64_t deadline, Rendezvous *server, Vec<char> &text) {
  Answer head;
  size_t received = 0, wanted = sizeof head;
  while (received < wanted) {
    if (server)
      server->step();
    int failure = 0;
    bool isHead = received < sizeof head;
    char *to = isHead ? reinterpret_cast<char *>(&head) + received
                      : text.data() + (received - sizeof head);
    int64_t got = os::receiveBytes(socket, to, isHead ? sizeof head - received : wanted - received,
                                   &failure);
    if (got > 0) {
      received += size_t(got);
      if (received == sizeof head) {
        if (head.magic != Hello::ours || head.bytes > maxAnswer)
          return error(alloc, MXRT_KVSTORE, noLocation, "%s:%d is not the rendezvous of a job",
                       meeting.at.host, meeting.at.port);
        if (!text.resize(head.bytes))
          return outOfMemory(alloc);
        wanted += head.bytes;
      }
      continue;
    }
    if (got == 0 || failure != EAGAIN)
      return false;
    if (clock.now() >= deadline)
      return lateError(alloc, meeting, 0);
    if (meeting.check)
      MXRT_CHECK(meeting.check(meeting.checkUser));
    if (!server) {
      os::waitForSockets(&socket, 1, false, 50 * millisecond);
      continue;
    }
    Vec<int> all(alloc);
    for (int each : server->sockets())
      if (!all.push(each))
        return outOfMemory(alloc);
    if (!all.push(socket))
      return outOfMemory(alloc);
    os::waitForSockets(all.data(), all.size(), false, 20 * millisecond);
  }
  if (head.failed) {
    if (!text.push(0))
      return outOfMemory(alloc);
    return error(alloc, MXRT_KVSTORE, noLocation, "%s", text.data());
  }
  return true;
}

} // namespace

Result<Address> ownAddressFor(const mxrt_allocator *alloc, const Meeting &meeting, Clock &clock) {
  Address own;
  // Rank 0 may have to serve the address itself: only this machine can listen there.
  int listener = -1, bound = 0;
  if (meeting.rank == 0 && os::listenAt(meeting.at.host, meeting.at.port, listener, bound) == 0) {
    os::closeFile(listener);
    if (os::listenAt(meeting.at.host, 0, listener, bound) != 0)
      return own;
    (void)os::ownAddress(listener, own.host);
    os::closeFile(listener);
    return own;
  }
  Socket socket;
  socket.number = MXRT_TRY(call(alloc, meeting, clock, clock.now() + meeting.limitNs));
  if (int failure = os::ownAddress(socket.number, own.host)) {
    char buffer[128];
    return error(alloc, MXRT_SYSTEM, noLocation, "no address of this machine: %s",
                 os::errorText(failure, buffer, sizeof buffer));
  }
  return own;
}

Status meet(const mxrt_allocator *alloc, const Meeting &meeting, int port, Clock &clock,
            Vec<char> &text, Vec<const char *> &addresses) {
  int64_t deadline = clock.now() + meeting.limitNs;
  Rendezvous server(alloc, meeting.job, meeting.ranks);
  bool serves = meeting.rank == 0 && server.open(meeting.at.host, meeting.at.port) == 0;
  for (bool isThere = false; !isThere;) {
    Socket socket;
    socket.number = MXRT_TRY(call(alloc, meeting, clock, deadline));
    Hello hello;
    std::snprintf(hello.job, sizeof hello.job, "%s", meeting.job);
    hello.rank = uint32_t(meeting.rank);
    hello.ranks = uint32_t(meeting.ranks);
    hello.number = meeting.number;
    hello.port = uint32_t(port);
    int failure = 0;
    (void)os::sendBytes(socket.number, &hello, sizeof hello, &failure);
    text.clear();
    isThere = MXRT_TRY(readAnswer(alloc, meeting, socket.number, clock, deadline,
                                  serves ? &server : nullptr, text));
    if (!isThere) {
      if (clock.now() >= deadline)
        return lateError(alloc, meeting, 0);
      if (meeting.check)
        MXRT_CHECK(meeting.check(meeting.checkUser));
      os::sleepNs(20 * millisecond);
    }
  }
  const char *begin = text.data();
  for (char &each : text)
    if (each == '\n') {
      each = 0;
      if (!addresses.push(begin))
        return outOfMemory(alloc);
      begin = &each + 1;
    }
  if (addresses.size() != size_t(meeting.ranks))
    return error(alloc, MXRT_KVSTORE, noLocation, "%zu addresses of %d ranks", addresses.size(),
                 meeting.ranks);
  return success();
}

} // namespace mxrt::net
