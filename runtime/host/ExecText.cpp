// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strings, formats, printing, and comparison of any two values.

#include "host/Format.h"
#include "host/Machine.h"

namespace mxrt::host {

/// Maximum nesting of values that are shown or compared.
static constexpr unsigned maxNesting = 200;

static bool tooDeep(Machine &m) {
  return m.raise(error(m.heap.baseAllocator(), MXRT_INVALID_ARGUMENT, noLocation,
                       "values are nested deeper than %u", maxNesting));
}

//===-- Showing -------------------------------------------------------------===//

static bool showForeign(Machine &m, const Value &value, std::string_view spec,
                        Text &out) {
  Status status = m.options.host
                      ? m.options.host->show(value, spec, out)
                      : error(m.heap.baseAllocator(), MXRT_UNSUPPORTED, noLocation,
                              "this host cannot show a %s",
                              value.foreign()->type->name);
  return status.ok() ? true : m.raise(std::move(status));
}

static void showQuoted(Text &out, std::string_view text) {
  out.append('"');
  for (char c : text) {
    switch (c) {
    case '"':
      out.append("\\\"");
      break;
    case '\\':
      out.append("\\\\");
      break;
    case '\n':
      out.append("\\n");
      break;
    case '\t':
      out.append("\\t");
      break;
    default:
      out.append(c);
    }
  }
  out.append('"');
}

static bool show(Machine &m, const Value &value, Text &out, unsigned nesting);

static bool showParts(Machine &m, const Value &value, Text &out,
                      unsigned nesting) {
  AggregateObject *aggregate = value.aggregate();
  StructTypeObject *type = aggregate->type;
  if (type)
    out.append(type->name->view());
  out.append(value.kind == Kind::Array ? '[' : '(');
  for (uint32_t i = 0; i < aggregate->count; ++i) {
    if (i)
      out.append(", ");
    if (type) {
      out.append(type->fields()[i]->view());
      out.append('=');
    }
    if (!show(m, aggregate->items()[i], out, nesting + 1))
      return false;
  }
  if (value.kind == Kind::Tuple && aggregate->count == 1)
    out.append(',');
  out.append(value.kind == Kind::Array ? ']' : ')');
  return true;
}

static bool show(Machine &m, const Value &value, Text &out, unsigned nesting) {
  if (nesting > maxNesting)
    return tooDeep(m);
  if (out.failed()) // a shared part may be shown exponentially often
    return m.raiseMemory();
  if (nesting && !m.poll(1))
    return false;
  switch (value.kind) {
  case Kind::Unset:
    out.append("<moved>");
    return true;
  case Kind::Unit:
    out.append("()");
    return true;
  case Kind::Bool:
    out.append(value.i ? "true" : "false");
    return true;
  case Kind::Int:
    out.appendInt(value.i);
    return true;
  case Kind::F32:
    showF32(out, value.f);
    return true;
  case Kind::F64:
    showF64(out, value.d);
    return true;
  case Kind::DType:
    out.append(mxrt_dtype_name(mxrt_dtype(value.i)));
    return true;
  case Kind::Str:
    if (nesting)
      showQuoted(out, value.str()->view());
    else
      out.append(value.str()->view());
    return true;
  case Kind::Tuple:
  case Kind::Array:
  case Kind::Struct:
    return showParts(m, value, out, nesting);
  case Kind::Fn:
    out.append("<fn ");
    out.append(value.closure()
                   ->program->functions[value.closure()->function]
                   .name->view());
    out.append('>');
    return true;
  case Kind::Tensor:
  case Kind::Handle:
    return showForeign(m, value, {}, out);
  case Kind::Error:
    out.append(mxrt_status_message(value.error()->status));
    return true;
  case Kind::Any:
    break;
  }
  return m.raise(MXRT_INTERNAL, "a value of no kind");
}

bool Machine::showValue(const Value &value, Text &out) {
  return show(*this, value, out, 0);
}

bool Machine::formatValue(const Value &value, std::string_view text,
                          Text &out) {
  FormatSpec spec;
  const char *wrong = parseFormatSpec(text, spec);
  if (!wrong) {
    switch (value.kind) {
    case Kind::Bool:
      wrong = formatBool(out, spec, value.i);
      break;
    case Kind::Int:
      wrong = formatInt(out, spec, value.i);
      break;
    case Kind::F32:
      wrong = formatF32(out, spec, value.f);
      break;
    case Kind::F64:
      wrong = formatF64(out, spec, value.d);
      break;
    case Kind::Tensor:
    case Kind::Handle:
      return showForeign(*this, value, text, out);
    default: { // all others as the string that print shows
      Text shown(heap);
      if (!showValue(value, shown))
        return false;
      if (shown.failed())
        return raiseMemory();
      wrong = formatStr(out, spec, shown.view());
    }
    }
  }
  if (wrong)
    return raise(error(heap.baseAllocator(), MXRT_INVALID_ARGUMENT, noLocation,
                       "format '%.*s' for a value of %s: %s",
                       int(text.size() < 100 ? text.size() : 100), text.data(),
                       kindName(value.kind), wrong));
  return true;
}

//===-- Comparing -----------------------------------------------------------===//

static bool equal(Machine &m, const Value &a, const Value &b, bool &result,
                  unsigned nesting) {
  if (nesting > maxNesting)
    return tooDeep(m);
  if (nesting && !m.poll(1))
    return false;
  result = false;
  if (a.kind != b.kind)
    return true;
  switch (a.kind) {
  case Kind::Unset:
    return m.raiseUnset();
  case Kind::Unit:
    result = true;
    return true;
  case Kind::F32:
    result = a.f == b.f;
    return true;
  case Kind::F64:
    result = a.d == b.d;
    return true;
  case Kind::Str:
    result = a.str()->view() == b.str()->view();
    return true;
  case Kind::Tuple:
  case Kind::Array:
  case Kind::Struct: {
    AggregateObject *x = a.aggregate(), *y = b.aggregate();
    if (x->count != y->count || !x->type != !y->type ||
        (x->type && x->type->name->view() != y->type->name->view()))
      return true;
    for (uint32_t i = 0; i < x->count; ++i) {
      if (!equal(m, x->items()[i], y->items()[i], result, nesting + 1))
        return false;
      if (!result)
        return true;
    }
    result = true;
    return true;
  }
  case Kind::Tensor:
  case Kind::Handle:
    result = a.foreign()->payload == b.foreign()->payload;
    return true;
  default: // inline numbers by bits; functions and errors by identity
    result = a.i == b.i;
    return true;
  }
}

bool Machine::equalValues(const Value &a, const Value &b, bool &result) {
  return equal(*this, a, b, result, 0);
}

//===-- Instructions --------------------------------------------------------===//

static bool storeText(Machine &m, Value &slot, const Text &text) {
  StrObject *str = text.failed() ? nullptr : makeStr(m.heap, text.view());
  if (!str)
    return m.raiseMemory();
  replace(m.heap, slot, Value(Kind::Str, str));
  return true;
}

static bool compareStr(Machine &m, Value *r, Instr instr, int &order) {
  if (!r[instr.b].isSet() || !r[instr.c].isSet())
    return m.raiseUnset();
  order = r[instr.b].str()->view().compare(r[instr.c].str()->view());
  return true;
}
bool execEqStr(Machine &m, Value *r, Instr instr) {
  int order = 0;
  if (!compareStr(m, r, instr, order))
    return false;
  r[instr.a].i = order == 0;
  return true;
}
bool execLtStr(Machine &m, Value *r, Instr instr) {
  int order = 0;
  if (!compareStr(m, r, instr, order))
    return false;
  r[instr.a].i = order < 0;
  return true;
}
bool execLeStr(Machine &m, Value *r, Instr instr) {
  int order = 0;
  if (!compareStr(m, r, instr, order))
    return false;
  r[instr.a].i = order <= 0;
  return true;
}

bool execEqAny(Machine &m, Value *r, Instr instr) {
  bool result = false;
  if (!r[instr.b].isSet() || !r[instr.c].isSet())
    return m.raiseUnset();
  if (!m.equalValues(r[instr.b], r[instr.c], result))
    return false;
  r[instr.a].i = result;
  return true;
}

/// Concatenates all parts with one allocation.
static bool joinParts(Machine &m, Value *r, uint16_t to,
                      std::span<const uint16_t> list) {
  if (!m.argumentsSet(r, list))
    return false;
  size_t size = 0;
  for (uint16_t reg : list) {
    size += r[reg].str()->size;
    if (size > maxStrBytes)
      return m.raise(MXRT_MEMORY_LIMIT, "a string would be larger than 2 GiB");
  }
  StrObject *joined = makeStrRoom(m.heap, size);
  if (!joined)
    return m.raiseMemory();
  char *out = joined->text();
  for (uint16_t reg : list) {
    std::memcpy(out, r[reg].str()->text(), r[reg].str()->size);
    out += r[reg].str()->size;
  }
  replace(m.heap, r[to], Value(Kind::Str, joined));
  return true;
}

bool execConcat(Machine &m, Value *r, Instr instr) {
  const uint16_t parts[] = {instr.b, instr.c};
  return joinParts(m, r, instr.a, parts);
}
bool execJoin(Machine &m, Value *r, Instr instr) {
  return joinParts(m, r, instr.a, m.frame->fn->data->lists[instr.b]);
}

bool execFormat(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  Text text(m.heap);
  const Value &spec = m.frame->fn->program->constants[instr.c];
  return m.formatValue(r[instr.b], spec.str()->view(), text) &&
         storeText(m, r[instr.a], text);
}

bool execToStr(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  Text text(m.heap);
  return m.showValue(r[instr.b], text) && storeText(m, r[instr.a], text);
}

bool execLenStr(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  r[instr.a].i = int64_t(countCodePoints(r[instr.b].str()->view()));
  return true;
}

bool execPrint(Machine &m, Value *r, Instr instr) {
  std::span<const uint16_t> list = m.frame->fn->data->lists[instr.a];
  if (!m.argumentsSet(r, list))
    return false;
  Text text(m.heap);
  for (size_t i = 0; i < list.size(); ++i) {
    if (i)
      text.append(' ');
    if (!m.showValue(r[list[i]], text))
      return false;
  }
  text.append('\n');
  if (text.failed())
    return m.raiseMemory();
  if (!m.options.host)
    return m.raise(MXRT_UNSUPPORTED, "this host has no output");
  Status status = m.options.host->print(text.view());
  return status.ok() ? true : m.raise(std::move(status));
}

} // namespace mxrt::host
