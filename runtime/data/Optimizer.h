// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimizer of a KVStore: a rule, and its state by key.

#ifndef MXRT_DATA_OPTIMIZER_H
#define MXRT_DATA_OPTIMIZER_H

#include "data/Checkpoint.h"

#include <algorithm>

namespace mxrt::data {

struct Rule {
  Rule(host::Heap &heap, const mxrt_allocator *alloc) : heap(heap), alloc(alloc), name(alloc) {}
  ~Rule() { host::release(heap, numbers); }
  host::Heap &heap;
  const mxrt_allocator *alloc;
  int64_t number = -1;
  Vec<char> name;
  host::Value numbers;
};

struct State {
  explicit State(const mxrt_allocator *alloc) : key(alloc), sizes(alloc) {}
  Vec<char> key;
  Vec<int64_t> sizes; // of the parameters
  host::Value value;  // unset while it is taken
  bool isTaken = false;
};

/// State of a checkpoint that no key has asked for.
struct Restored {
  explicit Restored(const mxrt_allocator *alloc) : file(alloc), entries(alloc) {}
  struct Entry {
    Vec<char> name; // `net.fc1.w.velocity.w`: that of the key, and the path in its state
    TensorRef tensor;
    std::string_view view() const { return {name.data(), name.size()}; }
    bool isOf(std::string_view key) const {
      return name.size() > key.size() && name[key.size()] == '.' && view().starts_with(key);
    }
  };
  Vec<char> file;
  Vec<Entry> entries;
  bool isUnasked = true; // by any key
};

struct Optimizer {
  Optimizer(host::Heap &heap, const mxrt_allocator *alloc, host::ForeignObject *rule)
      : heap(heap), alloc(alloc), rule(rule), states(alloc), restored(alloc), next(alloc) {
    host::retain(rule);
  }
  ~Optimizer() {
    clear();
    host::release(heap, rule);
  }
  void clear() {
    for (State *state : states) {
      host::release(heap, state->value);
      deleteObject(alloc, state);
    }
    states.clear();
  }
  host::Heap &heap;
  const mxrt_allocator *alloc;
  host::ForeignObject *rule;
  Vec<State *> states;
  Restored restored, next; // `next`: of a restore() that may still fail

  const Rule &by() const { return *static_cast<const Rule *>(rule->payload); }
  State *find(std::string_view key) const {
    for (State *state : states)
      if (std::string_view(state->key.data(), state->key.size()) == key)
        return state;
    return nullptr;
  }
};

extern const host::ForeignType optimizerType;

inline Optimizer &optimizerOf(const host::Value &value) {
  return *static_cast<Optimizer *>(value.foreign()->payload);
}

inline bool keepText(std::string_view text, Vec<char> &out) {
  if (!out.resize(text.size()))
    return false;
  std::copy_n(text.data(), text.size(), out.data());
  return true;
}

/// The error of a key whose state was taken and not put back.
Status lostState(const mxrt_allocator *alloc, std::string_view key);
/// mx.rule.restored
Status restoredState(void *context, host::Invocation &call);

} // namespace mxrt::data

#endif // MXRT_DATA_OPTIMIZER_H
