// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls to native code, and function values.

#include "host/Machine.h"

namespace mxrt::host {

/// Bools are 0 or 1 in a register, whatever non-zero value the host uses.
static void normalise(Value &value) {
  if (value.kind == Kind::Bool)
    value.i = value.i != 0;
}

/// A native leaves each `mut` argument with a value of its kind. This is checked, because a
/// register of an inline kind must never hold another kind.
static bool takeBack(Machine &m, Value *r, std::span<const uint16_t> list,
                     Value *args) {
  bool valid = true;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!(list[i] & mutBit))
      continue;
    Value &slot = r[list[i] & ~mutBit];
    Kind declared = m.frame->fn->data->registers[list[i] & ~mutBit];
    normalise(args[i]);
    if (args[i].isSet() && fits(args[i].kind, declared)) {
      slot = args[i]; // unset or inline before: nothing to release
    } else {
      valid = false;
      release(m.heap, args[i]);
    }
  }
  return valid;
}

static bool callOut(Machine &m, Value *r, Instr instr) {
  const Import &import = m.frame->fn->program->imports[instr.b];
  std::span<const uint16_t> list = m.frame->fn->data->lists[instr.c];
  if (!m.argumentsSet(r, list))
    return false;
  Value small[16];
  Value *args = small;
  size_t bytes = list.size() * sizeof(Value);
  if (list.size() > std::size(small)) {
    args = static_cast<Value *>(m.heap.allocate(bytes));
    if (!args)
      return m.raiseMemory();
  }
  for (size_t i = 0; i < list.size(); ++i) {
    Value &source = r[list[i] & ~mutBit];
    ::new (args + i) Value(source);
    if (list[i] & mutBit && !isInline(source.kind))
      source = Value();
  }
  Invocation call = {m.face, import.name->view(), {args, list.size()},
                     Value::unit(), m.currentLocation()};
  Status status =
      import.native
          ? import.native->function(import.native->context, call)
          : m.options.host->invoke(import.data->sort, import.target, call);
  bool argsValid = takeBack(m, r, list, args);
  if (args != small)
    m.heap.release(args, bytes);
  if (status.failed()) {
    release(m.heap, call.result);
    return m.raise(std::move(status));
  }
  normalise(call.result);
  m.clearPending(); // of a callback that failed and was handled
  if (!argsValid || !fits(call.result.kind, import.data->result) ||
      !call.result.isSet()) {
    release(m.heap, call.result);
    return m.raise(error(m.heap.baseAllocator(), MXRT_INTERNAL, noLocation,
                         "%s left a value of the wrong kind",
                         import.name->text()));
  }
  if (instr.a == noRegister)
    release(m.heap, call.result);
  else
    replace(m.heap, r[instr.a], call.result);
  return m.poll(0);
}

bool execCallNative(Machine &m, Value *r, Instr instr) {
  return callOut(m, r, instr);
}
bool execCallTensor(Machine &m, Value *r, Instr instr) {
  return callOut(m, r, instr);
}
bool execCallGraph(Machine &m, Value *r, Instr instr) {
  return callOut(m, r, instr);
}

bool execClosure(Machine &m, Value *r, Instr instr) {
  std::span<const uint16_t> list = m.frame->fn->data->lists[instr.c];
  if (!m.argumentsSet(r, list))
    return false;
  ClosureObject *closure = makeClosure(m.heap, m.frame->fn->program, instr.b,
                                       uint32_t(list.size()));
  if (!closure)
    return m.raiseMemory();
  for (size_t i = 0; i < list.size(); ++i) {
    retain(r[list[i]]);
    closure->captured()[i] = r[list[i]];
  }
  replace(m.heap, r[instr.a], Value(Kind::Fn, closure));
  return true;
}

} // namespace mxrt::host
