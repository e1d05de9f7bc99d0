// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serialisation of variants, for the cache on disk. The cache has verified the bytes; still no
// length is trusted here.
#include "Pipeline/Pipeline.h"
#include <cstring>

namespace mx::pipeline {
namespace {

constexpr uint64_t kFormat = 5;

struct Writer {
  std::string out;
  void number(uint64_t value) { out.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    out.append(value);
  }
  void buffers(const std::vector<Buffer> &list) {
    number(list.size());
    for (const Buffer &buffer : list) {
      number(static_cast<uint64_t>(buffer.element));
      number(buffer.sizes.size());
      for (const std::string &size : buffer.sizes)
        text(size);
      text(buffer.device);
      number(buffer.host);
    }
  }
};

struct Reader {
  std::string_view in;
  bool ok = true;
  uint64_t number() {
    uint64_t value = 0;
    if (in.size() < sizeof value) {
      ok = false;
      return 0;
    }
    std::memcpy(&value, in.data(), sizeof value);
    in.remove_prefix(sizeof value);
    return value;
  }
  /// A count of items that take at least eight bytes each.
  uint64_t count() {
    uint64_t value = number();
    if (value > in.size() / 8)
      ok = false;
    return ok ? value : 0;
  }
  std::string text() {
    uint64_t size = number();
    if (size > in.size()) {
      ok = false;
      return "";
    }
    std::string value(in.substr(0, size));
    in.remove_prefix(size);
    return value;
  }
  std::vector<Buffer> buffers() {
    std::vector<Buffer> out(count());
    for (Buffer &buffer : out) {
      uint64_t element = number();
      ok &= element < std::size(kElements);
      buffer.element = static_cast<ElementType>(ok ? element : 0);
      buffer.sizes.resize(count());
      for (std::string &size : buffer.sizes)
        size = text();
      buffer.device = text();
      buffer.host = number() != 0;
    }
    return out;
  }
};

} // namespace

std::string Variant::serialise() const {
  Writer w;
  w.number(kFormat);
  w.text(entry);
  w.buffers(inputs);
  w.buffers(outputs);
  w.number(sizes.size());
  for (const std::string &size : sizes)
    w.text(size);
  w.number(arenas.size());
  for (auto &[device, bytes] : arenas) {
    w.text(device);
    w.number(static_cast<uint64_t>(bytes));
  }
  w.number(announces);
  w.number(guarded);
  w.number(tuned);
  w.number(over.size());
  for (int64_t input : over)
    w.number(static_cast<uint64_t>(input));
  for (int64_t bytes : {figures.parameters, figures.data, figures.activations, figures.workspace,
                        figures.bound, figures.largestBytes})
    w.number(static_cast<uint64_t>(bytes));
  w.text(figures.largestLocation);
  w.text(figures.recomputed);
  w.number(objects.size());
  for (auto &[name, bytes] : objects) {
    w.text(name);
    w.text(bytes);
  }
  return std::move(w.out);
}

std::optional<Variant> Variant::deserialise(std::string_view bytes) {
  Reader r{bytes};
  if (r.number() != kFormat)
    return std::nullopt;
  Variant v;
  v.entry = r.text();
  v.inputs = r.buffers();
  v.outputs = r.buffers();
  v.sizes.resize(r.count());
  for (std::string &size : v.sizes)
    size = r.text();
  v.arenas.resize(r.count());
  for (auto &[device, size] : v.arenas) {
    device = r.text();
    size = static_cast<int64_t>(r.number());
  }
  v.announces = r.number() != 0;
  v.guarded = r.number() != 0;
  v.tuned = r.number() != 0;
  v.over.resize(r.count());
  for (int64_t &input : v.over) {
    input = static_cast<int64_t>(r.number());
    r.ok &= input >= -1 && input < static_cast<int64_t>(v.inputs.size());
  }
  r.ok &= v.over.size() == v.outputs.size();
  for (int64_t *bytes : {&v.figures.parameters, &v.figures.data, &v.figures.activations,
                         &v.figures.workspace, &v.figures.bound, &v.figures.largestBytes})
    *bytes = static_cast<int64_t>(r.number());
  v.figures.largestLocation = r.text();
  v.figures.recomputed = r.text();
  v.objects.resize(r.count());
  for (auto &[name, object] : v.objects) {
    name = r.text();
    object = r.text();
  }
  if (!r.ok || !r.in.empty())
    return std::nullopt;
  return v;
}

} // namespace mx::pipeline
