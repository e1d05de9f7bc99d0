// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulated disk that loses unsynced writes when its rank crashes: of the bytes
// after the last sync() a prefix of random length remains, chosen by the seed; a
// file that was never synced may be gone.

#ifndef MXRT_NET_SIMDISK_H
#define MXRT_NET_SIMDISK_H

#include "net/Disk.h"
#include "net/Sim.h"

namespace mxrt::net {

class SimDisk final : public Disk {
public:
  SimDisk(const mxrt_allocator *alloc, uint64_t seed) : alloc(alloc), random(seed), files(alloc) {}
  Status append(const char *name, const void *data, size_t bytes) override;
  Status sync(const char *name) override;
  Status rename(const char *from, const char *to) override;
  Status read(const char *name, size_t maxBytes, Vec<char> &into) override;
  /// The power fails.
  void crash();

private:
  struct File {
    explicit File(const mxrt_allocator *alloc) : name(alloc), bytes(alloc) {}
    Vec<char> name, bytes;
    size_t synced = 0;
    bool nameSynced = false;
  };
  size_t find(const char *name) const;
  Status missing(const char *name) const;

  const mxrt_allocator *alloc;
  SimRandom random;
  Vec<File> files;
};

} // namespace mxrt::net

#endif // MXRT_NET_SIMDISK_H
