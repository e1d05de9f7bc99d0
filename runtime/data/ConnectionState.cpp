// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What encodings left out, in checkpoints: `kv.connection` is the rank and the number of ranks,
// `kv.connection.net.fc1.w` the residual of a key. Each rank has its own, so each saves a file.

#include "data/Connection.h"

#include <algorithm>
#include <cstdio>

namespace mxrt::data {

static Connection &connectionOf(const host::Value &value) {
  return *static_cast<Connection *>(value.foreign()->payload);
}

static constexpr int64_t two = 2; // a size

static Status save(const host::Value &handle, Saver &to) {
  Connection &connection = connectionOf(handle);
  dist::Store *store = connection.store;
  if (!store->encodes() || store->isClosed())
    return success();
  connection.owner[0] = store->rank();
  connection.owner[1] = store->size();
  MXRT_CHECK(to.addEntry({MXRT_I64, 1, &two}, connection.owner, sizeof connection.owner));
  size_t root = to.paths.path().size();
  struct Each {
    Saver &to;
    size_t root;
  } each = {to, root};
  auto add = [](void *user, std::string_view key, std::span<const int64_t> shape,
                std::span<const float> residual) {
    auto &[to, root] = *static_cast<Each *>(user);
    MXRT_CHECK(to.paths.enter(key));
    Status status = to.addEntry({MXRT_F32, int32_t(shape.size()), shape.data()}, residual.data(),
                                int64_t(residual.size_bytes()));
    to.paths.leave(root);
    return status;
  };
  return store->eachResidual(add, &each);
}

static Status check(const host::Value &handle, Restorer &from) {
  dist::Store *store = connectionOf(handle).store;
  std::string_view path = from.paths.path();
  const io::SafeTensor *found = from.index.find(path);
  if (!found)
    return success(); // saved without compression: nothing was left out
  MXRT_CHECK(from.checkEntry({MXRT_I64, 1, &two}, false));
  char want[96];
  if (store->encodes())
    std::snprintf(want, sizeof want,
                  "this is rank %d of %d\n  each rank saves and restores a file of its own: "
                  "`run.{kv.rank}.ckpt`",
                  store->rank(), store->size());
  else
    std::snprintf(want, sizeof want, "this KVStore has no residuals");
  if (found->type == MXRT_I64 && found->rank == 1 && found->sizes[0] == 2) {
    int64_t have[2];
    MXRT_CHECK(from.index.readTensor(*found, have));
    char text[64];
    std::snprintf(text, sizeof text, "%lld of %lld", static_cast<long long>(have[0]),
                  static_cast<long long>(have[1]));
    if (!store->encodes() || have[0] != store->rank() || have[1] != store->size())
      MXRT_CHECK(
          from.differs(path, "`%.*s` has what compression left out at rank %s; %s", text, want));
  }
  return eachEntryBelow(from, [&](const io::SafeTensor &entry, std::string_view) {
    from.use(entry);
    return entry.type == MXRT_F32
               ? success()
               : from.differs(entry.name, "`%.*s` is a residual, %s%s", "which is of f32", "");
  });
}

static Status read(const host::Value &handle, Restorer &from, std::string_view) {
  Connection &connection = connectionOf(handle);
  const mxrt_allocator *alloc = connection.alloc;
  connection.next.clear();
  return eachEntryBelow(from, [&](const io::SafeTensor &entry, std::string_view name) {
    dist::KeptResidual made = {Vec<char>(alloc), TensorRef()};
    if (!made.key.resize(name.size()))
      return outOfMemory(alloc);
    std::copy(name.begin(), name.end(), made.key.begin());
    MXRT_CHECK(from.readTensor(entry, {MXRT_CPU, 0}, made.values));
    return connection.next.push(std::move(made)) ? success() : outOfMemory(alloc);
  });
}

static Status commit(const host::Value &handle) {
  Connection &connection = connectionOf(handle);
  dist::Store *store = connection.store;
  return store->encodes() ? store->restoreResiduals(std::move(connection.next)) : success();
}

const StoredHandle storedConnection = {&connectionType, save, check, read, commit};

} // namespace mxrt::data
