// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System calls for TCP (IPv4). Sockets are non-blocking and end with the process. Functions that
// return int give 0 or an error number for os::errorText().

#ifndef MXRT_BASE_SOCKETS_H
#define MXRT_BASE_SOCKETS_H

#include <cstddef>
#include <cstdint>

namespace mxrt::os {

inline constexpr size_t maxAddress = 64; ///< bytes of `255.255.255.255`, and more

/// `port` 0: any, which `bound` tells. `host` is an address or a name; EADDRNOTAVAIL if it is not of
/// this machine, EHOSTUNREACH if nobody knows it.
int listenAt(const char *host, int port, int &listener, int &bound);
/// EAGAIN: nobody calls. `from` gets the address of the caller.
int acceptCall(int listener, int &connection, char (&from)[maxAddress]);
/// Begins to connect; connectionState tells how that went.
int beginConnect(const char *host, int port, int &connection);
/// EINPROGRESS while it goes on, 0 when it is connected.
int connectionState(int connection);
/// The address of this machine in a connection.
int ownAddress(int connection, char (&address)[maxAddress]);
bool isLoopback(const char *address);

/// Bytes moved, 0 at the end of the connection, or -1: nothing now (`*failure` is EAGAIN) or broken.
int64_t receiveBytes(int connection, void *to, size_t bytes, int *failure);
int64_t sendBytes(int connection, const void *from, size_t bytes, int *failure);
/// Waits until one of these can be read (or written, with `writes`), at most so long.
void waitForSockets(const int *sockets, size_t count, bool writes, int64_t timeoutNs);

} // namespace mxrt::os

#endif // MXRT_BASE_SOCKETS_H
