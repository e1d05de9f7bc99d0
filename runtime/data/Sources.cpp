// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers of data files: MNIST, CIFAR-10, CSV and arrays.

#include "data/Sources.h"
#include "data/Dataset.h"
#include "eager/TensorValue.h"
#include "io/Arrays.h"
#include "io/Safetensors.h"

#include <cstdio>
#include <cstring>
#include <utility>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

Result<mxrt_tensor *> makeTensor(DataHost &host, const Invocation &call, mxrt_dtype type,
                                 int32_t rank, const int64_t *sizes) {
  mxrt_tensor *made = nullptr;
  mxrt_device device = {MXRT_CPU, 0};
  MXRT_CHECK(Status(
      mxrt_tensor_create(host.options.runtime, &device, type, rank, sizes, &call.location, &made)));
  return made;
}

Status readWhole(io::Input &input, Vec<char> &bytes) {
  io::Stream stream(input);
  MXRT_CHECK(stream.open(0, input.size, io::Coding::Plain));
  if (!bytes.resize(static_cast<size_t>(input.size)))
    return outOfMemory(input.alloc);
  return stream.read(bytes.data(), bytes.size(), "the file");
}

namespace {

/// Checks the element type and rank that the program expects.
Status expectShape(const io::Input &input, const io::ArrayHead &head, mxrt_dtype type,
                   int64_t rank) {
  if (head.type != type || head.rank != rank) {
    ShapeRef shape = {head.type, head.rank, head.sizes};
    return error(input.alloc, head.type != type ? MXRT_DTYPE : MXRT_SHAPE, noLocation,
                 "%.*s holds %s\nhelp: write `dtype=%s, rank=%d`", int(input.name.size()),
                 input.name.data(), shapeText(shape).text, mxrt_dtype_name(head.type), head.rank);
  }
  return success();
}

// -- idx and MNIST ------------------------------------------------------------

struct Path {
  char text[4096];
};

/// `folder/name`, or `folder/name.gz` if only that exists.
Status findFile(DataHost &host, const char *folder, const char *name, Path &path) {
  for (const char *ending : {"", ".gz"}) {
    int length = std::snprintf(path.text, sizeof path.text, "%s/%s%s", folder, name, ending);
    if (length < 0 || size_t(length) >= sizeof path.text)
      return error(host.allocator(), MXRT_FILE_ACCESS, noLocation, "the path of `%s` is too long",
                   name);
    io::FileInput input(host.allocator(), path.text);
    if (input.open().ok())
      return success();
  }
  return error(host.allocator(), MXRT_FILE_ACCESS, noLocation,
               "there is no `%s` in `%s`, nor `%s.gz`\nhelp: the folder of a data set in the form "
               "of MNIST has four idx files; Debian's dataset-fashion-mnist puts such ones into "
               "`/usr/share/datasets/fashion-mnist`",
               name, folder, name);
}

/// The bytes of an idx file of `rank` dimensions as u8[n, elements per item].
Status readIdxBytes(DataHost &host, const Invocation &call, const char *folder, const char *name,
                    int32_t rank, int64_t itemElements, TensorRef &out) {
  Path path;
  MXRT_CHECK(findFile(host, folder, name, path));
  io::FileInput input(host.allocator(), path.text);
  MXRT_CHECK(input.open());
  io::Stream stream(input);
  MXRT_CHECK(stream.openWhole());
  io::ArrayHead head;
  MXRT_CHECK(io::readIdxHead(stream, head));
  int64_t each = 1;
  for (int32_t i = 1; i < head.rank; ++i)
    each *= head.sizes[i];
  if (head.type != MXRT_U8 || head.rank != rank || each != itemElements) {
    ShapeRef shape = {head.type, head.rank, head.sizes};
    return stream.malformed(2, "shape",
                            "the file holds %s, but u8 with %d dimensions and %lld "
                            "elements an item was expected",
                            shapeText(shape).text, rank, static_cast<long long>(itemElements));
  }
  int64_t sizes[] = {head.sizes[0], itemElements};
  out = TensorRef(MXRT_TRY(makeTensor(host, call, MXRT_U8, rank == 1 ? 1 : 2, sizes)));
  return io::readElements(stream, head, out->data());
}

Status readMnistPart(DataHost &host, Invocation &call, const char *folder, const char *part,
                     Value &out) {
  char images[64], labels[64];
  std::snprintf(images, sizeof images, "%s-images-idx3-ubyte", part);
  std::snprintf(labels, sizeof labels, "%s-labels-idx1-ubyte", part);
  TensorRef x, y;
  MXRT_CHECK(readIdxBytes(host, call, folder, images, 3, 784, x));
  MXRT_CHECK(readIdxBytes(host, call, folder, labels, 1, 1, y));
  if (x->sizes()[0] != y->sizes()[0])
    return error(host.allocator(), MXRT_FILE_FORMAT, noLocation,
                 "`%s`: %lld pictures, but %lld labels", folder,
                 static_cast<long long>(x->sizes()[0]), static_cast<long long>(y->sizes()[0]));
  Dataset *set = MXRT_TRY(makeDataset(call.vm.heap(), host.allocator()));
  Status status = addColumn(*set, x.release(), MXRT_F32, 1.0f / 255);
  if (status.ok())
    status = addColumn(*set, y.release(), MXRT_I32, 1);
  MXRT_CHECK(giveDataset(call, set, std::move(status)));
  out = std::exchange(call.result, Value::unit());
  return success();
}

Status readMnist(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  host::Heap &heap = call.vm.heap();
  const char *folder = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], folder));
  Value train, test;
  Status status = readMnistPart(host, call, folder, "train", train);
  if (status.ok())
    status = readMnistPart(host, call, folder, "t10k", test);
  host::AggregateObject *pair = status.ok() ? host::makeAggregate(heap, 2, nullptr) : nullptr;
  if (!pair) {
    host::release(heap, train);
    host::release(heap, test);
    return status.ok() ? heap.exhausted() : std::move(status);
  }
  ::new (pair->items() + pair->count++) Value(train);
  ::new (pair->items() + pair->count++) Value(test);
  call.result = Value(Kind::Tuple, pair);
  return success();
}

// -- CIFAR-10 -----------------------------------------------------------------

constexpr int64_t cifarItem = 1 + 3072;

/// Binary records: a label, then 3 x 32 x 32 bytes.
Status readCifar(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *folder = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], folder));
  static const char *const trainFiles[] = {"data_batch_1.bin", "data_batch_2.bin",
                                           "data_batch_3.bin", "data_batch_4.bin",
                                           "data_batch_5.bin"};
  static const char *const testFiles[] = {"test_batch.bin"};
  bool train = call.args[1].i != 0;
  std::span<const char *const> files(train ? trainFiles : testFiles, train ? 5 : 1);
  // All files are checked before memory is allocated.
  int64_t items = 0;
  Path path;
  for (const char *file : files) {
    MXRT_CHECK(findFile(host, folder, file, path));
    io::FileInput input(host.allocator(), path.text);
    MXRT_CHECK(input.open());
    if (input.size % cifarItem != 0)
      return input.malformed(input.size, "size", "the file has %lld bytes, no multiple of %lld",
                             static_cast<long long>(input.size), static_cast<long long>(cifarItem));
    items += input.size / cifarItem;
  }
  int64_t imageSizes[] = {items, 3, 32, 32}, labelSizes[] = {items};
  TensorRef x(MXRT_TRY(makeTensor(host, call, MXRT_U8, 4, imageSizes)));
  TensorRef y(MXRT_TRY(makeTensor(host, call, MXRT_U8, 1, labelSizes)));
  int64_t next = 0;
  for (const char *file : files) {
    MXRT_CHECK(findFile(host, folder, file, path));
    io::FileInput input(host.allocator(), path.text);
    MXRT_CHECK(input.open());
    for (int64_t at = 0; at + cifarItem <= input.size && next < items; at += cifarItem, ++next) {
      char *label = y->data() + next;
      MXRT_CHECK(input.read(at, label, 1));
      if (static_cast<unsigned char>(*label) > 9)
        return input.malformed(at, "label", "a label is 0 to 9, this is %d",
                               static_cast<unsigned char>(*label));
      MXRT_CHECK(input.read(at + 1, x->data() + next * 3072, 3072));
    }
  }
  Dataset *set = MXRT_TRY(makeDataset(call.vm.heap(), host.allocator()));
  Status status = addColumn(*set, x.release(), MXRT_F32, 1.0f / 255);
  if (status.ok())
    status = addColumn(*set, y.release(), MXRT_I32, 1);
  return giveDataset(call, set, std::move(status));
}

// -- arrays -------------------------------------------------------------------

Status readCsv(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  std::string_view separator = call.args[2].str()->view();
  if (separator.size() != 1 || separator[0] == '"' || separator[0] == '\n')
    return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "csv: a separator is one character, this is `%.*s`", int(separator.size()),
                 separator.data());
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  Vec<char> text(host.allocator());
  MXRT_CHECK(readWhole(input, text));
  std::string_view view(text.data(), text.size());
  io::CsvHead head;
  MXRT_CHECK(io::readCsvHead(input, view, separator[0], call.args[1].i != 0, head));
  int64_t sizes[] = {head.rows, head.columns};
  TensorRef out(MXRT_TRY(makeTensor(host, call, MXRT_F32, 2, sizes)));
  io::readCsv(view, separator[0], head, reinterpret_cast<float *>(out->data()));
  return eager::giveTensor(call, std::move(out));
}

Status readElementsOf(DataHost &host, Invocation &call, mxrt_dtype type) {
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  int64_t width = mxrt_dtype_size(type);
  if (input.size % width != 0)
    return input.malformed(input.size - input.size % width, "size",
                           "the file has %lld bytes, no multiple of the %lld of an element",
                           static_cast<long long>(input.size), static_cast<long long>(width));
  io::Stream stream(input);
  MXRT_CHECK(stream.open(0, input.size, io::Coding::Plain));
  io::ArrayHead head;
  head.type = type;
  head.rank = 1;
  head.sizes[0] = input.size / width;
  MXRT_CHECK(io::measure(stream, 0, head));
  TensorRef out(MXRT_TRY(makeTensor(host, call, type, 1, head.sizes)));
  MXRT_CHECK(io::readElements(stream, head, out->data()));
  return eager::giveTensor(call, std::move(out));
}

Status readBin(void *context, Invocation &call) {
  return readElementsOf(hostOf(context), call, static_cast<mxrt_dtype>(call.args[1].i));
}
Status readBytes(void *context, Invocation &call) {
  return readElementsOf(hostOf(context), call, MXRT_U8);
}

Status readSafetensor(DataHost &host, Invocation &call, io::Input &input, std::string_view name,
                      mxrt_dtype type, int64_t rank) {
  io::SafetensorsIndex index(input);
  MXRT_CHECK(index.read());
  const io::SafeTensor *found =
      name.empty() && index.tensors.size() == 1 ? &index.tensors[0] : index.find(name);
  if (!found)
    return input.malformed(
        8, "name", "of %zu tensors none is `%.*s`; the first is `%.*s`", index.tensors.size(),
        int(std::min<size_t>(name.size(), 80)), name.data(),
        index.tensors.empty() ? 0 : int(std::min<size_t>(index.tensors[0].name.size(), 80)),
        index.tensors.empty() ? "" : index.tensors[0].name.data());
  if (found->type == MXRT_DTYPE_COUNT)
    return error(host.allocator(), MXRT_UNSUPPORTED, noLocation,
                 "%.*s: `%.*s` has elements that mx has not", int(input.name.size()),
                 input.name.data(), int(std::min<size_t>(found->name.size(), 80)),
                 found->name.data());
  io::ArrayHead head;
  head.type = found->type;
  head.rank = found->rank;
  std::copy(found->sizes, found->sizes + found->rank, head.sizes);
  MXRT_CHECK(expectShape(input, head, type, rank));
  TensorRef out(MXRT_TRY(makeTensor(host, call, head.type, head.rank, head.sizes)));
  MXRT_CHECK(index.readTensor(*found, out->data()));
  return eager::giveTensor(call, std::move(out));
}

/// readArray(path, name, dtype, rank): the first bytes determine the format.
Status readArray(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  std::string_view name = call.args[1].str()->view();
  auto type = static_cast<mxrt_dtype>(call.args[2].i);
  int64_t rank = call.args[3].i;
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  unsigned char magic[6] = {};
  MXRT_CHECK(input.read(0, magic, static_cast<size_t>(std::min<int64_t>(input.size, 6))));
  std::string_view file(path);
  if (file.ends_with(".safetensors"))
    return readSafetensor(host, call, input, name, type, rank);
  io::Stream stream(input);
  // A truncated or damaged file named .npz is still reported as an npz.
  if (std::memcmp(magic, "PK", 2) == 0 || file.ends_with(".npz")) {
    MXRT_CHECK(io::openNpz(input, name, stream));
  } else {
    if (!name.empty())
      return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                   "`%s` holds one array, which has no name", path);
    MXRT_CHECK(stream.openWhole());
  }
  io::ArrayHead head;
  bool idx = magic[0] == 0 || magic[0] == 0x1f;
  MXRT_CHECK(idx ? io::readIdxHead(stream, head) : io::readNpyHead(stream, head));
  MXRT_CHECK(expectShape(input, head, type, rank));
  TensorRef out(MXRT_TRY(makeTensor(host, call, head.type, head.rank, head.sizes)));
  MXRT_CHECK(io::readElements(stream, head, out->data()));
  return eager::giveTensor(call, std::move(out));
}

} // namespace

static constexpr ParamData path[] = {{Kind::Str, false}};
static constexpr ParamData pathFlag[] = {{Kind::Str, false}, {Kind::Bool, false}};
static constexpr ParamData csv[] = {{Kind::Str, false}, {Kind::Bool, false}, {Kind::Str, false}};
static constexpr ParamData bin[] = {{Kind::Str, false}, {Kind::DType, false}};
static constexpr ParamData array[] = {
    {Kind::Str, false}, {Kind::Str, false}, {Kind::DType, false}, {Kind::Int, false}};
static const NativeRow natives[] = {{"mx.data.mnist", path, false, Kind::Tuple, readMnist},
                                    {"mx.data.cifar10", pathFlag, false, Kind::Handle, readCifar},
                                    {"mx.data.csv", csv, false, Kind::Tensor, readCsv},
                                    {"mx.data.bin", bin, false, Kind::Tensor, readBin},
                                    {"mx.data.bytes", path, false, Kind::Tensor, readBytes},
                                    {"mx.data.array", array, false, Kind::Tensor, readArray}};
const NativeGroup mxrt_natives_sources = {"mxrt_natives_sources", natives, std::size(natives)};

} // namespace mxrt::data
