// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saving and restoring checkpoints: numbers, texts and tensors by path, and the state inside of
// handles.

#ifndef MXRT_DATA_CHECKPOINT_H
#define MXRT_DATA_CHECKPOINT_H

#include "data/DataHost.h"
#include "data/Leaves.h"
#include "io/Safetensors.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// Type and shape of a leaf in a file.
struct SavedShape {
  mxrt_dtype type = MXRT_F32;
  int32_t rank = 0;
  const int64_t *sizes = nullptr;
};
/// False for values that cannot be stored: functions, most handles. A text is its bytes, whose
/// count is stored in `length`.
bool savedShape(const host::Value &value, SavedShape &shape, int64_t &length);

/// The entries of a file, with the objects that must stay alive until it is written.
class Saver {
public:
  Saver(DataHost &host, const mxrt_location &location)
      : host(host), location(location), paths(host.allocator()), entries(host.allocator()),
        names(host.allocator()), numbers(host.allocator()), tensors(host.allocator()) {}
  ~Saver();

  /// The leaves of a value below `paths`.
  Status add(const host::Value &value);
  /// A text at `paths`; it stays alive.
  Status addText(std::string_view text);
  /// Elements at `paths` that stay where they are.
  Status addEntry(const SavedShape &shape, const void *data, int64_t bytes);
  Status addTensor(mxrt_tensor *tensor);
  Status write(const char *path);

  DataHost &host;
  const mxrt_location location;
  Leaves paths;

private:
  Status addLeaf(const host::Value &leaf);
  Result<const int64_t *> keep(const host::Value &number);
  Vec<io::SafeEntry> entries;
  Vec<char *> names;
  Vec<Box<host::Value>> numbers;
  Vec<TensorRef> tensors;
};

/// A file, and how it differs from the values that it is restored to. Everything is checked before
/// anything changes.
class Restorer {
public:
  Restorer(DataHost &host, const mxrt_location &location, io::SafetensorsIndex &index)
      : host(host), location(location), index(index), paths(host.allocator()),
        text(host.allocator()), used(host.allocator()) {}
  Status open();

  /// Compares the leaves of a value below `paths` with the file.
  Status check(const host::Value &value);
  /// The entry at `paths` must have this shape; sizes are not compared if `isText`.
  Status checkEntry(const SavedShape &shape, bool isText);
  /// Names below `root` that nothing asked for.
  Status checkExtras(std::string_view root);
  /// `format` has the name, then both sides.
  Status differs(std::string_view name, const char *format, const char *first, const char *second);
  /// The error, if anything differs.
  Status outcome(const char *path) const;

  /// A value of the structure of `old` with the contents of the file.
  Status read(host::Heap &heap, const host::Value &old, host::Value &out);
  Status readTensor(const io::SafeTensor &entry, mxrt_device device, TensorRef &out);
  /// Notes that a value asked for an entry.
  void use(const io::SafeTensor &entry) {
    used[static_cast<size_t>(&entry - index.tensors.data())] = true;
  }

  DataHost &host;
  const mxrt_location location;
  io::SafetensorsIndex &index;
  Leaves paths;

private:
  Status readLeaf(host::Heap &heap, const host::Value &old, host::Value &out);
  size_t count = 0; // of differences
  Vec<char> text;
  Vec<bool> used; // of each tensor of the file
};

/// A kind of handle whose contents are in checkpoints.
struct StoredHandle {
  const host::ForeignType *type;
  Status (*save)(const host::Value &handle, Saver &to);
  Status (*check)(const host::Value &handle, Restorer &from);
  /// Reads the contents; nothing changes before commit().
  Status (*read)(const host::Value &handle, Restorer &from, std::string_view file);
  Status (*commit)(const host::Value &handle);
};
/// The optimizer of a KVStore and its connection; a queue.
extern const StoredHandle storedOptimizer, storedConnection, storedQueue;
/// Calls each(entry, name) for what the file has below the path of a handle.
template <typename Each> Status eachEntryBelow(Restorer &from, const Each &each) {
  std::string_view root = from.paths.path();
  for (const io::SafeTensor &entry : from.index.tensors)
    if (entry.name.size() > root.size() && entry.name[root.size()] == '.' &&
        entry.name.starts_with(root))
      MXRT_CHECK(each(entry, entry.name.substr(root.size() + 1)));
  return success();
}
/// Null for other values.
const StoredHandle *storedHandle(const host::Value &value);

} // namespace mxrt::data

#endif // MXRT_DATA_CHECKPOINT_H
