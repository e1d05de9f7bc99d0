// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls to the operating system about files. Every function gives 0 or the
// system's error number, which errorText() turns into words. Part of
// mxrt_core: no C++ runtime.

#ifndef MXRT_BASE_FILES_H
#define MXRT_BASE_FILES_H

#include <cstddef>
#include <cstdint>

namespace mxrt::os {

/// What openForReading gives for a folder, a pipe, a device: they have no
/// bytes that stay where they are.
inline constexpr int notARegularFile = -1;
/// What createReplacement gives while another process writes the same file.
inline constexpr int writtenByAnother = -2;

/// The whole of a file that is open for reading, read-only; nullptr if the
/// system refuses. The descriptor may be closed.
const void *mapFile(int descriptor, size_t bytes);
void unmapFile(const void *memory, size_t bytes);

/// Never waits, also not for the other end of a pipe. The caller closes.
int openForReading(const char *path, int &descriptor, int64_t &size);
/// Reads until `bytes` are there or the file ends; *got says how many.
int readAt(int descriptor, void *into, size_t bytes, int64_t offset, size_t *got);
void closeFile(int descriptor);

/// Opens `path`, empty and locked, for a file that will be renamed. What an
/// earlier process left under this name is used again; a link is refused.
int createReplacement(const char *path, int &descriptor);
int writeAll(int descriptor, const void *data, size_t bytes);
/// Returns once the bytes are on the disk.
int syncFile(int descriptor);
int renameFile(const char *from, const char *to);
/// Makes names in the folder of `path` durable.
int syncFolderOf(const char *path);
int removeFile(const char *path);
/// Adds to the end of a file, made if needed; one write is one piece.
int openForAppending(const char *path, int &descriptor);
/// 0 also if the folder is there already.
int makeFolder(const char *path);
/// Whether what is written there is seen by a person.
bool isTerminal(int descriptor);

/// Words for an error number of these functions, in `buffer` or static.
const char *errorText(int number, char *buffer, size_t capacity);

} // namespace mxrt::os

#endif // MXRT_BASE_FILES_H
