// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulated disk with crash semantics.

#include "net/SimDisk.h"

#include <cstring>

namespace mxrt::net {

size_t SimDisk::find(const char *name) const {
  for (size_t i = 0; i < files.size(); ++i)
    if (!std::strcmp(files[i].name.data(), name))
      return i;
  return files.size();
}

Status SimDisk::missing(const char *name) const {
  return error(alloc, MXRT_FILE_ACCESS, noLocation, "there is no file `%s`", name);
}

Status SimDisk::append(const char *name, const void *data, size_t bytes) {
  MXRT_CHECK(checkDiskName(alloc, name));
  size_t at = find(name);
  if (at == files.size()) {
    File file(alloc);
    if (!file.name.resize(std::strlen(name) + 1))
      return outOfMemory(alloc);
    std::memcpy(file.name.data(), name, file.name.size());
    if (!files.push(std::move(file)))
      return outOfMemory(alloc);
  }
  Vec<char> &content = files[at].bytes;
  size_t before = content.size();
  if (bytes > SIZE_MAX - before || !content.resize(before + bytes))
    return outOfMemory(alloc);
  if (bytes)
    std::memcpy(content.data() + before, data, bytes);
  return success();
}

Status SimDisk::sync(const char *name) {
  size_t at = find(name);
  if (at == files.size())
    return missing(name);
  files[at].synced = files[at].bytes.size();
  files[at].nameSynced = true;
  return success();
}

Status SimDisk::rename(const char *from, const char *to) {
  MXRT_CHECK(checkDiskName(alloc, to));
  size_t source = find(from);
  if (source == files.size())
    return missing(from);
  Vec<char> name(alloc);
  if (!name.resize(std::strlen(to) + 1))
    return outOfMemory(alloc);
  std::memcpy(name.data(), to, name.size());
  size_t target = find(to);
  files[source].name = std::move(name);
  files[source].nameSynced = true;
  if (target != files.size() && target != source)
    files.swapRemove(target);
  return success();
}

Status SimDisk::read(const char *name, size_t maxBytes, Vec<char> &into) {
  size_t at = find(name);
  if (at == files.size())
    return missing(name);
  const Vec<char> &content = files[at].bytes;
  if (content.size() > maxBytes)
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation, "`%s` has %zu bytes, the limit is %zu", name,
                 content.size(), maxBytes);
  into.clear();
  if (!into.resize(content.size()))
    return outOfMemory(alloc);
  if (!content.empty())
    std::memcpy(into.data(), content.data(), content.size());
  return success();
}

void SimDisk::crash() {
  for (size_t i = files.size(); i-- > 0;) {
    File &file = files[i];
    size_t unsynced = file.bytes.size() - file.synced;
    size_t kept = file.synced + size_t(random.below(unsynced + 1));
    while (file.bytes.size() > kept)
      file.bytes.pop();
    file.synced = kept;
    if (!file.nameSynced && random.chance(0.5))
      files.swapRemove(i);
  }
}

} // namespace mxrt::net
