// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the data natives in a VM, and tracking of short batches.

#include "data/DataHost.h"
#include "data/Log.h"
#include "eager/TensorValue.h"

#include <cstring>

namespace mxrt::data {

using host::Value;

DataHost::DataHost(const DataOptions &options)
    : options(options), shortName(mxrt_runtime_allocator(options.runtime)),
      shortBuffers(mxrt_runtime_allocator(options.runtime)) {}

DataHost::~DataHost() {
  forgetShortBatch();
  deleteObject(allocator(), log);
}

Result<RunLog *> DataHost::openLog() {
  if (!log)
    log = newObject<RunLog>(allocator(), *this);
  if (!log)
    return outOfMemory(allocator());
  return log;
}

Status DataHost::finishLog() {
  if (!log)
    return success();
  MXRT_CHECK(log->write({}, true));
  Vec<char> text(allocator());
  MXRT_CHECK(log->summarise(text));
  if (options.showProgress)
    options.showProgress(options.progressContext, {text.data(), text.size()});
  deleteObject(allocator(), log);
  log = nullptr;
  return success();
}

void DataHost::forgetShortBatch() {
  for (mxrt_buffer *buffer : shortBuffers)
    mxrt_buffer_release(buffer);
  shortBuffers.clear();
}

void DataHost::noteShortBatch(std::string_view set, int64_t rows,
                              std::span<mxrt_tensor *const> tensors) {
  forgetShortBatch();
  // Only an explanation in an error message depends on it. It is omitted if memory runs out.
  if (!shortName.resize(set.size()) || !shortBuffers.reserve(tensors.size()))
    return;
  std::memcpy(shortName.data(), set.data(), set.size());
  shortRows = rows;
  for (mxrt_tensor *tensor : tensors)
    if (!shortBuffers.push(mxrt_buffer_retain(mxrt_tensor_buffer(tensor))))
      return;
}

bool DataHost::findShortBatch(std::span<const Value> values, ShortBatch &found) const {
  for (const Value &value : values) {
    if (host::isAggregate(value.kind) && findShortBatch(value.aggregate()->view(), found))
      return true;
    const mxrt_tensor *tensor = eager::tensorOf(value);
    for (size_t i = 0; tensor && i < shortBuffers.size(); ++i)
      if (shortBuffers[i] == mxrt_tensor_buffer(tensor)) {
        found = {{shortName.data(), shortName.size()}, shortRows};
        return true;
      }
  }
  return false;
}

Status DataHost::registerNatives(host::Vm &vm, std::span<const NativeGroup *const> groups) {
  for (const NativeGroup *group : groups)
    for (const NativeRow &row : std::span(group->rows, group->count))
      MXRT_CHECK(
          vm.registerNative(row.name, {row.params, row.variadic, row.result}, row.function, this));
  return success();
}

Status pathOf(const DataHost &host, const Value &text, const char *&path) {
  host::StrObject *str = text.str();
  path = str->text();
  if (std::strlen(path) != str->size)
    return error(host.allocator(), MXRT_FILE_ACCESS, noLocation,
                 "the name of a file has a zero in it: `%s...`", path);
  return success();
}

} // namespace mxrt::data
