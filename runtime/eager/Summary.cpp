// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table printed by summary(net, x):
//
//   path    shape         output     parameters  bytes  FLOPs
//           Mlp[4, 2]     f32[8, 2]          58    232  1,040
//   fc1     Dense[4, 8]   f32[8, 8]          40    160    640
//   fc1.w   f32[4, 8]                        32    128
//
// A model's row is the sum of its parts. Nothing is waited for: the elements of the tensors do not
// matter.

#include "eager/Summary.h"
#include "eager/TensorValue.h"
#include "host/Text.h"
#include "memory/Tensor.h"

#include <algorithm>
#include <cstdio>

namespace mxrt::eager {

using host::Invocation;
using host::Kind;
using host::Text;
using host::Value;

namespace {

enum Column { Path, Shape, Output, Parameters, Bytes, Flops, columns };
constexpr const char *headings[columns] = {"path",       "shape", "output",
                                           "parameters", "bytes", "FLOPs"};

/// The text of a cell; long types are truncated.
struct Cell {
  char text[200] = "";
  size_t used = 0;
  void set(std::string_view from) {
    used = std::min(from.size(), sizeof text);
    std::copy_n(from.data(), used, text);
  }
  /// Formats 1234567 as 1,234,567.
  void setNumber(int64_t number) {
    char digits[32];
    int count = std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
    used = 0;
    for (int i = 0; i < count; ++i) {
      if (i > 0 && (count - i) % 3 == 0 && digits[i - 1] != '-')
        text[used++] = ',';
      text[used++] = digits[i];
    }
  }
  std::string_view view() const { return {text, used}; }
};

/// The arguments: whether outputs are known, the number of rows, three for each row, and three for
/// each called model: path, output, FLOPs or -1.
class Table {
public:
  explicit Table(std::span<Value> args) : args(args) {}

  bool wellFormed() {
    if (args.size() < 2 || args[0].kind != Kind::Bool || args[1].kind != Kind::Int)
      return false;
    size_t more = (args.size() - 2) / 3;
    if ((args.size() - 2) % 3 != 0 || args[1].i < 0 || uint64_t(args[1].i) > more)
      return false;
    rows = size_t(args[1].i);
    calls = more - rows;
    for (size_t i = 0; i < more; ++i) {
      const Value *row = &args[2 + 3 * i];
      bool fine = i < rows ? row[1].kind == Kind::Bool && (row[2].kind == Kind::Str || tensor(i))
                           : row[1].kind == Kind::Str && row[2].kind == Kind::Int;
      if (row[0].kind != Kind::Str || !fine)
        return false;
    }
    return true;
  }

  void write(Text &out) {
    Cell line[columns];
    size_t width[columns];
    bool shown[columns];
    for (int c = 0; c < columns; ++c) {
      width[c] = std::string_view(headings[c]).size();
      shown[c] = args[0].i != 0 || (c != Output && c != Flops);
    }
    for (size_t i = 0; i < rows; ++i) {
      fill(i, line);
      for (int c = 0; c < columns; ++c)
        width[c] = std::max(width[c], host::countCodePoints(line[c].view()));
    }
    auto put = [&] {
      size_t pending = 0; // blanks that are written only if text follows
      for (int c = 0; c < columns; ++c) {
        if (!shown[c])
          continue;
        size_t room = width[c] - host::countCodePoints(line[c].view());
        bool right = c >= Parameters;
        if (line[c].used > 0) {
          out.repeat(" ", pending + (right ? room : 0));
          out.append(line[c].view());
          pending = right ? 0 : room;
        } else {
          pending += width[c];
        }
        pending += 2;
      }
      out.append('\n');
    };
    for (int c = 0; c < columns; ++c)
      line[c].set(headings[c]);
    put();
    for (size_t i = 0; i < rows; ++i) {
      fill(i, line);
      put();
    }
  }

private:
  const mxrt_tensor *tensor(size_t row) const { return tensorOf(args[4 + 3 * row]); }
  std::string_view path(size_t row) const { return args[2 + 3 * row].str()->view(); }
  bool isTrained(size_t row) const { return args[3 + 3 * row].i != 0; }

  static bool isBelow(std::string_view path, std::string_view model) {
    return model.empty() || (path.size() > model.size() && path.substr(0, model.size()) == model &&
                             path[model.size()] == '.');
  }

  void fill(size_t row, Cell *line) const {
    for (int c = 0; c < columns; ++c)
      line[c].used = 0;
    line[Path].set(path(row));
    if (const mxrt_tensor *leaf = tensor(row)) {
      line[Shape].set(shapeText(leaf->shape()).text);
      if (isTrained(row))
        line[Parameters].setNumber(leaf->elements);
      else
        line[Parameters].set("state");
      line[Bytes].setNumber(mxrt_tensor_bytes(leaf));
      return;
    }
    line[Shape].set(args[4 + 3 * row].str()->view());
    int64_t parameters = 0, bytes = 0;
    // The parts of this model follow.
    for (size_t i = row + 1; i < rows && isBelow(path(i), path(row)); ++i)
      if (const mxrt_tensor *leaf = tensor(i)) {
        parameters += isTrained(i) ? leaf->elements : 0;
        bytes += mxrt_tensor_bytes(leaf);
      }
    line[Parameters].setNumber(parameters);
    line[Bytes].setNumber(bytes);
    for (size_t i = rows; i < rows + calls; ++i)
      if (path(i) == path(row)) {
        line[Output].set(args[3 + 3 * i].str()->view());
        if (args[4 + 3 * i].i < 0)
          line[Flops].set("?");
        else
          line[Flops].setNumber(args[4 + 3 * i].i);
      }
  }

  std::span<Value> args;
  size_t rows = 0, calls = 0;
};

} // namespace

Status summarize(void *context, Invocation &call) {
  auto &host = *static_cast<EagerHost *>(context);
  Table table(call.args);
  if (!table.wellFormed())
    return error(mxrt_runtime_allocator(host.runtime()), MXRT_HOST_TYPE, noLocation,
                 "%.*s: the arguments are not rows of a table", int(call.name.size()),
                 call.name.data());
  Text out(call.vm.heap());
  table.write(out);
  if (out.failed())
    return call.vm.heap().exhausted();
  return host.print(out.view());
}

} // namespace mxrt::eager
