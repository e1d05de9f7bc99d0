// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of a program compile one after the other, so that all but the first find the code in
// the cache: threads of a process, and the processes of a launch.
#pragma once
#include <mutex>

namespace mx::launch {

/// As std::mutex, for std::unique_lock.
class CompileGate {
public:
  /// `lockFile` is that of run::Launched; -1: this process is alone.
  explicit CompileGate(int lockFile = -1) : file(lockFile) {}
  /// Other processes are waited for no longer than a minute: one may be stopped in a debugger. To
  /// compile the same twice is only slow.
  void lock();
  void unlock();

private:
  std::mutex threads;
  const int file;
  bool isLocked = false; ///< the file
};

} // namespace mx::launch
