// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of keys: checks, packing into buckets, comparison between ranks.

#include "kvstore/KeyTable.h"

#include "base/CheckedMath.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::kvstore {
namespace {

/// A key as in messages: `fc.w: f32[3, 4]`. Long names are cut off.
struct KeyText {
  char text[320];
};
KeyText textOf(std::string_view name, mxrt_dtype dtype, std::span<const int64_t> shape,
               Form form = Form::Dense) {
  KeyText out;
  size_t used = 0;
  auto add = [&](const char *format, auto... what) {
    int length = std::snprintf(out.text + used, sizeof out.text - used, format, what...);
    used = std::min(used + size_t(std::max(length, 0)), sizeof out.text - 1);
  };
  add("`%.*s: %s[", int(std::min<size_t>(name.size(), 120)), name.data(), mxrt_dtype_name(dtype));
  for (size_t i = 0; i < shape.size() && i < 8; ++i)
    add("%s%lld", i ? ", " : "", static_cast<long long>(shape[i]));
  add("%s", shape.size() > 8 ? ", ...]`" : "]`");
  if (form != Form::Dense)
    add(" as %s", formName(form));
  return out;
}

/// For `%.*s`.
int shownBytes(std::string_view name) { return int(std::min<size_t>(name.size(), 120)); }

/// Reads the output of describe() of a peer.
class Reader {
public:
  explicit Reader(std::span<const char> bytes) : left(bytes) {}
  template <typename T> bool take(T &out) {
    if (left.size() < sizeof out)
      return false;
    std::memcpy(&out, left.data(), sizeof out);
    left = left.subspan(sizeof out);
    return true;
  }
  bool take(size_t bytes, const char *&out) {
    if (left.size() < bytes)
      return false;
    out = left.data();
    left = left.subspan(bytes);
    return true;
  }
  bool atEnd() const { return left.empty(); }

private:
  std::span<const char> left;
};

/// A key of a description. It precedes its sizes and its name.
struct KeyHeader {
  uint32_t nameBytes;
  uint8_t dtype, form, rank, zero;
};
struct ReadKey {
  std::string_view name;
  mxrt_dtype dtype = MXRT_F32;
  Form form = Form::Dense;
  size_t rank = 0;
  int64_t shape[MXRT_MAX_RANK] = {};
};
bool readKey(Reader &reader, ReadKey &out) {
  KeyHeader header;
  const char *sizes, *name;
  if (!reader.take(header) || header.dtype >= MXRT_DTYPE_COUNT || header.rank > MXRT_MAX_RANK ||
      header.form >= formCount || !reader.take(header.rank * sizeof(int64_t), sizes) ||
      !reader.take(header.nameBytes, name))
    return false;
  out.name = {name, header.nameBytes};
  out.dtype = mxrt_dtype(header.dtype);
  out.form = Form(header.form);
  out.rank = header.rank;
  if (header.rank > 0)
    std::memcpy(out.shape, sizes, header.rank * sizeof(int64_t));
  return true;
}

uint64_t hashOf(std::span<const char> bytes) {
  uint64_t hash = 0xCBF29CE484222325; // FNV-1a
  for (char each : bytes)
    hash = (hash ^ uint8_t(each)) * 0x100000001B3;
  return hash;
}

bool appendBytes(Vec<char> &out, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!out.push(static_cast<const char *>(bytes)[i]))
      return false;
  return true;
}

} // namespace

const char *actionName(Action action) {
  static const char *const names[actionCount] = {"connect", "barrier", "init",    "average",
                                                 "sum",     "gather",  "scatter", "mean"};
  return names[size_t(action)];
}

const char *formName(Form form) {
  static const char *const names[formCount] = {"dense", "rows", "factors", "factors or dense"};
  return names[size_t(form)];
}

mxrt_dtype KeyTable::exchanged(mxrt_dtype dtype) const {
  if (action == Action::Init || action == Action::Gather)
    return MXRT_U8;
  return dtype == MXRT_F64 ? MXRT_F64 : MXRT_F32;
}

Status KeyTable::add(const KeySpec &spec, int ranks) {
  const char *what = actionName(action);
  auto shown = [&] { return textOf(spec.name, spec.dtype, spec.shape); };
  bool isForm = action == Action::Average && (spec.dtype == MXRT_F32 || spec.dtype == MXRT_F64) &&
                (spec.form == Form::Rows ? !spec.shape.empty() : spec.shape.size() == 2);
  if (spec.form != Form::Dense && !isForm)
    return error(alloc, MXRT_UNSUPPORTED, noLocation, "%s: %s travels as all of its elements only",
                 what, shown().text);
  bool isConnect = action == Action::Connect; // its keys are settings
  bool isFloat = spec.dtype == MXRT_F16 || spec.dtype == MXRT_BF16 || spec.dtype == MXRT_F32 ||
                 spec.dtype == MXRT_F64;
  bool moves = action == Action::Init || action == Action::Gather;
  if (!isFloat && !moves && !isConnect)
    return error(alloc, MXRT_DTYPE, noLocation,
                 "%s: %s cannot be added; sums are of f16, bf16, f32 and f64", what, shown().text);
  if ((action == Action::Gather || action == Action::Scatter) && spec.shape.empty())
    return error(alloc, MXRT_SHAPE, noLocation, "%s: %s has no first axis", what, shown().text);
  if (action == Action::Scatter && spec.shape[0] % ranks != 0)
    return error(alloc, MXRT_SHAPE, noLocation,
                 "%s: the first axis of %s cannot be divided among %d ranks", what, shown().text,
                 ranks);
  Key key;
  key.name = uint32_t(text.size());
  key.nameBytes = uint32_t(spec.name.size());
  key.shape = uint32_t(sizes.size());
  key.rank = uint32_t(spec.shape.size());
  key.dtype = spec.dtype;
  key.form = spec.form;
  if (spec.form != Form::Dense)
    key.counted = counted++;
  int64_t elements = 1, part, all;
  for (int64_t size : spec.shape)
    if (size < 0 || !checkedMul(elements, size, elements))
      return error(alloc, MXRT_SIZE_OVERFLOW, noLocation, "%s: %s is too large", what,
                   shown().text);
  int64_t width = exchanged(spec.dtype) == MXRT_U8 ? mxrt_dtype_size(spec.dtype) : 1;
  if (!checkedMul(elements, width, part) || !checkedMul(part, int64_t(ranks) * 16, all))
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation, "%s: %s is too large for %d ranks", what,
                 shown().text, ranks);
  key.elements = size_t(elements);
  key.part = size_t(part);
  if (action == Action::Scatter)
    key.part /= size_t(ranks);
  if (text.size() + spec.name.size() > UINT32_MAX / 2)
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation, "%s: the names of keys are too long", what);
  bool room = appendBytes(text, spec.name.data(), spec.name.size()) && keys.push(key);
  for (int64_t size : spec.shape)
    room = room && sizes.push(size);
  return room ? success() : outOfMemory(alloc);
}

Status KeyTable::uniqueNames() const {
  Vec<uint32_t> order(alloc);
  if (!order.resize(keys.size()))
    return outOfMemory(alloc);
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  auto name = [&](uint32_t i) { return nameOf(keys[i]); };
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  for (size_t i = 1; i < order.size(); ++i)
    if (name(order[i]) == name(order[i - 1]))
      return error(alloc, MXRT_KVSTORE_KEY, noLocation, "%s: two keys have the name `%.*s`",
                   actionName(action), int(std::min<size_t>(name(order[i]).size(), 200)),
                   name(order[i]).data());
  return success();
}

Status KeyTable::make(Action what, std::span<const KeySpec> given, const Layout &order, int rank,
                      int ranks, const BucketSizes &bucketSizes, const Codec &chosen) {
  action = what;
  layout = order;
  codec = chosen;
  keys.clear();
  parts.clear();
  buckets.clear();
  plans.clear();
  text.clear();
  sizes.clear();
  counted = 0;
  if (!keys.reserve(given.size()))
    return outOfMemory(alloc);
  for (const KeySpec &spec : given)
    MXRT_CHECK(add(spec, ranks));
  MXRT_CHECK(uniqueNames());
  MXRT_CHECK(pack(rank, ranks, bucketSizes));
  Vec<char> description(alloc);
  MXRT_CHECK(describe(description));
  hash = hashOf({description.data(), description.size()});
  return success();
}

Status KeyTable::pack(int rank, int ranks, const BucketSizes &bucketSizes) {
  bool isDivided = action == Action::Gather || action == Action::Scatter;
  size_t partCount = isDivided ? size_t(ranks) : 1;
  for (size_t i = action == Action::Connect ? 0 : keys.size(); i-- > 0;) {
    Key &key = keys[i];
    mxrt_dtype dtype = exchanged(key.dtype);
    Bucket *open = buckets.empty() ? nullptr : &buckets.back();
    size_t bytes = key.part * partCount * size_t(mxrt_dtype_size(dtype));
    bool isAlone = key.form != Form::Dense ||
                    (open && keys[open->first].form != Form::Dense);
    if (!open || isAlone || open->dtype != dtype || open->bytes() >= bucketSizes.minBytes ||
        open->bytes() + bytes > bucketSizes.maxBytes) {
      Bucket made;
      made.dtype = dtype;
      made.parts = partCount;
      if (!buckets.push(made))
        return outOfMemory(alloc);
      open = &buckets.back();
    }
    open->first = uint32_t(i);
    ++open->count;
    open->part += key.part;
    open->priority = int32_t(std::max<int64_t>(-int64_t(i), INT32_MIN / 2));
    key.bucket = uint32_t(buckets.size()) - 1;
  }
  Pattern pattern = action == Action::Init      ? Pattern::Broadcast
                    : action == Action::Gather  ? Pattern::Gather
                    : action == Action::Scatter ? Pattern::ReduceScatter
                                                : Pattern::AllReduce;
  if (!parts.resize(keys.size()))
    return outOfMemory(alloc);
  for (const Bucket &bucket : buckets) {
    size_t offset = 0;
    for (uint32_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
      keys[i].offset = offset;
      offset += parts[i] = keys[i].part;
    }
    if (!plans.push(Plan(alloc)))
      return outOfMemory(alloc);
    const Plan &plan = plans.back();
    MXRT_CHECK(plans.back().make(layout, rank, ranks, bucket.elements(),
                                 size_t(mxrt_dtype_size(bucket.dtype)), pattern,
                                 encodingOf(bucket)));
    for (uint32_t i = bucket.first; i < bucket.first + bucket.count; ++i)
      for (size_t part = 0; part < bucket.parts; ++part)
        keys[i].sentBytes +=
            plan.sentBytes(encodingOf(bucket), {part * bucket.part + keys[i].offset, keys[i].part});
  }
  return success();
}

TableShape KeyTable::tableOf(const Key &key) const {
  TableShape table;
  table.rows = size_t(shapeOf(key)[0]);
  table.width = table.rows > 0 ? key.elements / table.rows : 0;
  table.dtype = key.dtype;
  return table;
}

size_t KeyTable::entryBytes(const Key &key) const {
  if (key.form == Form::Rows)
    return tableOf(key).entryBytes();
  return size_t(shapeOf(key)[0] + shapeOf(key)[1]) * size_t(mxrt_dtype_size(key.dtype));
}

/// All elements cost each rank twice their bytes, times (W-1) / W; rows cost it its own bytes times
/// W-1. Rows travel if those of all ranks have half the bytes of the table, so a quarter of the
/// traffic: then no rank needs more memory than for all elements either.
Form KeyTable::travels(const Key &key, std::span<const uint64_t> counts) const {
  if (key.form == Form::Dense || key.form == Form::Factors)
    return key.form;
  uint64_t bytes = key.elements * uint64_t(mxrt_dtype_size(key.dtype)), all = 0;
  uint64_t limit = key.form == Form::Rows ? bytes / 2 : 2 * bytes;
  for (uint64_t count : counts)
    if (count == allElements || __builtin_mul_overflow(count, entryBytes(key), &count) ||
        __builtin_add_overflow(all, count, &all))
      return Form::Dense;
  if (key.form == Form::Rows)
    return all <= limit ? Form::Rows : Form::Dense;
  return all < limit ? Form::Factors : Form::Dense;
}

const Key *KeyTable::find(std::string_view name) const {
  for (const Key &key : keys)
    if (nameOf(key) == name)
      return &key;
  return nullptr;
}

bool KeyTable::matches(Action what, std::span<const KeySpec> given) const {
  if (what != action || given.size() != keys.size())
    return false;
  for (size_t i = 0; i < keys.size(); ++i) {
    std::span<const int64_t> shape = shapeOf(keys[i]);
    if (given[i].dtype != keys[i].dtype || given[i].form != keys[i].form ||
        !std::equal(shape.begin(), shape.end(), given[i].shape.begin(), given[i].shape.end()) ||
        given[i].name != nameOf(keys[i]))
      return false;
  }
  return true;
}

Status KeyTable::describe(Vec<char> &out) const {
  uint32_t head[2] = {uint32_t(action), uint32_t(keys.size())};
  bool room = appendBytes(out, head, sizeof head);
  for (const Key &key : keys) {
    KeyHeader header = {key.nameBytes, uint8_t(key.dtype), uint8_t(key.form), uint8_t(key.rank), 0};
    room = room && appendBytes(out, &header, sizeof header) &&
           appendBytes(out, shapeOf(key).data(), key.rank * sizeof(int64_t)) &&
           appendBytes(out, nameOf(key).data(), key.nameBytes);
  }
  return room ? success() : outOfMemory(alloc);
}

Status KeyTable::difference(int rank, int peer, std::span<const char> description) const {
  auto malformed = [&] {
    return error(alloc, MXRT_KVSTORE, noLocation, "rank %d sent a malformed table of keys", peer);
  };
  Reader reader(description);
  uint32_t head[2];
  if (!reader.take(head) || head[0] >= actionCount)
    return malformed();
  auto theirs = Action(head[0]);
  // Both ranks give the same text: the lower one comes first.
  bool first = rank < peer;
  int low = std::min(rank, peer), high = std::max(rank, peer);
  if (theirs != action)
    return error(alloc, MXRT_KVSTORE_MISMATCH, noLocation,
                 "the ranks make different calls: `%s` at rank %d, `%s` at rank %d",
                 actionName(first ? action : theirs), low, actionName(first ? theirs : action),
                 high);
  size_t count = head[1];
  for (size_t i = 0; i < std::max(count, keys.size()); ++i) {
    ReadKey read;
    if (i < count && !readKey(reader, read))
      return malformed();
    KeyText texts[2];
    bool has[2] = {i < keys.size(), i < count};
    if (has[0])
      texts[0] = textOf(nameOf(keys[i]), keys[i].dtype, shapeOf(keys[i]), keys[i].form);
    if (has[1])
      texts[1] = textOf(read.name, read.dtype, {read.shape, read.rank}, read.form);
    std::span<const int64_t> shape = has[0] ? shapeOf(keys[i]) : std::span<const int64_t>();
    if (has[0] && has[1] && nameOf(keys[i]) == read.name && keys[i].dtype == read.dtype &&
        keys[i].form == read.form &&
        std::equal(shape.begin(), shape.end(), read.shape, read.shape + read.rank))
      continue;
    if (action == Action::Connect && has[0] && has[1])
      return error(alloc, MXRT_KVSTORE_MISMATCH, noLocation,
                   "the ranks connect with different settings: `%.*s` at rank %d, `%.*s` at rank %d",
                   shownBytes(first ? nameOf(keys[i]) : read.name),
                   (first ? nameOf(keys[i]) : read.name).data(), low,
                   shownBytes(first ? read.name : nameOf(keys[i])),
                   (first ? read.name : nameOf(keys[i])).data(), high);
    auto side = [&](bool own) {
      return has[own ? 0 : 1] ? texts[own ? 0 : 1].text : "missing";
    };
    return error(alloc, MXRT_KVSTORE_MISMATCH, noLocation,
                 "the ranks `%s` different keys: number %zu is %s at rank %d, %s at rank %d",
                 actionName(action), i + 1, side(first), low, side(!first), high);
  }
  return malformed();
}

} // namespace mxrt::kvstore
