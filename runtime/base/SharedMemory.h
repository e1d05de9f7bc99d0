// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System calls for memory shared between processes (POSIX shared memory), and about other
// processes. Functions that return int give 0 or an error number for os::errorText().

#ifndef MXRT_BASE_SHAREDMEMORY_H
#define MXRT_BASE_SHAREDMEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mxrt::os {

/// Creates a zeroed segment that only this user can open. Fails if the name exists. Names begin
/// with a slash and contain no other.
int createShared(const char *name, size_t bytes, int &descriptor);
/// Opens a segment created by another process of this user; of any other user: EPERM.
int openShared(const char *name, int &descriptor, size_t &bytes);
/// Removes the name; the memory stays until the last process unmaps it.
int removeShared(const char *name);
/// nullptr if the system refuses.
void *mapShared(int descriptor, size_t bytes, bool writable);
void unmapShared(void *memory, size_t bytes);
/// Allocates pages now: otherwise a write to memory that the system does not have ends the
/// process.
int reserveShared(int descriptor, size_t offset, size_t bytes);

/// As futexWait and futexWake, for words in shared memory.
bool futexWaitShared(const std::atomic<uint32_t> &word, uint32_t expected, int64_t timeoutNs);
void futexWakeShared(const std::atomic<uint32_t> &word, uint32_t count);

int64_t processId();
/// A descriptor that refers to a process, -1 if there is none.
int openProcess(int64_t process);
/// Whether the process has ended, even if its parent has not reaped it yet.
bool processEnded(int descriptor);

} // namespace mxrt::os

#endif // MXRT_BASE_SHAREDMEMORY_H
