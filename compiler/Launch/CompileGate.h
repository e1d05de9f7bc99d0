// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock that serialises compilation, so that all instances of a program but the first find the
// code in the cache. Instances are threads of one process, or the ranks of a launch.
#pragma once
#include <mutex>

namespace mx::launch {

/// As std::mutex, for std::unique_lock.
class CompileGate {
public:
  /// `lockFile` is that of run::Launched; -1: this process is alone.
  explicit CompileGate(int lockFile = -1) : file(lockFile) {}
  /// Waits at most a minute for another process, which may be stopped in a debugger. Compiling the
  /// same code twice is slow but harmless.
  void lock();
  void unlock();

private:
  std::mutex threads;
  const int file;
  bool isLocked = false; ///< the lock of the file is held
};

} // namespace mx::launch
