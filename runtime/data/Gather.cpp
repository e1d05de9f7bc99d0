// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gather op of data loaders: copies, converts, decodes and augments the rows of a batch in
// parallel.

#include "data/Gather.h"
#include "data/Pictures.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"
#include "mxrt/parallel.h"

#include <algorithm>
#include <cstring>

namespace mxrt::data {

using eager::makeTensorValue;
using eager::tensorOf;
using host::Invocation;
using host::Value;

namespace {

/// Serialised arguments of the op: the head, the columns, the augmentations, the item indices,
/// their positions, for sequences their start offsets and lengths, and for images the file name.
struct Head {
  int64_t columns, rows, changes, pictures, sequences, nameBytes;
  mxrt_rng stream;
  int64_t epoch;
  PictureSize before; // of an image, before augmentation
};
struct ColumnHead {
  int64_t elements; // of an item, before augmentation
  float scale;
};
static_assert(sizeof(Head) % 8 == 0 && sizeof(ColumnHead) % 8 == 0 &&
              sizeof(PictureChange) % 8 == 0);

/// Minimum bytes per chunk of a pure copy.
constexpr int64_t grainBytes = int64_t(1) << 18;

struct Op {
  Op(const mxrt_tensor *const *tensors, const void *arguments)
      : tensors(tensors), head(static_cast<const Head *>(arguments)),
        columns(reinterpret_cast<const ColumnHead *>(head + 1)),
        changes(reinterpret_cast<const PictureChange *>(columns + head->columns)),
        numbers(reinterpret_cast<const int64_t *>(changes + head->changes)),
        locations(numbers + head->rows), starts(locations + head->rows), lengths(starts + head->rows),
        name(reinterpret_cast<const char *>(head->sequences ? lengths + head->rows : starts),
             static_cast<size_t>(head->nameBytes)) {}
  const mxrt_tensor *const *tensors; // inputs, then outputs
  const Head *head;
  const ColumnHead *columns;
  const PictureChange *changes;
  const int64_t *numbers, *locations, *starts, *lengths;
  std::string_view name;
};

template <typename To> void convertBytes(const uint8_t *from, To *to, int64_t count, float scale) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = scale == 1 ? static_cast<To>(from[i]) : static_cast<To>(float(from[i]) * scale);
}

void copyRow(const Op &op, int64_t c, int64_t row, void *target) {
  const mxrt_tensor *from = op.tensors[c], *to = op.tensors[op.head->columns + c];
  int64_t count = op.columns[c].elements;
  const char *source = from->data() + op.numbers[row] * count * mxrt_dtype_size(from->type);
  auto *bytes = reinterpret_cast<const uint8_t *>(source);
  if (from->type == to->type)
    std::memcpy(target, source, static_cast<size_t>(count * mxrt_dtype_size(to->type)));
  else if (to->type == MXRT_F32)
    convertBytes(bytes, static_cast<float *>(target), count, op.columns[c].scale);
  else
    convertBytes(bytes, static_cast<int32_t *>(target), count, 1);
}

/// Copies a sequence and pads it with zeros.
void copySequence(const Op &op, int64_t row, char *target, int64_t bytes) {
  const mxrt_tensor *from = op.tensors[0];
  int64_t width = mxrt_dtype_size(from->type), used = op.lengths[row] * width;
  if (used > 0)
    std::memcpy(target, from->data() + op.starts[row] * width, static_cast<size_t>(used));
  if (bytes > used)
    std::memset(target + used, 0, static_cast<size_t>(bytes - used));
}

mxrt_status gatherRows(void *user, int64_t begin, int64_t end, int64_t,
                       const mxrt_context *context) {
  auto run = [&]() -> Status {
    const Op &op = *static_cast<const Op *>(user);
    const Head &head = *op.head;
    Vec<float> before(context->allocator), room(context->allocator);
    PictureReader reader(context->allocator, head.pictures ? op.tensors[0] : nullptr, op.name);
    if (head.changes && !before.resize(static_cast<size_t>(head.before.elements())))
      return outOfMemory(context->allocator);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = head.pictures ? 2 : 0; c < head.columns; ++c) {
        const mxrt_tensor *to = op.tensors[head.columns + c];
        int64_t bytes = mxrt_tensor_bytes(to) / head.rows;
        bool changed = c == 0 && head.changes;
        if (c == 0 && head.sequences) {
          copySequence(op, row, to->data() + row * bytes, bytes);
          continue;
        }
        copyRow(op, c, row,
                changed ? static_cast<void *>(before.data()) : to->data() + row * bytes);
      }
      auto *first = reinterpret_cast<float *>(op.tensors[head.columns]->data());
      float *picture = first + row * (op.tensors[head.columns]->elements / head.rows);
      if (head.pictures) {
        int64_t offset = reinterpret_cast<const int64_t *>(op.tensors[1]->data())[op.numbers[row]];
        auto *labels = reinterpret_cast<float *>(op.tensors[3]->data());
        MXRT_CHECK(reader.read(offset, head.before.height, head.before.width,
                               head.changes ? before.data() : picture, labels[row]));
      }
      if (head.changes) {
        mxrt_rng stream = head.stream;
        stream.position = streamPosition(head.epoch, op.locations[row]);
        MXRT_CHECK(changePicture(context, {op.changes, static_cast<size_t>(head.changes)}, stream,
                                 head.before, before.data(), picture, room));
      }
    }
    return success();
  };
  return run().release();
}

mxrt_status gatherKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                         const void *arguments) {
  Op op(tensors, arguments);
  // A few images per chunk share scratch memory. The chunks are still small enough to occupy all
  // threads.
  int64_t grain = op.head->pictures ? std::clamp<int64_t>(op.head->rows / 16, 1, 4) : 1;
  if (op.head->rows == 0)
    return nullptr;
  if (!op.head->pictures) {
    int64_t bytes = 1;
    for (int64_t c = 0; c < op.head->columns; ++c)
      bytes += mxrt_tensor_bytes(tensors[op.head->columns + c]) / op.head->rows;
    grain = std::max<int64_t>(1, (op.head->changes ? grainBytes / 16 : grainBytes) / bytes);
  }
  return mxrt_parallel_for(context, op.head->rows, grain, gatherRows, &op);
}

void *put(void *at, const void *data, size_t bytes) {
  if (bytes > 0)
    std::memcpy(at, data, bytes);
  return static_cast<char *>(at) + bytes;
}

} // namespace

Parts::~Parts() {
  for (Value &value : list)
    host::release(heap, value);
}

Status Parts::add(mxrt_runtime *runtime, mxrt_dtype type, const int64_t *rows, int32_t rank,
                  const int64_t *sizes, const mxrt_location &location) {
  int64_t shape[MXRT_MAX_RANK + 1] = {};
  int32_t count = 0;
  if (rows)
    shape[count++] = *rows;
  for (int32_t i = 0; i < rank; ++i)
    shape[count++] = sizes[i];
  mxrt_tensor *made = nullptr;
  mxrt_device device = {MXRT_CPU, 0};
  MXRT_CHECK(Status(mxrt_tensor_create(runtime, &device, type, count, shape, &location, &made)));
  Value value = makeTensorValue(heap, made);
  if (!value.isSet() || !list.push(value)) {
    if (value.isSet())
      host::release(heap, value);
    else
      mxrt_tensor_release(made);
    return heap.exhausted();
  }
  return success();
}

Status pushGather(DataHost &host, Invocation &call, const GatherSource &source,
                  std::span<const PictureChange> changes, const ItemRequest &request,
                  Parts &parts) {
  std::span<const Column> columns = source.columns;
  bool pictures = source.pictures, sequences = !source.starts.empty();
  mxrt_runtime *runtime = host.options.runtime;
  const mxrt_allocator *alloc = host.allocator();
  auto rows = static_cast<int64_t>(request.numbers.size());
  size_t count = columns.size();
  Vec<mxrt_tensor *> reads(alloc), writes(alloc);
  Vec<int64_t> words(alloc);
  size_t bytes = sizeof(Head) + count * sizeof(ColumnHead) +
                 changes.size() * sizeof(PictureChange) +
                 (sequences ? 4 : 2) * request.numbers.size_bytes() + source.name.size();
  if (!reads.reserve(count) || !writes.reserve(count) || !words.resize((bytes + 7) / 8))
    return outOfMemory(alloc);
  Head head = {static_cast<int64_t>(count),
               rows,
               static_cast<int64_t>(changes.size()),
               pictures,
               sequences,
               static_cast<int64_t>(source.name.size()),
               request.stream,
               request.epoch,
               {}};
  void *end = words.data() + sizeof head / 8;
  auto lengthAt = [&](size_t r) {
    auto number = static_cast<size_t>(request.numbers[r]);
    return source.starts[number + 1] - source.starts[number];
  };
  int64_t longest = 0;
  for (size_t r = 0; r < request.numbers.size() && sequences; ++r)
    longest = std::max(longest, lengthAt(r));
  for (size_t c = 0; c < count; ++c) {
    const Column &column = columns[c];
    int64_t sizes[MXRT_MAX_RANK];
    std::copy(column.sizes, column.sizes + column.rank, sizes);
    if (c == 0 && (pictures || !changes.empty())) {
      if (column.rank != 3 || column.type != MXRT_F32)
        return error(alloc, MXRT_SHAPE, noLocation,
                     "pictures are f32[channels, height, width], the items are %s",
                     shapeText({column.type, column.rank, column.sizes}).text);
      PictureSize size = {sizes[0], sizes[1], sizes[2]};
      head.before = size;
      for (const PictureChange &change : changes)
        MXRT_CHECK(sizeAfter(alloc, change, size));
      sizes[1] = size.height;
      sizes[2] = size.width;
    }
    if (c == 0 && sequences)
      sizes[0] = std::max(request.length, longest);
    MXRT_CHECK(parts.add(runtime, column.type, request.single ? nullptr : &rows, column.rank, sizes,
                         call.location));
    ColumnHead entry = {column.elements, column.scale};
    end = put(end, &entry, sizeof entry);
    if (!reads.push(column.rows.get()) || !writes.push(tensorOf(parts.list[parts.list.size() - 1])))
      return outOfMemory(alloc);
  }
  std::memcpy(words.data(), &head, sizeof head);
  end = put(end, changes.data(), changes.size_bytes());
  end = put(end, request.numbers.data(), request.numbers.size_bytes());
  end = put(end, request.positions.data(), request.positions.size_bytes());
  for (size_t r = 0; r < request.numbers.size() && sequences; ++r) {
    auto *starts = static_cast<int64_t *>(end);
    starts[r] = source.starts[static_cast<size_t>(request.numbers[r])];
    starts[request.numbers.size() + r] = lengthAt(r);
  }
  put(sequences ? static_cast<int64_t *>(end) + 2 * request.numbers.size() : end,
      source.name.data(), source.name.size());
  mxrt_call push = {};
  push.run = gatherKernel;
  push.name = pictures ? "decode" : changes.empty() ? "gather" : "augment";
  push.reads = reads.data();
  push.read_count = count;
  push.writes = writes.data();
  push.write_count = count;
  push.arguments = words.data();
  push.argument_bytes = words.size() * 8;
  push.flags = MXRT_OP_OVERWRITES;
  push.location = call.location;
  return Status(mxrt_call_push(runtime, &push));
}

} // namespace mxrt::data
