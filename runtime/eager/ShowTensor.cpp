// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Printed form of a tensor, for print and f-strings:
//
//   f32[2, 3]
//   [[1.   2.   3.  ]
//    [4.5  5.25 6.  ]]

#include "eager/Issue.h"
#include "eager/NumberColumn.h"
#include "host/Format.h"

#include <algorithm>
#include <optional>

namespace mxrt::eager {

using host::FormatSpec;
using host::Kind;
using host::Text;
using host::Value;

namespace {

/// Larger tensors show only the first and last few elements of long axes.
constexpr int64_t wholeUpTo = 36;
constexpr int64_t maxShown = 10000;
constexpr size_t lineLength = 75;

bool isHalf(mxrt_dtype type) { return type == MXRT_F16 || type == MXRT_BF16; }

double shortestOf(mxrt_dtype type, const char *data) {
  uint16_t bits;
  memcpy(&bits, data, sizeof(bits));
  return shortestHalf(bits, type == MXRT_BF16);
}

double asFloat(mxrt_dtype type, const char *data) {
  if (isHalf(type))
    return shortestOf(type, data);
  Value value = fromElement(type, data);
  return value.kind == Kind::F32 ? double(value.f) : value.d;
}

/// Shows a single element.
const char *showElement(mxrt_dtype type, const char *data, const FormatSpec *spec, Text &out) {
  Value value = fromElement(type, data);
  FormatSpec plain;
  const FormatSpec &used = spec ? *spec : plain;
  switch (value.kind) {
  case Kind::Bool:
    return formatBool(out, used, value.i != 0);
  case Kind::Int:
    return formatInt(out, used, value.i);
  case Kind::F32:
    // Without a precision, as many digits as the type has.
    if (isHalf(type) && used.precision < 0 && used.type == 0)
      return formatF64(out, used, shortestOf(type, data));
    return formatF32(out, used, value.f);
  default:
    return formatF64(out, used, value.d);
  }
}

class TensorText {
public:
  TensorText(const mxrt_tensor *tensor, const FormatSpec *spec, Text &out)
      : tensor(tensor), spec(spec), out(out), column(tensor->type == MXRT_F32),
        elementBytes(mxrt_dtype_size(tensor->type)) {}

  const char *run() {
    chooseEdge();
    bool floats = isFloatType(tensor->type) && !spec;
    if (floats) {
      visit(0, tensor->data(), [&](const char *at) { column.seeRange(asFloat(tensor->type, at)); });
      visit(0, tensor->data(), [&](const char *at) { column.seeWidth(asFloat(tensor->type, at)); });
      width = size_t(column.width());
    } else {
      visit(0, tensor->data(), [&](const char *at) {
        Text one(out.owner());
        if (const char *found = showElement(tensor->type, at, spec, one))
          wrong = found;
        if (one.failed())
          out.fail();
        width = std::max(width, host::countCodePoints(one.view()));
      });
    }
    if (!wrong)
      rows(0, tensor->data(), floats);
    return wrong;
  }

private:
  bool elided(int32_t axis) const { return edge > 0 && tensor->sizes()[axis] > 2 * edge; }

  /// Number of elements shown at each end of a long axis; 0: all.
  void chooseEdge() {
    if (tensor->elements <= wholeUpTo)
      return;
    for (edge = 3; edge > 1; --edge) {
      int64_t shown = 1;
      for (int32_t i = 0; i < tensor->rank && shown <= maxShown; ++i)
        shown *= std::min(tensor->sizes()[i], 2 * edge);
      if (shown <= maxShown)
        return;
    }
  }

  /// Calls step(i) for the shown elements of an axis.
  template <typename Step> void along(int32_t axis, Step &&step) const {
    int64_t size = tensor->sizes()[axis];
    for (int64_t i = 0; i < size && !out.failed() && !wrong; ++i) {
      if (elided(axis) && i == edge)
        i = size - edge;
      step(i);
    }
  }
  const char *at(const char *base, int32_t axis, int64_t i) const {
    return base + i * tensor->strides()[axis] * elementBytes;
  }

  template <typename See> void visit(int32_t axis, const char *base, See &&see) {
    if (axis == tensor->rank)
      return see(base);
    along(axis, [&](int64_t i) { visit(axis + 1, at(base, axis, i), see); });
  }

  void element(const char *data, bool floats) {
    if (floats)
      return column.put(out, asFloat(tensor->type, data));
    Text one(out.owner());
    (void)showElement(tensor->type, data, spec, one);
    if (one.failed())
      return out.fail();
    out.repeat(" ", width - host::countCodePoints(one.view()));
    out.append(one.view());
  }

  void rows(int32_t axis, const char *base, bool floats) {
    bool last = axis == tensor->rank - 1;
    size_t line = size_t(axis) + 1; // characters in it so far
    auto separate = [&](bool first, size_t next) {
      if (first)
        return;
      if (!last || line + 1 + next > lineLength - 1) {
        out.repeat("\n", last ? 1 : size_t(tensor->rank - 1 - axis));
        out.repeat(" ", size_t(axis) + 1);
        line = size_t(axis) + 1;
        return;
      }
      out.append(' ');
      ++line;
    };
    out.append('[');
    along(axis, [&](int64_t i) {
      if (elided(axis) && i == tensor->sizes()[axis] - edge) {
        separate(false, 3);
        out.append("...");
        line += 3;
      }
      separate(i == 0, width);
      if (!last)
        return rows(axis + 1, at(base, axis, i), floats);
      element(at(base, axis, i), floats);
      line += width;
    });
    out.append(']');
  }

  const mxrt_tensor *tensor;
  const FormatSpec *spec;
  Text &out;
  FloatColumn column;
  int64_t elementBytes;
  int64_t edge = 0;
  size_t width = 0;
  const char *wrong = nullptr;
};

} // namespace

const char *showTensor(const mxrt_tensor *tensor, std::string_view text, Text &out) {
  FormatSpec given;
  if (const char *wrong = host::parseFormatSpec(text, given))
    return wrong;
  const FormatSpec *spec = text.empty() ? nullptr : &given;
  if (tensor->rank == 0)
    return showElement(tensor->type, tensor->data(), spec, out);
  out.append(shapeText(tensor->shape()).text);
  if (tensor->elements == 0) {
    out.append(" []");
    return nullptr;
  }
  out.append('\n');
  return TensorText(tensor, spec, out).run();
}

} // namespace mxrt::eager
