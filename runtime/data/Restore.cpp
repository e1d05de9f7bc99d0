// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints, restore(path, mut net, ...): the names, types and shapes of a file are compared with
// those of the values first; a difference is an error that lists all of them.

#include "data/Checkpoint.h"
#include "eager/TensorValue.h"
#include "io/Json.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::data {

using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

/// Maximum number of differences that are listed. Of the others only the count is reported.
static constexpr size_t maxListed = 40;

/// `f32[3, 4]`, or `i64` for a single number.
static ShapeText textOf(const ShapeRef &shape) {
  ShapeText text = shapeText(shape);
  if (shape.rank == 0)
    std::snprintf(text.text, sizeof text.text, "%s", mxrt_dtype_name(shape.type));
  return text;
}

Status Restorer::open() {
  MXRT_CHECK(index.read());
  MXRT_CHECK(index.verify());
  return used.resize(index.tensors.size()) ? success() : outOfMemory(host.allocator());
}

// -- comparing ----------------------------------------------------------------

Status Restorer::differs(std::string_view name, const char *format, const char *first,
                         const char *second) {
  if (count++ >= maxListed)
    return success();
  char line[600];
  int length = std::snprintf(line, sizeof line, format, int(std::min<size_t>(name.size(), 200)),
                             name.data(), first, second);
  bool room =
      text.push('\n') && io::append(text, {line, std::min(size_t(length), sizeof line - 1)});
  return room ? success() : outOfMemory(text.allocator());
}

Status Restorer::checkEntry(const SavedShape &shape, bool isText) {
  std::string_view name = paths.path();
  ShapeText want = textOf({shape.type, shape.rank, shape.sizes});
  const io::SafeTensor *tensor = index.find(name);
  if (!tensor)
    return differs(name, "missing from the file: `%.*s`, %s%s", want.text, "");
  use(*tensor);
  bool same = tensor->type == shape.type && tensor->rank == shape.rank &&
              (isText || std::equal(shape.sizes, shape.sizes + shape.rank, tensor->sizes));
  if (same)
    return success();
  ShapeText have = textOf({tensor->type, tensor->rank, tensor->sizes});
  return differs(name, "`%.*s` is %s in the file, %s in the program", have.text, want.text);
}

Status Restorer::check(const Value &value) {
  return paths.visit(value, [&](const Value &leaf) {
    if (const StoredHandle *handle = storedHandle(leaf))
      return handle->check(leaf, *this);
    SavedShape shape;
    int64_t length = 0;
    return savedShape(leaf, shape, length) ? checkEntry(shape, leaf.kind == Kind::Str) : success();
  });
}

Status Restorer::checkExtras(std::string_view root) {
  for (size_t i = 0; i < index.tensors.size(); ++i) {
    std::string_view name = index.tensors[i].name;
    bool below = name == root || (name.size() > root.size() && name[root.size()] == '.' &&
                                  name.substr(0, root.size()) == root);
    if (!below || used[i])
      continue;
    const io::SafeTensor &tensor = index.tensors[i];
    used[i] = true;
    ShapeText have = textOf({tensor.type, tensor.rank, tensor.sizes});
    MXRT_CHECK(differs(name, "not in the program: `%.*s`, %s%s", have.text, ""));
  }
  return success();
}

Status Restorer::outcome(const char *path) const {
  if (count == 0)
    return success();
  char more[64] = "";
  if (count > maxListed)
    std::snprintf(more, sizeof more, "\nand %zu more", count - maxListed);
  return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
               "`%s` does not fit what is restored from it%.*s%s", path, int(text.size()),
               text.data(), more);
}

// -- reading ------------------------------------------------------------------

/// Compiled code requires that a bool is 0 or 1.
static Status checkBools(io::SafetensorsIndex &index, const io::SafeTensor &tensor,
                         const void *data) {
  for (int64_t i = 0; tensor.type == MXRT_BOOL && i < tensor.bytes; ++i)
    if (static_cast<const unsigned char *>(data)[i] > 1)
      return index.input.malformed(tensor.begin + i, "bool", "a bool is 0 or 1, this is %d",
                                   static_cast<const unsigned char *>(data)[i]);
  return success();
}

Status Restorer::readTensor(const io::SafeTensor &entry, mxrt_device device, TensorRef &out) {
  mxrt_tensor *made = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(host.options.runtime, &device, entry.type, entry.rank,
                                       entry.sizes, &location, &made)));
  out = TensorRef(made);
  MXRT_CHECK(index.readTensor(entry, made->data()));
  return checkBools(index, entry, made->data());
}

Status Restorer::readLeaf(host::Heap &heap, const Value &old, Value &out) {
  SavedShape shape;
  int64_t length = 0;
  if (!savedShape(old, shape, length)) {
    out = old;
    host::retain(out);
    return success();
  }
  const io::SafeTensor &found = *index.find(paths.path());
  if (old.kind == Kind::Str) {
    host::StrObject *text = host::makeStrRoom(heap, static_cast<size_t>(found.bytes));
    if (!text)
      return heap.exhausted();
    out = Value(Kind::Str, text);
    MXRT_CHECK(index.readTensor(found, text->text()));
    if (!host::isUtf8(text->view()))
      return index.input.malformed(found.begin, "utf-8", "a text is not UTF-8");
    return success();
  }
  if (const mxrt_tensor *tensor = tensorOf(old)) {
    TensorRef read;
    MXRT_CHECK(readTensor(found, mxrt_tensor_device(tensor), read));
    out = eager::makeTensorValue(heap, read.get());
    if (!out.isSet())
      return heap.exhausted();
    read.release();
    return success();
  }
  out = Value(old.kind, int64_t(0));
  MXRT_CHECK(index.readTensor(found, &out.i));
  return checkBools(index, found, &out.i);
}

Status Restorer::read(host::Heap &heap, const Value &old, Value &out) {
  return paths.rebuild(
      heap, old, [&](const Value &leaf, Value &made) { return readLeaf(heap, leaf, made); }, out);
}

/// The contents of handles, which are not replaced themselves.
static Status readHandles(Restorer &from, const Value &value, std::string_view file) {
  return from.paths.visit(value, [&](const Value &leaf) {
    const StoredHandle *handle = storedHandle(leaf);
    return handle ? handle->read(leaf, from, file) : success();
  });
}
static Status commitHandles(const Value &value) {
  if (const StoredHandle *handle = storedHandle(value))
    return handle->commit(value);
  if (host::isAggregate(value.kind))
    for (const Value &part : value.aggregate()->view())
      MXRT_CHECK(commitHandles(part));
  return success();
}

/// restore(path, name, value, name, value, ...) -> (value, ...)
static Status restore(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  io::SafetensorsIndex index(input);
  Restorer from(host, call.location, index);
  MXRT_CHECK(from.open());
  for (size_t i = 1; i + 1 < call.args.size(); i += 2) {
    MXRT_CHECK(from.paths.begin(call.args[i].str()->view()));
    MXRT_CHECK(from.check(call.args[i + 1]));
  }
  for (size_t i = 1; i + 1 < call.args.size(); i += 2)
    MXRT_CHECK(from.checkExtras(call.args[i].str()->view()));
  MXRT_CHECK(from.outcome(path));
  host::Heap &heap = call.vm.heap();
  size_t count = call.args.size() / 2;
  host::AggregateObject *tuple = host::makeAggregate(heap, static_cast<uint32_t>(count), nullptr);
  if (!tuple)
    return heap.exhausted();
  Value made(Kind::Tuple, tuple);
  Status status;
  for (size_t i = 1; i + 1 < call.args.size() && status.ok(); i += 2) {
    Value value;
    status = from.paths.begin(call.args[i].str()->view());
    if (status.ok())
      status = readHandles(from, call.args[i + 1], path);
    if (status.ok())
      status = from.read(heap, call.args[i + 1], value);
    if (status.ok())
      ::new (tuple->items() + tuple->count++) Value(value);
  }
  for (size_t i = 2; i < call.args.size() && status.ok(); i += 2)
    status = commitHandles(call.args[i]);
  if (status.failed()) {
    host::release(heap, made);
    return status;
  }
  call.result = made;
  return success();
}

static constexpr ParamData path[] = {{Kind::Str, false}};
static const NativeRow natives[] = {{"mx.restore", path, true, Kind::Tuple, restore}};
const NativeGroup mxrt_natives_restore = {"mxrt_natives_restore", natives, std::size(natives)};

} // namespace mxrt::data
