// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints: save(path, net, opt, first=epoch + 1) and restore(path, mut net, ...). Every number
// and tensor of a value is stored under its access path in a safetensors file. Functions and
// handles cannot be stored and are skipped.

#include "data/DataHost.h"
#include "data/Numbers.h"
#include "eager/TensorValue.h"
#include "io/Json.h"
#include "io/Safetensors.h"
#include "memory/Tensor.h"
#include "mxrt/call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::data {

using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

/// Maximum nesting depth of values, the same as for printing.
constexpr unsigned maxNesting = 200;
/// Maximum number of differences that are listed. Of the others only the count is reported.
constexpr size_t maxListed = 40;

/// Type and shape of a leaf of a value in a file.
struct Leaf {
  mxrt_dtype type = MXRT_F32;
  int32_t rank = 0;
  const int64_t *sizes = nullptr;
};

bool isLeaf(const Value &value, Leaf &leaf, int64_t &length) {
  switch (value.kind) {
  case Kind::Bool:
    leaf.type = MXRT_BOOL;
    return true;
  case Kind::Int:
    leaf.type = MXRT_I64;
    return true;
  case Kind::F32:
    leaf.type = MXRT_F32;
    return true;
  case Kind::F64:
    leaf.type = MXRT_F64;
    return true;
  case Kind::Str: // as its bytes
    length = static_cast<int64_t>(value.str()->size);
    leaf = {MXRT_U8, 1, &length};
    return true;
  default:
    if (const mxrt_tensor *tensor = tensorOf(value)) {
      leaf = {tensor->type, tensor->rank, tensor->sizes()};
      return true;
    }
    return false;
  }
}

/// `f32[3, 4]`, or `i64` for a single number.
ShapeText leafText(const ShapeRef &shape) {
  ShapeText text = shapeText(shape);
  if (shape.rank == 0)
    std::snprintf(text.text, sizeof text.text, "%s", mxrt_dtype_name(shape.type));
  return text;
}

/// Visits the leaves of a value with their paths.
class Walker {
public:
  Walker(DataHost &host, Invocation &call)
      : host(host), call(call), alloc(host.allocator()), path(alloc) {}

  Status begin(const Value &name) {
    path.clear();
    std::string_view text = name.str()->view();
    return io::append(path, text) ? success() : outOfMemory(alloc);
  }

  template <typename Visit> Status walk(const Value &value, unsigned nesting, const Visit &visit) {
    Leaf leaf;
    int64_t length = 0;
    if (isLeaf(value, leaf, length))
      return visit(value, leaf);
    if (!host::isAggregate(value.kind))
      return success();
    if (nesting == maxNesting)
      return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "values are nested deeper than %u",
                   maxNesting);
    for (uint32_t i = 0; i < value.aggregate()->count; ++i) {
      size_t before = path.size();
      MXRT_CHECK(step(value, i));
      MXRT_CHECK(walk(value.aggregate()->items()[i], nesting + 1, visit));
      if (!path.resize(before)) // never fails: it only shrinks
        return outOfMemory(alloc);
    }
    return success();
  }

  std::string_view here() const { return {path.data(), path.size()}; }
  /// `.name` of a field, `.3` of an unnamed part.
  Status step(const Value &value, uint32_t i) {
    char number[16];
    std::string_view name(number, size_t(std::snprintf(number, sizeof number, "%u", i)));
    if (host::StructTypeObject *type = value.aggregate()->type)
      name = type->fields()[i]->view();
    bool room = path.push('.') && io::append(path, name);
    return room ? success() : outOfMemory(alloc);
  }

  DataHost &host;
  Invocation &call;
  const mxrt_allocator *alloc;
  Vec<char> path;
};

// -- save ---------------------------------------------------------------------

/// Entries to write, with the objects that must stay alive.
struct Collected {
  explicit Collected(const mxrt_allocator *alloc)
      : entries(alloc), names(alloc), numbers(alloc), tensors(alloc) {}
  ~Collected() {
    for (char *name : names)
      releaseBytes(names.allocator(), name, std::strlen(name) + 1);
  }
  Vec<io::SafeEntry> entries;
  Vec<char *> names;
  Vec<Box<Value>> numbers;
  Vec<TensorRef> tensors;
};

Status collectTensor(Walker &walker, Collected &out, mxrt_tensor *tensor, io::SafeEntry &entry) {
  mxrt_runtime *runtime = walker.host.options.runtime;
  TensorRef dense;
  MXRT_CHECK(denseOf(walker.host, tensor, walker.call.location, dense));
  MXRT_CHECK(Status(mxrt_tensor_wait(runtime, dense.get(), &walker.call.location)));
  entry.data = dense->data();
  entry.bytes = mxrt_tensor_bytes(dense.get());
  entry.sizes = dense->sizes();
  return out.tensors.push(std::move(dense)) ? success() : outOfMemory(walker.alloc);
}

Status collect(Walker &walker, Collected &out, const Value &value, const Leaf &leaf) {
  std::string_view path = walker.here();
  auto *name = static_cast<char *>(allocateBytes(walker.alloc, path.size() + 1));
  if (!name)
    return outOfMemory(walker.alloc);
  std::memcpy(name, path.data(), path.size());
  name[path.size()] = 0;
  if (!out.names.push(name)) {
    releaseBytes(walker.alloc, name, path.size() + 1);
    return outOfMemory(walker.alloc);
  }
  io::SafeEntry entry = {{name, path.size()},       leaf.type, leaf.rank, nullptr, nullptr,
                         mxrt_dtype_size(leaf.type)};
  if (mxrt_tensor *tensor = tensorOf(value)) {
    MXRT_CHECK(collectTensor(walker, out, tensor, entry));
  } else {
    // Numbers are stored in the value itself. The size of a string serves as its shape.
    Box<Value> copy = MXRT_TRY(makeBox<Value>(walker.alloc, value));
    entry.data = &copy->i;
    if (value.kind == Kind::Str) {
      entry.data = value.str()->text();
      entry.bytes = static_cast<int64_t>(value.str()->size);
      *copy = Value::integer(entry.bytes);
      entry.sizes = &copy->i;
    }
    if (!out.numbers.push(std::move(copy)))
      return outOfMemory(walker.alloc);
  }
  return out.entries.push(entry) ? success() : outOfMemory(walker.alloc);
}

/// save(path, name, value, name, value, ...)
Status save(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  Walker walker(host, call);
  Collected collected(host.allocator());
  for (size_t i = 1; i + 1 < call.args.size(); i += 2) {
    MXRT_CHECK(walker.begin(call.args[i]));
    MXRT_CHECK(walker.walk(call.args[i + 1], 0, [&](const Value &value, const Leaf &leaf) {
      return collect(walker, collected, value, leaf);
    }));
  }
  // Two values under one name could not be restored separately.
  std::sort(collected.entries.begin(), collected.entries.end(),
            [](const io::SafeEntry &a, const io::SafeEntry &b) { return a.name < b.name; });
  for (size_t i = 1; i < collected.entries.size(); ++i)
    if (collected.entries[i].name == collected.entries[i - 1].name)
      return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                   "two values would be saved as `%.*s`", int(collected.entries[i].name.size()),
                   collected.entries[i].name.data());
  return io::writeSafetensors(host.allocator(), path, collected.entries);
}

// -- restore ------------------------------------------------------------------

/// Differences between a file and the values to restore.
struct Differences {
  explicit Differences(const mxrt_allocator *alloc) : text(alloc), used(alloc) {}
  Status add(std::string_view name, const char *format, const char *first, const char *second) {
    if (count++ >= maxListed)
      return success();
    char line[600];
    int length = std::snprintf(line, sizeof line, format, int(std::min<size_t>(name.size(), 200)),
                               name.data(), first, second);
    bool room =
        text.push('\n') && io::append(text, {line, std::min(size_t(length), sizeof line - 1)});
    return room ? success() : outOfMemory(text.allocator());
  }
  size_t count = 0;
  Vec<char> text;
  Vec<bool> used; // of each tensor of the file
};

Status compare(Walker &walker, io::SafetensorsIndex &index, Differences &found, const Leaf &leaf,
               bool isText) {
  std::string_view name = walker.here();
  ShapeText want = leafText({leaf.type, leaf.rank, leaf.sizes});
  const io::SafeTensor *tensor = index.find(name);
  if (!tensor)
    return found.add(name, "missing from the file: `%.*s`, %s%s", want.text, "");
  found.used[static_cast<size_t>(tensor - index.tensors.data())] = true;
  bool same = tensor->type == leaf.type && tensor->rank == leaf.rank &&
              (isText || std::equal(leaf.sizes, leaf.sizes + leaf.rank, tensor->sizes));
  if (same)
    return success();
  ShapeText have = leafText({tensor->type, tensor->rank, tensor->sizes});
  return found.add(name, "`%.*s` is %s in the file, %s in the program", have.text, want.text);
}

/// Names of the file below `root` that no value requested.
Status addExtras(io::SafetensorsIndex &index, std::string_view root, Differences &found) {
  for (size_t i = 0; i < index.tensors.size(); ++i) {
    std::string_view name = index.tensors[i].name;
    bool below = name == root || (name.size() > root.size() && name[root.size()] == '.' &&
                                  name.substr(0, root.size()) == root);
    if (!below || found.used[i])
      continue;
    const io::SafeTensor &tensor = index.tensors[i];
    found.used[i] = true;
    ShapeText have = leafText({tensor.type, tensor.rank, tensor.sizes});
    MXRT_CHECK(found.add(name, "not in the program: `%.*s`, %s%s", have.text, ""));
  }
  return success();
}

/// Compiled code requires that a bool is 0 or 1.
Status checkBools(io::SafetensorsIndex &index, const io::SafeTensor &tensor, const void *data) {
  for (int64_t i = 0; tensor.type == MXRT_BOOL && i < tensor.bytes; ++i)
    if (static_cast<const unsigned char *>(data)[i] > 1)
      return index.input.malformed(tensor.begin + i, "bool", "a bool is 0 or 1, this is %d",
                                   static_cast<const unsigned char *>(data)[i]);
  return success();
}

/// A value of the structure of `old` with the contents of the file.
Status rebuild(Walker &walker, io::SafetensorsIndex &index, const Value &old, Value &out) {
  host::Heap &heap = walker.call.vm.heap();
  Leaf leaf;
  int64_t length = 0;
  if (isLeaf(old, leaf, length)) {
    const io::SafeTensor &found = *index.find(walker.here());
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
    if (tensorOf(old)) {
      mxrt_tensor *made = nullptr;
      mxrt_device device = mxrt_tensor_device(tensorOf(old));
      MXRT_CHECK(Status(mxrt_tensor_create(walker.host.options.runtime, &device, leaf.type,
                                           leaf.rank, leaf.sizes, &walker.call.location, &made)));
      TensorRef owner(made);
      MXRT_CHECK(index.readTensor(found, made->data()));
      MXRT_CHECK(checkBools(index, found, made->data()));
      out = eager::makeTensorValue(heap, made);
      if (!out.isSet())
        return heap.exhausted();
      owner.release();
      return success();
    }
    out = Value(old.kind, int64_t(0));
    MXRT_CHECK(index.readTensor(found, &out.i));
    return checkBools(index, found, &out.i);
  }
  if (!host::isAggregate(old.kind)) {
    out = old;
    host::retain(out);
    return success();
  }
  host::AggregateObject *from = old.aggregate();
  host::AggregateObject *made = host::makeAggregate(heap, from->count, from->type);
  if (!made)
    return heap.exhausted();
  out = Value(old.kind, made);
  for (uint32_t i = 0; i < from->count; ++i) {
    size_t before = walker.path.size();
    MXRT_CHECK(walker.step(old, i));
    Value part;
    Status status = rebuild(walker, index, from->items()[i], part);
    if (!status.ok()) {
      host::release(heap, part);
      return status;
    }
    ::new (made->items() + made->count++) Value(part);
    if (!walker.path.resize(before))
      return outOfMemory(walker.alloc);
  }
  return success();
}

/// restore(path, name, value, name, value, ...) -> (value, ...)
Status restore(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  io::SafetensorsIndex index(input);
  MXRT_CHECK(index.read());
  MXRT_CHECK(index.verify());
  Walker walker(host, call);
  Differences found(host.allocator());
  if (!found.used.resize(index.tensors.size()))
    return outOfMemory(host.allocator());
  for (size_t i = 1; i + 1 < call.args.size(); i += 2) {
    MXRT_CHECK(walker.begin(call.args[i]));
    MXRT_CHECK(walker.walk(call.args[i + 1], 0, [&](const Value &value, const Leaf &leaf) {
      return compare(walker, index, found, leaf, value.kind == Kind::Str);
    }));
  }
  for (size_t i = 1; i + 1 < call.args.size(); i += 2)
    MXRT_CHECK(addExtras(index, call.args[i].str()->view(), found));
  if (found.count > 0) {
    char more[64] = "";
    if (found.count > maxListed)
      std::snprintf(more, sizeof more, "\nand %zu more", found.count - maxListed);
    return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                 "`%s` does not fit what is restored from it%.*s%s", path, int(found.text.size()),
                 found.text.data(), more);
  }
  host::Heap &heap = call.vm.heap();
  size_t count = call.args.size() / 2;
  host::AggregateObject *tuple = host::makeAggregate(heap, static_cast<uint32_t>(count), nullptr);
  if (!tuple)
    return heap.exhausted();
  call.result = Value(Kind::Tuple, tuple);
  for (size_t i = 1; i + 1 < call.args.size(); i += 2) {
    MXRT_CHECK(walker.begin(call.args[i]));
    Value value;
    Status status = rebuild(walker, index, call.args[i + 1], value);
    if (!status.ok()) {
      host::release(heap, value);
      host::release(heap, call.result);
      call.result = Value::unit();
      return status;
    }
    ::new (tuple->items() + tuple->count++) Value(value);
  }
  return success();
}

} // namespace

static constexpr ParamData path[] = {{Kind::Str, false}};
static const NativeRow natives[] = {{"mx.save", path, true, Kind::Unit, save},
                                    {"mx.restore", path, true, Kind::Tuple, restore}};
const NativeGroup mxrt_natives_checkpoints = {"mxrt_natives_checkpoints", natives,
                                              std::size(natives)};

} // namespace mxrt::data
