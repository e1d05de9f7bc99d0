// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves of reference-counted values, module variables, errors as values.

#include "host/Machine.h"

namespace mxrt::host {

static Kind declared(const Machine &m, uint16_t reg) {
  return m.frame->fn->data->registers[reg];
}

bool execCopy(Machine &m, Value *r, Instr instr) {
  Value value = r[instr.b];
  if (!value.isSet())
    return m.raiseUnset();
  retain(value);
  replace(m.heap, r[instr.a], value);
  return true;
}

bool execMove(Machine &m, Value *r, Instr instr) {
  Value value = r[instr.b];
  if (!value.isSet())
    return m.raiseUnset();
  r[instr.b] = Value(); // first: a may be b
  replace(m.heap, r[instr.a], value);
  return true;
}

bool execDrop(Machine &m, Value *r, Instr instr) {
  release(m.heap, r[instr.a]);
  return true;
}

bool execCast(Machine &m, Value *r, Instr instr) {
  Value value = r[instr.b];
  if (!value.isSet())
    return m.raiseUnset();
  retain(value);
  return storeChecked(m, r[instr.a], declared(m, instr.a), value);
}

bool execConst(Machine &m, Value *r, Instr instr) {
  Value value = m.frame->fn->program->constants[uint32_t(instr.wideBC())];
  retain(value);
  replace(m.heap, r[instr.a], value);
  return true;
}

bool execUnitImm(Machine &m, Value *r, Instr instr) {
  replace(m.heap, r[instr.a], Value::unit());
  return true;
}

bool execGetGlobal(Machine &m, Value *r, Instr instr) {
  Value value = m.frame->fn->program->globals[instr.b]->value;
  if (!value.isSet())
    return m.raiseUnset();
  retain(value);
  replace(m.heap, r[instr.a], value);
  return true;
}

bool execTakeGlobal(Machine &m, Value *r, Instr instr) {
  Value &slot = m.frame->fn->program->globals[instr.b]->value;
  Value value = slot;
  if (!value.isSet())
    return m.raiseUnset();
  if (!isInline(value.kind))
    slot = Value();
  replace(m.heap, r[instr.a], value);
  return true;
}

bool execSetGlobal(Machine &m, Value *r, Instr instr) {
  Value value = r[instr.b];
  if (!value.isSet())
    return m.raiseUnset();
  Global &global = *m.frame->fn->program->globals[instr.a];
  if (global.dropped)
    return m.raise(error(m.heap.baseAllocator(), MXRT_INVALID_ARGUMENT, noLocation,
                         "variable '%s' was removed", global.name->text()));
  retain(value);
  replace(m.heap, global.value, value);
  return true;
}

bool execMakeError(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  // Literal text: no formatting, so `%` has no meaning in it.
  Status status(mxrt_status_text(m.heap.baseAllocator(), mxrt_code(instr.c),
                                 &noLocation, r[instr.b].str()->text()));
  ErrorObject *error =
      makeError(m.heap, std::move(status), std::span<const Location>(), 0);
  if (!error)
    return m.raiseMemory();
  replace(m.heap, r[instr.a], Value(Kind::Error, error));
  return true;
}

static bool storeStr(Machine &m, Value &slot, std::string_view text) {
  StrObject *str = makeStr(m.heap, text);
  if (!str)
    return m.raiseMemory();
  replace(m.heap, slot, Value(Kind::Str, str));
  return true;
}

bool execErrMessage(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  std::string_view message =
      mxrt_status_message(r[instr.b].error()->status);
  // The engine's note names the op that failed: an eager one, or a whole graph.
  // Programs get one message for both.
  if (size_t note = message.rfind("\nnote: in op '"); note != message.npos)
    message = message.substr(0, note);
  return storeStr(m, r[instr.a], message);
}

bool execErrCodeText(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  unsigned code = mxrt_status_code(r[instr.b].error()->status);
  char text[8] = {'R'};
  for (int i = 4; i >= 1; --i, code /= 10)
    text[i] = char('0' + code % 10);
  return storeStr(m, r[instr.a], text);
}

bool execErrLocation(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  ErrorObject *error = r[instr.b].error();
  Text text(m.heap);
  if (error->count) {
    const Location &location = error->locations()[0];
    text.append(location.file->view());
    text.append(':');
    text.appendInt(location.line);
    text.append(':');
    text.appendInt(location.column);
  }
  if (text.failed())
    return m.raiseMemory();
  return storeStr(m, r[instr.a], text.view());
}

} // namespace mxrt::host
