// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic replacement of a file: writes a temporary file next to the old one, named with `.tmp`,
// then renames it. At any moment either the old or the new file exists. Functions return 0 or
// an error number for errorText(). Part of mxrt_core: no C++ runtime.

#ifndef MXRT_BASE_REPLACEMENT_H
#define MXRT_BASE_REPLACEMENT_H

#include <climits>
#include <cstddef>

namespace mxrt::os {

struct Replacement {
  /// Open for writing, empty and locked; -1 when there is nothing to finish.
  int descriptor = -1;
  /// The file that gets the new content: the given path, or the target of its link.
  char target[PATH_MAX];
  char temporary[PATH_MAX];
};

/// Starts to replace `path`, or to create it with the bits of `newMode` that the process's
/// umask leaves. An existing file keeps its mode, and its owner if the system allows. A file
/// that is not regular (a device, a pipe, a folder) or not writable is refused. The temporary
/// file is always a new one: a leftover of a dead process is removed, never written to. If a
/// living process is writing it, returns writtenByAnother.
int beginReplacement(const char *path, unsigned newMode, Replacement &made);

/// Renames the file to its final name; `durable`: after its bytes are on disk, and then syncs
/// the name. After a failure the old file is unchanged and the temporary file is removed.
/// `late`: a failure to make the name durable, after the rename.
int finishReplacement(Replacement &made, bool durable, int &late);

void abandonReplacement(Replacement &made);

/// The whole sequence above for content in memory.
int replaceFile(const char *path, const void *data, size_t bytes, unsigned newMode);

} // namespace mxrt::os

#endif // MXRT_BASE_REPLACEMENT_H
