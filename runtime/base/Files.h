// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File system calls. Every function returns 0 or the system's error number, which errorText()
// formats. Part of mxrt_core: no C++ runtime.

#ifndef MXRT_BASE_FILES_H
#define MXRT_BASE_FILES_H

#include <cstddef>
#include <cstdint>

namespace mxrt::os {

/// For a folder, a pipe, a device: they have no stable contents, and a file cannot replace
/// them.
inline constexpr int notARegularFile = -1;
/// Error of a replacement (base/Replacement.h): another process writes the same file.
inline constexpr int writtenByAnother = -2;
/// Error of a replacement: a link, a pipe or a device has the name of its temporary file.
inline constexpr int temporaryNameTaken = -3;

/// Memory-maps a whole file that is open for reading, read-only; nullptr if the system
/// refuses. The descriptor may be closed.
const void *mapFile(int descriptor, size_t bytes);
void unmapFile(const void *memory, size_t bytes);

/// Never blocks, not even on the other end of a pipe. The caller closes the descriptor.
int openForReading(const char *path, int &descriptor, int64_t &size);
/// Reads until `bytes` are read or the file ends; *got is the number read.
int readAt(int descriptor, void *into, size_t bytes, int64_t offset, size_t *got);
void closeFile(int descriptor);

int writeAll(int descriptor, const void *data, size_t bytes);
/// Returns once the bytes are on disk.
int syncFile(int descriptor);
int renameFile(const char *from, const char *to);
/// Makes names in the folder of `path` durable (fsync of the folder).
int syncFolderOf(const char *path);
int removeFile(const char *path);
/// Opens a file for appending, creating it if needed; each write is appended as a unit.
int openForAppending(const char *path, int &descriptor);
/// Returns 0 also if the folder exists already.
int makeFolder(const char *path);
/// Whether the descriptor is a terminal.
bool isTerminal(int descriptor);

/// Message for an error number of these functions, in `buffer` or static.
const char *errorText(int number, char *buffer, size_t capacity);

} // namespace mxrt::os

#endif // MXRT_BASE_FILES_H
