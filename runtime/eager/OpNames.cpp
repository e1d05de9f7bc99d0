// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of operation names.

#include "eager/OpNames.h"

#include <charconv>

namespace mxrt::eager {

static constexpr OpInfo opTable[] = {
#define MX_EAGER_OP(name, family, operands, types, result)                                         \
  {#name, Family::family, operands, OpTypes::types, OpResult::result},
#include "eager/Ops.def"
};

namespace {

bool takesType(OpTypes types, mxrt_dtype type) {
  bool isInt = type == MXRT_I8 || type == MXRT_U8 || type == MXRT_I32 || type == MXRT_I64;
  switch (types) {
  case OpTypes::None:
    return false;
  case OpTypes::Any:
    return true;
  case OpTypes::Number:
    return type != MXRT_BOOL;
  case OpTypes::Float:
    return isFloatType(type);
  case OpTypes::Single:
    return type == MXRT_F32;
  case OpTypes::Wide:
    return type == MXRT_F32 || type == MXRT_F64;
  case OpTypes::Int:
    return isInt;
  case OpTypes::Count:
    return type == MXRT_I32 || type == MXRT_I64;
  case OpTypes::Bits:
    return isInt || type == MXRT_BOOL;
  case OpTypes::Bool:
    return type == MXRT_BOOL;
  }
  return false;
}

/// MXRT_DTYPE_COUNT if the text is not a type name.
mxrt_dtype typeFromName(std::string_view text) {
  for (int32_t i = 0; i < MXRT_DTYPE_COUNT; ++i)
    if (text == mxrt_dtype_name(mxrt_dtype(i)))
      return mxrt_dtype(i);
  return MXRT_DTYPE_COUNT;
}

/// The type that may be omitted, or MXRT_DTYPE_COUNT.
mxrt_dtype defaultType(const OpInfo &info) {
  if (info.types == OpTypes::Bool)
    return MXRT_BOOL;
  if (info.family == Family::Iota || info.family == Family::RandInt ||
      info.family == Family::Permutation)
    return MXRT_I32;
  return MXRT_DTYPE_COUNT;
}

/// Splits at the first `at`; the rest is empty if there is none.
std::string_view cut(std::string_view &text, char at) {
  size_t where = text.find(at);
  std::string_view head = text.substr(0, where);
  text.remove_prefix(where == text.npos ? text.size() : where + 1);
  return head;
}

bool readNumber(std::string_view text, int64_t &number) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() && number >= 0;
}

/// Parses "1/0/2"; an empty text is an empty list.
bool readList(std::string_view text, int64_t *numbers, int32_t &count) {
  count = 0;
  if (!text.empty() && text.back() == '/')
    return false;
  while (!text.empty())
    if (count == MXRT_MAX_RANK || !readNumber(cut(text, '/'), numbers[count++]))
      return false;
  return true;
}

/// Parses "cpu:1".
bool readDevice(std::string_view text, mxrt_device &device) {
  int64_t index = 0;
  if (cut(text, ':') != "cpu" || !readNumber(text, index) || index > INT32_MAX)
    return false;
  device = {MXRT_CPU, int32_t(index)};
  return true;
}

bool readAxes(std::string_view text, Operation &op) {
  if (text == "all") {
    op.axes = allAxes;
    return true;
  }
  int64_t axes[MXRT_MAX_RANK];
  int32_t count = 0;
  if (!readList(text, axes, count))
    return false;
  op.axes = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (axes[i] >= MXRT_MAX_RANK || (op.axes & 1u << axes[i]))
      return false;
    op.axes |= 1u << axes[i];
  }
  return true;
}

const char *readItem(std::string_view text, Operation &op) {
  if (op.itemCount == maxIndexItems)
    return "more items than a tensor can have axes";
  if (text.empty())
    return "an item is empty";
  IndexItem &item = op.items[op.itemCount++];
  item = {text[0], false, false, false};
  text.remove_prefix(1);
  switch (item.sort) {
  case 'r':
    for (auto [letter, flag] : {std::pair('f', &item.from), {'t', &item.to}, {'s', &item.step}})
      if (!text.empty() && text[0] == letter) {
        *flag = true;
        ++op.indexOperands;
        text.remove_prefix(1);
      }
    break;
  case 'l':
  case 't':
    if (op.tensorItem >= 0)
      return "more than one item is a tensor";
    op.tensorItem = op.itemCount - 1;
    if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
      item.shown = int8_t(text[0] - '0');
      text.remove_prefix(1);
    }
    [[fallthrough]];
  case 'i':
    ++op.indexOperands;
    break;
  case ':':
  case 'n':
    break;
  default:
    return "an item is none of i : r n t l";
  }
  return text.empty() ? nullptr : "an item has letters that mean nothing";
}

/// Parses the contents of the parentheses. Returns what is wrong, or nullptr.
const char *readAttributes(std::string_view text, bool given, Operation &op) {
  Family family = op.info->family;
  if (family == Family::Index || family == Family::Update) {
    while (!text.empty()) {
      size_t before = text.size();
      std::string_view item = cut(text, '/');
      if (const char *wrong = readItem(item, op))
        return wrong;
      if (text.empty() && item.size() + 1 == before)
        return "an item is empty"; // ends in `/`
    }
    return nullptr;
  }
  bool needed = false, found = false;
  switch (family) {
  case Family::Reduce:
  case Family::Transpose:
  case Family::Concat:
  case Family::ScatterAdd:
  case Family::Along:
  case Family::Top:
  case Family::Literal:
  case Family::To:
    needed = true;
    break;
  default:
    if (given)
      return "it takes no attributes";
  }
  while (!text.empty()) {
    std::string_view value = cut(text, ',');
    std::string_view key = cut(value, '=');
    int64_t number = 0;
    bool good = false;
    if (family == Family::Reduce && key == "axes") {
      good = readAxes(value, op);
      found = true;
    } else if (family == Family::Reduce && key == "keep") {
      good = value == "0" || value == "1";
      op.keep = value == "1";
    } else if (family == Family::Reduce && key == "empty") {
      good = value == "1" && std::string_view(op.info->name) == "max";
      op.total = true;
    } else if (family == Family::Transpose && key == "order") {
      good = readList(value, op.sizes, op.rank);
      found = true;
    } else if (family == Family::Literal && key == "shape") {
      good = readList(value, op.sizes, op.rank);
      found = true;
    } else if ((family == Family::Concat || family == Family::ScatterAdd ||
                family == Family::Along || family == Family::Top) &&
               key == "axis") {
      good = readNumber(value, number) && number < MXRT_MAX_RANK;
      op.axis = int32_t(number);
      found = true;
    } else if (family == Family::To && key == "device") {
      good = readDevice(value, op.device);
      found = true;
    } else {
      return "an attribute that it does not have";
    }
    if (!good)
      return "an attribute has a wrong value";
  }
  return needed && !found ? "an attribute is missing" : nullptr;
}

mxrt_dtype resultType(const OpInfo &info, mxrt_dtype type) {
  switch (info.result) {
  case OpResult::Same:
    return type;
  case OpResult::Bool:
    return MXRT_BOOL;
  case OpResult::I32:
    return MXRT_I32;
  case OpResult::Quotient:
    return isFloatType(type) ? type : MXRT_F32;
  }
  return type;
}

/// Returns what is wrong, or nullptr.
const char *parse(std::string_view text, Operation &op) {
  if (text.size() > maxOpName)
    return "it is too long";
  std::string_view name = text.substr(0, text.find_first_of(":(@"));
  for (const OpInfo &info : opTable)
    if (name == info.name)
      op.info = &info;
  if (!op.info)
    return "there is no such operation";
  text.remove_prefix(name.size());

  op.type = op.result = defaultType(*op.info);
  mxrt_dtype *types[] = {&op.type, &op.result};
  int given = 0;
  while (!text.empty() && text[0] == ':') {
    text.remove_prefix(1);
    std::string_view type = text.substr(0, text.find_first_of(":(@"));
    text.remove_prefix(type.size());
    if (given == (op.info->family == Family::Cast ? 2 : 1))
      return "too many element types";
    *types[given] = typeFromName(type);
    if (*types[given] == MXRT_DTYPE_COUNT || !takesType(op.info->types, *types[given]))
      return "it does not take this element type";
    ++given;
  }
  if (op.info->types == OpTypes::None)
    op.type = op.result = MXRT_F32; // not used
  else if (op.type == MXRT_DTYPE_COUNT || (op.info->family == Family::Cast && given != 2))
    return "the element type is missing";
  if (op.info->family != Family::Cast)
    op.result = resultType(*op.info, op.type);

  bool hasAttributes = !text.empty() && text[0] == '(';
  std::string_view attributes;
  if (hasAttributes) {
    size_t end = text.find(')');
    if (end == text.npos)
      return "')' is missing";
    attributes = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  }
  if (const char *wrong = readAttributes(attributes, hasAttributes, op))
    return wrong;
  if (!text.empty() &&
      (text[0] != '@' || op.info->family == Family::To || !readDevice(text.substr(1), op.device)))
    return "`@` must be followed by a device";
  return nullptr;
}

} // namespace

Status parseOpName(const mxrt_allocator *alloc, std::string_view name, Operation &op) {
  const char *wrong = parse(name, op);
  if (!wrong)
    return success();
  int shown = int(name.size() < 200 ? name.size() : 200);
  return error(alloc, MXRT_HOST_BYTECODE, noLocation, "tensor operation '%.*s': %s", shown,
               name.data(), wrong);
}

} // namespace mxrt::eager
