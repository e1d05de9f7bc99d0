// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TCP sockets.

#include "base/Sockets.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mxrt::os {
namespace {

int resolve(const char *host, int port, sockaddr_in &address) {
  address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host, &address.sin_addr) == 1)
    return 0;
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, nullptr, &hints, &found) != 0 || !found)
    return EHOSTUNREACH;
  std::memcpy(&address.sin_addr, &reinterpret_cast<sockaddr_in *>(found->ai_addr)->sin_addr,
              sizeof address.sin_addr);
  freeaddrinfo(found);
  return 0;
}

int newSocket(int &made) {
  made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return made < 0 ? errno : 0;
}

int closeAfter(int &made, int failure) {
  if (failure && failure != EINPROGRESS) {
    close(made);
    made = -1;
  }
  return failure;
}

void sendAtOnce(int connection) {
  int yes = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

} // namespace

int listenAt(const char *host, int port, int &listener, int &bound) {
  sockaddr_in address;
  if (int failure = resolve(host, port, address))
    return failure;
  if (int failure = newSocket(listener))
    return failure;
  int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t length = sizeof address;
  auto *raw = reinterpret_cast<sockaddr *>(&address);
  if (bind(listener, raw, length) != 0 || listen(listener, 256) != 0 ||
      getsockname(listener, raw, &length) != 0)
    return closeAfter(listener, errno);
  bound = ntohs(address.sin_port);
  return 0;
}

int acceptCall(int listener, int &connection, char (&from)[maxAddress]) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  do
    connection = accept4(listener, reinterpret_cast<sockaddr *>(&address), &length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
  while (connection < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (connection < 0)
    return errno;
  sendAtOnce(connection);
  inet_ntop(AF_INET, &address.sin_addr, from, maxAddress);
  return 0;
}

int beginConnect(const char *host, int port, int &connection) {
  sockaddr_in address;
  if (int failure = resolve(host, port, address))
    return failure;
  if (int failure = newSocket(connection))
    return failure;
  sendAtOnce(connection);
  int failure =
      ::connect(connection, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 ? 0 : errno;
  return closeAfter(connection, failure);
}

int connectionState(int connection) {
  pollfd file = {connection, POLLOUT, 0};
  if (poll(&file, 1, 0) == 0)
    return EINPROGRESS;
  int failure = 0;
  socklen_t length = sizeof failure;
  return getsockopt(connection, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 ? failure : errno;
}

int ownAddress(int connection, char (&text)[maxAddress]) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  if (getsockname(connection, reinterpret_cast<sockaddr *>(&address), &length) != 0)
    return errno;
  inet_ntop(AF_INET, &address.sin_addr, text, maxAddress);
  return 0;
}

bool isLoopback(const char *address) { return std::strncmp(address, "127.", 4) == 0; }

int64_t receiveBytes(int connection, void *to, size_t bytes, int *failure) {
  ssize_t got;
  do
    got = recv(connection, to, bytes, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  *failure = got < 0 ? errno : 0;
  return got;
}

int64_t sendBytes(int connection, const void *from, size_t bytes, int *failure) {
  ssize_t sent;
  do
    sent = ::send(connection, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  *failure = sent < 0 ? errno : 0;
  return sent;
}

void waitForSockets(const int *sockets, size_t count, bool writes, int64_t timeoutNs) {
  pollfd files[64];
  count = std::min<size_t>(count, 64);
  for (size_t i = 0; i < count; ++i)
    files[i] = {sockets[i], static_cast<short>(writes ? POLLOUT : POLLIN), 0};
  int64_t ms = timeoutNs < 0 ? -1 : std::min<int64_t>((timeoutNs + 999999) / 1000000, INT_MAX);
  poll(files, count, static_cast<int>(ms));
}

} // namespace mxrt::os
