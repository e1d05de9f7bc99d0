// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints, save(path, net, opt, first=epoch + 1): every number and tensor of a value is stored
// under its path in a safetensors file, and so are the contents of a KVStore and of a queue. Functions
// and other handles cannot be stored and are skipped.

#include "data/Checkpoint.h"
#include "data/Numbers.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"

#include <algorithm>
#include <cstring>

namespace mxrt::data {

using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

bool savedShape(const Value &value, SavedShape &shape, int64_t &length) {
  switch (value.kind) {
  case Kind::Bool:
    shape.type = MXRT_BOOL;
    return true;
  case Kind::Int:
    shape.type = MXRT_I64;
    return true;
  case Kind::F32:
    shape.type = MXRT_F32;
    return true;
  case Kind::F64:
    shape.type = MXRT_F64;
    return true;
  case Kind::Str:
    length = static_cast<int64_t>(value.str()->size);
    shape = {MXRT_U8, 1, &length};
    return true;
  default:
    if (const mxrt_tensor *tensor = tensorOf(value)) {
      shape = {tensor->type, tensor->rank, tensor->sizes()};
      return true;
    }
    return false;
  }
}

const StoredHandle *storedHandle(const Value &value) {
  if (value.kind == Kind::Handle)
    for (const StoredHandle *each : {&storedOptimizer, &storedConnection, &storedQueue})
      if (value.foreign()->type == each->type)
        return each;
  return nullptr;
}

Saver::~Saver() {
  for (char *name : names)
    releaseBytes(names.allocator(), name, std::strlen(name) + 1);
}

Status Saver::addEntry(const SavedShape &shape, const void *data, int64_t bytes) {
  const mxrt_allocator *alloc = host.allocator();
  std::string_view path = paths.path();
  auto *name = static_cast<char *>(allocateBytes(alloc, path.size() + 1));
  if (!name)
    return outOfMemory(alloc);
  std::memcpy(name, path.data(), path.size());
  name[path.size()] = 0;
  if (!names.push(name)) {
    releaseBytes(alloc, name, path.size() + 1);
    return outOfMemory(alloc);
  }
  bool room = entries.push({{name, path.size()}, shape.type, shape.rank, shape.sizes, data, bytes});
  return room ? success() : outOfMemory(alloc);
}

Status Saver::addTensor(mxrt_tensor *tensor) {
  mxrt_runtime *runtime = host.options.runtime;
  TensorRef dense;
  MXRT_CHECK(denseOf(host, tensor, location, dense));
  MXRT_CHECK(Status(mxrt_tensor_wait(runtime, dense.get(), &location)));
  MXRT_CHECK(addEntry({dense->type, dense->rank, dense->sizes()}, dense->data(),
                      mxrt_tensor_bytes(dense.get())));
  return tensors.push(std::move(dense)) ? success() : outOfMemory(host.allocator());
}

/// A number that stays where it is until the file is written.
Result<const int64_t *> Saver::keep(const Value &number) {
  Box<Value> copy = MXRT_TRY(makeBox<Value>(host.allocator(), number));
  const int64_t *kept = &copy->i;
  if (!numbers.push(std::move(copy)))
    return outOfMemory(host.allocator());
  return kept;
}

Status Saver::addText(std::string_view text) {
  auto length = static_cast<int64_t>(text.size());
  const int64_t *size = MXRT_TRY(keep(Value::integer(length)));
  return addEntry({MXRT_U8, 1, size}, text.data(), length);
}

Status Saver::addLeaf(const Value &leaf) {
  if (const StoredHandle *handle = storedHandle(leaf))
    return handle->save(leaf, *this);
  if (leaf.kind == Kind::Str)
    return addText(leaf.str()->view());
  if (mxrt_tensor *tensor = tensorOf(leaf))
    return addTensor(tensor);
  SavedShape shape;
  int64_t length = 0;
  if (!savedShape(leaf, shape, length))
    return success();
  return addEntry(shape, MXRT_TRY(keep(leaf)), mxrt_dtype_size(shape.type));
}

Status Saver::add(const Value &value) {
  return paths.visit(value, [&](const Value &leaf) { return addLeaf(leaf); });
}

Status Saver::write(const char *path) {
  // Two values under one name could not be restored separately.
  std::sort(entries.begin(), entries.end(),
            [](const io::SafeEntry &a, const io::SafeEntry &b) { return a.name < b.name; });
  for (size_t i = 1; i < entries.size(); ++i)
    if (entries[i].name == entries[i - 1].name)
      return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                   "two values would be saved as `%.*s`", int(entries[i].name.size()),
                   entries[i].name.data());
  return io::writeSafetensors(host.allocator(), path, entries);
}

/// save(path, name, value, name, value, ...)
static Status save(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  Saver saver(host, call.location);
  for (size_t i = 1; i + 1 < call.args.size(); i += 2) {
    MXRT_CHECK(saver.paths.begin(call.args[i].str()->view()));
    MXRT_CHECK(saver.add(call.args[i + 1]));
  }
  return saver.write(path);
}

static constexpr ParamData path[] = {{Kind::Str, false}};
static const NativeRow natives[] = {{"mx.save", path, true, Kind::Unit, save}};
const NativeGroup mxrt_natives_save = {"mxrt_natives_save", natives, std::size(natives)};

} // namespace mxrt::data
