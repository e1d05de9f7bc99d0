// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a KVStore's optimizer in checkpoints: the name of the rule, and the state by key.
// What is read from a file waits until the program, which knows the structure of a state, makes
// that of the key.

#include "data/Optimizer.h"
#include "eager/TensorValue.h"

#include <algorithm>
#include <cstring>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::Value;

Status lostState(const mxrt_allocator *alloc, std::string_view key) {
  return error(alloc, MXRT_KVSTORE, noLocation,
               "the state of `%.*s` was lost when an earlier step failed\nhelp: restore a "
               "checkpoint of the weights and of the KVStore",
               int(key.size()), key.data());
}

static std::string_view nameOf(const Optimizer &optimizer) {
  const Vec<char> &name = optimizer.by().name;
  return {name.data(), name.size()};
}

static Status saveOptimizer(const Value &value, Saver &to) {
  Optimizer &optimizer = optimizerOf(value);
  MXRT_CHECK(to.addText(nameOf(optimizer)));
  size_t root = to.paths.path().size();
  for (const State *state : optimizer.states) {
    std::string_view key(state->key.data(), state->key.size());
    if (state->isTaken)
      return lostState(optimizer.alloc, key);
    MXRT_CHECK(to.paths.enter(key));
    if (state->value.isSet())
      MXRT_CHECK(to.add(state->value));
    to.paths.leave(root);
  }
  for (const Restored::Entry &entry : optimizer.restored.entries) {
    MXRT_CHECK(to.paths.enter(entry.view()));
    MXRT_CHECK(to.addTensor(entry.tensor.get()));
    to.paths.leave(root);
  }
  return success();
}

static Status checkOptimizer(const Value &value, Restorer &from) {
  Optimizer &optimizer = optimizerOf(value);
  std::string_view name = nameOf(optimizer), path = from.paths.path();
  auto length = static_cast<int64_t>(name.size());
  MXRT_CHECK(from.checkEntry({MXRT_U8, 1, &length}, true));
  const io::SafeTensor *found = from.index.find(path);
  if (found && found->type == MXRT_U8 && found->rank == 1) {
    Vec<char> have(optimizer.alloc), want(optimizer.alloc);
    if (!have.resize(size_t(found->bytes) + 1) || !keepText(name, want) || !want.push(0))
      return outOfMemory(optimizer.alloc);
    MXRT_CHECK(from.index.readTensor(*found, have.data()));
    if (std::string_view(have.data(), size_t(found->bytes)) != name)
      MXRT_CHECK(from.differs(path,
                              "`%.*s` is the state of `%s` in the file, of `%s` in the program",
                              have.data(), want.data()));
  }
  return eachEntryBelow(from, [&](const io::SafeTensor &entry, std::string_view) {
    from.use(entry);
    return entry.type < MXRT_DTYPE_COUNT
               ? success()
               : from.differs(entry.name, "`%.*s` has an element type that %s%s", "is not known",
                              "");
  });
}

static Status readOptimizer(const Value &value, Restorer &from, std::string_view file) {
  Optimizer &optimizer = optimizerOf(value);
  optimizer.next.entries.clear();
  if (!keepText(file, optimizer.next.file))
    return outOfMemory(optimizer.alloc);
  return eachEntryBelow(from, [&](const io::SafeTensor &entry, std::string_view name) {
    Restored::Entry made = {Vec<char>(optimizer.alloc), TensorRef()};
    if (!keepText(name, made.name))
      return outOfMemory(optimizer.alloc);
    MXRT_CHECK(from.readTensor(entry, {MXRT_CPU, 0}, made.tensor));
    return optimizer.next.entries.push(std::move(made)) ? success() : outOfMemory(optimizer.alloc);
  });
}

static Status commitOptimizer(const Value &value) {
  Optimizer &optimizer = optimizerOf(value);
  optimizer.clear();
  optimizer.restored = std::move(optimizer.next);
  optimizer.next = Restored(optimizer.alloc);
  return success();
}

const StoredHandle storedOptimizer = {&optimizerType, saveOptimizer, checkOptimizer, readOptimizer,
                                      commitOptimizer};

// -- the first step of a key --------------------------------------------------

/// A leaf of a new state, with the elements of the checkpoint.
static Status restoreLeaf(DataHost &host, Invocation &call, Restored &restored,
                          std::string_view path, const Value &old, Value &out) {
  SavedShape want;
  int64_t length = 0;
  if (!savedShape(old, want, length)) {
    out = old;
    host::retain(out);
    return success();
  }
  Restored::Entry *found = nullptr;
  for (Restored::Entry &entry : restored.entries)
    if (entry.view() == path)
      found = &entry;
  const mxrt_tensor *have = found ? found->tensor.get() : nullptr;
  bool isText = old.kind == Kind::Str;
  if (!have || have->type != want.type || have->rank != want.rank ||
      !(isText || std::equal(want.sizes, want.sizes + want.rank, have->sizes()))) {
    ShapeText wanted = shapeText({want.type, want.rank, want.sizes}), there = {};
    if (have)
      there = shapeText({have->type, have->rank, have->sizes()});
    return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                 "step: `%.*s` does not fit the state of the optimizer: `%.*s` is %s in the file, "
                 "%s in the program",
                 int(restored.file.size()), restored.file.data(), int(path.size()), path.data(),
                 have ? there.text : "missing", wanted.text);
  }
  if (const mxrt_tensor *tensor = eager::tensorOf(old)) {
    mxrt_device device = mxrt_tensor_device(tensor);
    mxrt_tensor *made = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_create(host.options.runtime, &device, want.type, want.rank,
                                         want.sizes, &call.location, &made)));
    TensorRef owner(made);
    std::copy_n(have->data(), size_t(mxrt_tensor_bytes(made)), made->data());
    out = eager::makeTensorValue(call.vm.heap(), made);
    if (!out.isSet())
      return call.vm.heap().exhausted();
    owner.release();
    return success();
  }
  if (isText) {
    std::string_view text(have->data(), size_t(have->sizes()[0]));
    if (!host::isUtf8(text))
      return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                   "step: `%.*s`: the text `%.*s` is not UTF-8", int(restored.file.size()),
                   restored.file.data(), int(path.size()), path.data());
    host::StrObject *made = host::makeStr(call.vm.heap(), text);
    if (!made)
      return call.vm.heap().exhausted();
    out = Value(Kind::Str, made);
    return success();
  }
  out = Value(old.kind, int64_t(0));
  std::memcpy(&out.i, have->data(), size_t(mxrt_dtype_size(want.type)));
  return success();
}

Status restoredState(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Restored &restored = optimizerOf(call.args[0]).restored;
  std::string_view key = call.args[1].str()->view();
  auto isOfKey = [&](const Restored::Entry &entry) { return entry.isOf(key); };
  auto count = std::count_if(restored.entries.begin(), restored.entries.end(), isOfKey);
  if (count == 0) {
    // A key that was not updated before the checkpoint has no state there. But if it is the first
    // one after it, all of them have other names.
    if (restored.isUnasked && !restored.entries.empty()) {
      std::string_view other = restored.entries[0].view();
      return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                   "step: `%.*s` has no state of `%.*s`; it has `%.*s`\nhelp: name the variable of "
                   "the model as in the program that saved it",
                   int(restored.file.size()), restored.file.data(), int(key.size()), key.data(),
                   int(other.size()), other.data());
    }
    host::retain(call.args[2]);
    call.result = call.args[2];
    return success();
  }
  Leaves paths(host.allocator());
  MXRT_CHECK(paths.begin(key));
  int64_t used = 0;
  Value made;
  MXRT_CHECK(paths.rebuild(
      call.vm.heap(), call.args[2],
      [&](const Value &old, Value &out) {
        MXRT_CHECK(restoreLeaf(host, call, restored, paths.path(), old, out));
        SavedShape shape;
        int64_t length = 0;
        used += savedShape(old, shape, length);
        return success();
      },
      made));
  if (used != count) {
    host::release(call.vm.heap(), made);
    return error(host.allocator(), MXRT_CHECKPOINT, noLocation,
                 "step: `%.*s` does not fit the state of the optimizer: it has %lld values of "
                 "`%.*s`, the program %lld",
                 int(restored.file.size()), restored.file.data(), static_cast<long long>(count),
                 int(key.size()), key.data(), static_cast<long long>(used));
  }
  for (size_t i = restored.entries.size(); i-- > 0;)
    if (isOfKey(restored.entries[i]))
      restored.entries.swapRemove(i);
  restored.isUnasked = false;
  call.result = made;
  return success();
}

} // namespace mxrt::data
