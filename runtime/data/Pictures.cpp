// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// data.images: images of a RecordIO file. The file is memory-mapped, so it may be larger than
// memory. The ops that gather a batch decode the images.

#include "data/Pictures.h"
#include "base/Files.h"
#include "io/Images.h"
#include "io/Records.h"

#include <cstring>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

struct Mapping {
  const mxrt_allocator *alloc;
  const void *memory;
  size_t bytes;
};

void unmap(void *user) {
  auto *mapping = static_cast<Mapping *>(user);
  os::unmapFile(mapping->memory, mapping->bytes);
  deleteObject(mapping->alloc, mapping);
}

/// The bytes of a file as u8[n], memory-mapped.
Status mapTensor(DataHost &host, const Invocation &call, const char *path, TensorRef &out) {
  const mxrt_allocator *alloc = host.allocator();
  int descriptor = -1;
  int64_t size = 0;
  if (int failure = os::openForReading(path, descriptor, size))
    return io::fileError(alloc, "read", path, failure);
  mxrt_device device = {MXRT_CPU, 0};
  mxrt_tensor *tensor = nullptr;
  Status status;
  if (size == 0) {
    status = Status(
        mxrt_tensor_create(host.options.runtime, &device, MXRT_U8, 1, &size, &call.location, &tensor));
  } else {
    Mapping *mapping = newObject<Mapping>(alloc);
    const void *memory = mapping ? os::mapFile(descriptor, static_cast<size_t>(size)) : nullptr;
    if (!memory) {
      status = mapping ? error(alloc, MXRT_FILE_ACCESS, noLocation, "cannot map `%s`", path)
                       : outOfMemory(alloc);
      deleteObject(alloc, mapping);
    } else {
      *mapping = {alloc, memory, static_cast<size_t>(size)};
      status = Status(mxrt_tensor_borrow(host.options.runtime, &device, MXRT_U8, 1, &size, nullptr,
                                         const_cast<void *>(memory), 0, unmap, mapping, &call.location,
                                         &tensor));
      if (!status.ok())
        unmap(mapping);
    }
  }
  os::closeFile(descriptor);
  out = TensorRef(tensor);
  return status;
}

/// Offsets of all records, from the index file if there is one.
Status findRecords(DataHost &host, const char *path, const mxrt_tensor *file,
                   Vec<io::RecordPosition> &positions) {
  const mxrt_allocator *alloc = host.allocator();
  char index[4096];
  size_t length = std::strlen(path);
  bool ending = length > 4 && std::strcmp(path + length - 4, ".rec") == 0;
  int written =
      std::snprintf(index, sizeof index, "%.*s.idx", int(ending ? length - 4 : length), path);
  io::FileInput input(alloc, index);
  if (written > 0 && size_t(written) < sizeof index && input.open().ok()) {
    Vec<char> text(alloc);
    if (!text.resize(static_cast<size_t>(input.size)))
      return outOfMemory(alloc);
    MXRT_CHECK(input.read(0, text.data(), text.size()));
    return io::readRecordIndex(input, {text.data(), text.size()}, positions);
  }
  io::MemoryInput records(alloc, path, file->data(), static_cast<size_t>(file->elements));
  return io::makeRecordIndex(records, positions);
}

/// images(path, height, width)
Status readImages(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_allocator *alloc = host.allocator();
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  int64_t height = call.args[1].i, width = call.args[2].i;
  if (height < 1 || width < 1 || width > io::maxPixels / height)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "images: a picture of %lld x %lld pixels is not possible",
                 static_cast<long long>(height), static_cast<long long>(width));
  TensorRef file;
  MXRT_CHECK(mapTensor(host, call, path, file));
  Vec<io::RecordPosition> positions(alloc);
  MXRT_CHECK(findRecords(host, path, file.get(), positions));
  auto count = static_cast<int64_t>(positions.size());
  mxrt_device device = {MXRT_CPU, 0};
  mxrt_tensor *offsets = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(host.options.runtime, &device, MXRT_I64, 1, &count,
                                       &call.location, &offsets)));
  TensorRef owner(offsets);
  for (int64_t i = 0; i < count; ++i)
    reinterpret_cast<int64_t *>(offsets->data())[i] = positions[static_cast<size_t>(i)].offset;
  Dataset *set = MXRT_TRY(makeDataset(call.vm.heap(), alloc));
  Status status;
  Column pictures, labels;
  pictures.type = labels.type = MXRT_F32;
  pictures.rank = 3;
  pictures.sizes[0] = 3;
  pictures.sizes[1] = height;
  pictures.sizes[2] = width;
  pictures.elements = 3 * height * width;
  pictures.rows = std::move(file);
  labels.rows = std::move(owner);
  set->length = count;
  set->pictures = true;
  if (!set->columns.push(std::move(pictures)) || !set->columns.push(std::move(labels)) ||
      !set->name.resize(std::strlen(path)))
    status = outOfMemory(alloc);
  else
    std::memcpy(set->name.data(), path, set->name.size());
  return giveDataset(call, set, std::move(status));
}

} // namespace

Status PictureReader::read(int64_t offset, int64_t height, int64_t width, float *picture,
                           float &label) {
  if (offset > input.size)
    return input.malformed(input.size, "index", "the index has a record at byte %lld",
                           static_cast<long long>(offset));
  io::RecordReader reader(input, offset);
  MXRT_CHECK(reader.next(payload));
  io::ImageRecord record;
  MXRT_CHECK(io::readImageRecord(input, offset, {payload.data(), payload.size()}, record));
  io::ImageSize size;
  MXRT_CHECK(io::readImageSize(input, offset, record.image, size));
  int64_t shrink = io::shrinkOf(record.image, size, height, width);
  io::ImageSize small = io::shrunk(size, shrink);
  // Reserved, not initialised: the decoder writes every byte.
  if (!rgb.reserve(static_cast<size_t>(3 * small.width * small.height)))
    return outOfMemory(alloc);
  MXRT_CHECK(io::decodeImage(input, offset, record.image, size, shrink, rgb.data()));
  MXRT_CHECK(
      resampler.run(rgb.data(), small, io::middleOf(small, height, width), height, width, picture));
  label = record.labelCount() > 0 ? record.label(0) : 0;
  return success();
}

static constexpr ParamData params[] = {{Kind::Str, false}, {Kind::Int, false}, {Kind::Int, false}};
static const NativeRow natives[] = {{"mx.data.images", params, false, Kind::Handle, readImages}};
const NativeGroup mxrt_natives_pictures = {"mxrt_natives_pictures", natives, std::size(natives)};

} // namespace mxrt::data
