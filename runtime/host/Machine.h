// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internals of a VM: frames, the pending error, names, flags. Vm is the public interface.

#ifndef MXRT_HOST_MACHINE_H
#define MXRT_HOST_MACHINE_H

#include "host/Program.h"
#include "host/Vm.h"

#include <atomic>

namespace mxrt::host {

/// A segment of the stack. Frames never move, so pointers to registers stay valid.
struct Segment {
  Segment *previous;
  Segment *next;
  size_t size; // bytes, this header included
  char *begin() { return reinterpret_cast<char *>(this + 1); }
  char *end() { return reinterpret_cast<char *>(this) + size; }
};

/// The frame of one running call; its registers follow it. `pc` points behind the running
/// instruction or, in callers, behind the call.
struct Frame {
  Frame *caller;
  const Function *fn;
  const Instr *pc;
  ClosureObject *owner; // retained; the first arguments came from it
  Value *hostArgs;      // of an entry frame: arguments passed by the host
  char *resumeTop;      // top of the stack without this frame
  Segment *resumeSegment;
  bool isEntry; // run() returns when it ends
  Value *registers() { return reinterpret_cast<Value *>(this + 1); }
};
static_assert(sizeof(Frame) % alignof(Value) == 0);

struct PendingError {
  static constexpr uint32_t maxLocations = 32;
  Status status;
  uint32_t count = 0;
  uint32_t elided = 0;
  Location locations[maxLocations]; // strings retained
};

/// A table sorted by name. Rows are pointers to structs with a `name`.
template <typename T> class NameTable {
public:
  explicit NameTable(Heap &heap) : rows(heap.allocator()) {}
  T *find(std::string_view name) const {
    size_t at = position(name);
    return at < rows.size() && rows[at]->name->view() == name ? rows[at]
                                                               : nullptr;
  }
  [[nodiscard]] bool insert(T *row) {
    size_t at = position(row->name->view());
    if (!rows.push(row))
      return false;
    for (size_t i = rows.size() - 1; i > at; --i)
      std::swap(rows[i], rows[i - 1]);
    return true;
  }
  void erase(T *row) {
    size_t at = position(row->name->view());
    for (; at + 1 < rows.size(); ++at)
      rows[at] = rows[at + 1];
    rows.pop();
  }
  Vec<T *> rows;

private:
  size_t position(std::string_view name) const {
    size_t low = 0, high = rows.size();
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (rows[middle]->name->view() < name)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

struct Machine {
  explicit Machine(const VmOptions &options);
  ~Machine();
  Status prepare();

  // Frames (Frames.cpp).

  /// Pushes a frame with blank registers, not yet linked as `frame`. nullptr with the error raised
  /// if a limit is exceeded.
  Frame *pushFrame(const Function &fn, ClosureObject *owner);
  /// Moves `mut` parameters of the top frame back to its caller, releases the rest, and makes the
  /// caller current.
  void popFrame();
  /// False, with the error raised, if a register of the list is unset.
  bool argumentsSet(const Value *registers, std::span<const uint16_t> list);
  /// Copies or moves the arguments named by `list` from `from` into `callee`, after the owner's
  /// captured values. All are set and have fitting kinds.
  void passArguments(Frame *callee, Value *from,
                     std::span<const uint16_t> list);
  /// Entry from outside: pushes a frame, runs the interpreter, returns the result.
  Status enter(const Function &fn, ClosureObject *owner, std::span<Value> args,
               Value &result);

  // Errors (Unwind.cpp). All of these return false, for `return raise(…)`.

  /// Starts unwinding with `status`; records the source locations of all frames (the traceback).
  bool raise(Status status);
  bool raise(mxrt_code code, const char *message);
  bool raiseValue(ErrorObject *error);
  bool raiseUnset();
  bool raiseMemory() { return raise(heap.exhausted()); }
  bool raiseKind(Kind wanted, Kind found);
  /// Searches for a handler from the top frame down to the next entry frame and unwinds to it.
  /// true: the top frame's pc is at the handler.
  bool unwind();
  void clearPending();
  Location locationOf(const Frame &frame) const;
  mxrt_location currentLocation() const;

  // Hooks and budget (Interpreter.cpp calls these off its fast path).

  /// Called before each instruction while there is a hook or a budget.
  bool watch();
  /// Checks cancellation and budget for natives and long instructions.
  bool poll(uint64_t work);

  /// The dispatch loop (Interpreter.cpp). Runs the top frame, an entry frame.
  bool interpret(Value &result);

  enum : uint32_t { cancelBit = 1, watchBit = 2 };
  void updateWatching();

  // Values (ExecText.cpp).
  bool showValue(const Value &value, Text &out);
  bool formatValue(const Value &value, std::string_view spec, Text &out);
  bool equalValues(const Value &a, const Value &b, bool &equal);

  VmOptions options;
  Heap heap;
  /// Checked on each jump and call: cancelBit | watchBit.
  std::atomic<uint32_t> attention{0};
  Vm face;
  NameTable<NativeEntry> natives;
  NameTable<Global> globals;

  Frame *frame = nullptr;
  uint32_t depth = 0;
  uint32_t nativeDepth = 0;
  Segment *firstSegment = nullptr;
  Segment *segment = nullptr; // the segment with the top of the stack
  char *top = nullptr;

  PendingError pending;
  /// Bound by a catch when a new error object cannot be allocated.
  ErrorObject *memoryError = nullptr;

  StatementHook hook = nullptr;
  void *hookContext = nullptr;
  bool hasBudget = false;
  uint64_t budget = 0;
};

void dropGlobalRef(Heap &heap, Global *global);
/// Releases the value and the table's reference.
void dropGlobal(Heap &heap, Global *global);

/// Stores `value`, whose reference it takes, into a register declared as `declared`; raises R0803
/// if the kind does not fit.
inline bool storeChecked(Machine &m, Value &slot, Kind declared, Value value) {
  if (!fits(value.kind, declared) || !value.isSet()) [[unlikely]] {
    Kind found = value.kind;
    release(m.heap, value);
    return m.raiseKind(declared, found);
  }
  replace(m.heap, slot, value);
  return true;
}

// The instructions marked MX_SLOW. `r` are the registers of the top frame, whose pc is up to date.
// false: an error is pending.
#define MX_FAST(Name, mnemonic, A, B, C, doc)
#define MX_SLOW(Name, mnemonic, A, B, C, doc)                                  \
  bool exec##Name(Machine &m, Value *r, Instr instr);
#include "host/Opcodes.def"

} // namespace mxrt::host

#endif // MXRT_HOST_MACHINE_H
