// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data of host code: files, data sets, loaders with changed pictures, bars, logs,
// drawings, checkpoints and byte pairs, by the names that compiled programs use.

#include "../host/VmTestSupport.h"
#include "../io/Formats.h"
#include "AllocationSweep.h"
#include "data/DataHost.h"
#include "io/Images.h"
#include "io/Records.h"
#include "mxrt/engine.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace mxrt::test {
namespace {

namespace fs = std::filesystem;
using namespace mxrt::host;

/// %s is the folder with the files.
const char *const loading = R"(
native mx.data.images(str, i64, i64) -> handle
native mx.data.crop(handle, i64, i64, i64, bool) -> handle
native mx.data.zoom(handle, f32) -> handle
native mx.data.colour(handle, f32, f32, f32) -> handle
native mx.data.repeat(handle, i64) -> handle
native mx.data.plan(handle, str, i64, str, i64, bool, any) -> handle
native mx.data.begin(handle, i64, i64, i64, i64) -> handle
native mx.data.next(handle) -> tuple
native mx.progress.make(str, bool) -> handle
native mx.progress.begin(handle, i64)
native mx.progress.step(handle)
native mx.progress.show(handle, ...)
native mx.progress.end(handle)
native mx.log(str, any, i64)
entry main
func main() in "main.mx" {
  reg str, i64, i64, handle, bool, f32, str, handle, tuple, handle
  reg i64, i64
  const r0, "%s/pictures.rec"
  int r1, 5
  int r2, 4
  bool r4, 1
  const r5, 0.5f
  native r3, mx.data.images, [r0, r1, r1]
  native r3, mx.data.zoom, [r3, r5]
  native r3, mx.data.crop, [r3, r2, r2, r2, r4]
  native r3, mx.data.colour, [r3, r5, r5, r5]
  native r3, mx.data.repeat, [r3, r2]
  const r6, "keep"
  native r3, mx.data.plan, [r3, r6, r2, r6, r2, r4, r1]
  int r10, 0
  int r11, 2
  native r7, mx.data.begin, [r3, r10, r10, r10, r10]
  native r9, mx.progress.make, [r6, r4]
  native _, mx.progress.begin, [r9, r11]
more:
  native _, mx.progress.step, [r9]
  native r8, mx.data.next, [r7]
  native _, mx.progress.show, [r9, r6, r10]
  native _, mx.log, [r6, r5, r10]
  next.i r10, r11, more
  native _, mx.progress.end, [r9]
  retu
}
)";

const char *const reading = R"(
native mx.data.bytes(str) -> tensor
native mx.data.chars(str) -> tuple
native mx.data.bpe(str, i64) -> tensor
native mx.data.tokens(str, tensor) -> tensor
native mx.data.decode(tensor, tensor) -> str
native mx.data.rows(...) -> handle
native mx.data.take(handle, i64) -> handle
native mx.data.shard(handle, i64, i64) -> handle
native mx.data.filter(handle, fn, bool) -> handle
native mx.data.walk(handle) -> handle
native mx.data.next.only(handle) -> tensor
native mx.draw.plot(any)
native mx.draw.hist(any, i64)
native mx.save(str, ...)
native mx.restore(str, ...) -> tuple
entry main
func main() in "main.mx" {
  reg str, tensor, tuple, i64, tensor, tensor, str, handle, tensor, i64
  reg str, fn, bool
  const r0, "%s/text.txt"
  native r1, mx.data.bytes, [r0]
  native r2, mx.data.chars, [r0]
  int r3, 300
  native r4, mx.data.bpe, [r0, r3]
  native r5, mx.data.tokens, [r0, r4]
  native r6, mx.data.decode, [r5, r4]
  print [r6]
  native _, mx.draw.plot, [r1]
  int r3, 5
  native _, mx.draw.hist, [r5, r3]
  native r7, mx.data.rows, [r1]
  int r9, 1
  bool r12, 0
  native r7, mx.data.take, [r7, r3]
  native r7, mx.data.shard, [r7, r9, r3]
  closure r11, keep, []
  native r7, mx.data.filter, [r7, r11, r12]
  native r7, mx.data.walk, [r7]
  native r8, mx.data.next.only, [r7]
  const r10, "%s/state.ckpt"
  native _, mx.save, [r10, r6, r2, r0, r4]
  native r2, mx.restore, [r10, r6, r2, r0, r4]
  retu
}
func keep(tensor) -> bool in "main.mx" {
  reg bool
  bool r1, 1
  ret r1
}
)";

const char *const rules = R"(
type Numbers(lr, most)
native mx.rule.make(i64, str, any) -> handle
native mx.rule.optimizer(handle) -> handle
native mx.rule.number(handle) -> i64
native mx.rule.numbers(handle) -> struct
native mx.rule.has(handle, str, ...) -> bool
native mx.rule.take(handle, str) -> struct
native mx.rule.restored(handle, str, struct) -> struct
native mx.save(str, ...)
native mx.restore(str, ...) -> tuple
native mx.rule.put(handle, str, struct)
entry main
func main() in "main.mx" {
  reg str, i64, struct, handle, handle, bool, str, bool, struct, str, tuple
  const r0, "%s: the name of an optimizer"
  int r1, 3
  struct r2, Numbers, [r0, r1]
  native r3, mx.rule.make, [r1, r0, r2]
  const r6, "none"
  native r4, mx.rule.optimizer, [r3]
  native r5, mx.rule.has, [r4, r0, r1, r1]
  native r8, mx.rule.numbers, [r4]
  native _, mx.rule.put, [r4, r0, r8]
  native r7, mx.rule.has, [r4, r0, r1, r1]
  native r2, mx.rule.take, [r4, r0]
  native _, mx.rule.put, [r4, r0, r2]
  const r9, "%s/rules.ckpt"
  native _, mx.save, [r9, r6, r4]
  native r10, mx.restore, [r9, r6, r4]
  native r7, mx.rule.has, [r4, r0, r1, r1]
  native r2, mx.rule.restored, [r4, r0, r8]
  native _, mx.rule.put, [r4, r0, r2]
  native r2, mx.rule.restored, [r4, r0, r8]
  native r1, mx.rule.number, [r4]
  print [r5, r7, r1, r2]
  retu
}
)";

/// A KVStore of one rank. Two keys share a bucket.
const char *const exchanging = R"(
native mx.data.bytes(str) -> tensor
native mx.dist.local(i64, str, str, i64, str, f64) -> handle
native mx.dist.init(handle, ...) -> tuple
native mx.dist.gather(handle, ...) -> tuple
native mx.dist.barrier(handle)
native mx.dist.stats(handle) -> tuple
native mx.dist.table(handle, str) -> str
native mx.dist.close(handle)
entry main
func main() in "main.mx" {
  reg str, tensor, handle, i64, str, str, tuple, str, tuple, str, f64
  const r0, "%s/text.txt"
  native r1, mx.data.bytes, [r0]
  int r3, 1
  const r4, "direct"
  const r9, "bit1"
  const r10, 0.5d
  native r2, mx.dist.local, [r3, r4, r4, r3, r9, r10]
  const r5, "a"
  const r7, "b"
  native r6, mx.dist.init, [r2, r5, r1, r7, r3]
  native r6, mx.dist.gather, [r2, r5, r1, r7, r1]
  native _, mx.dist.barrier, [r2]
  native r8, mx.dist.stats, [r2]
  native r7, mx.dist.table, [r2, r5]
  native _, mx.dist.close, [r2]
  retu
}
)";

/// Queues of a program alone, one of them in a checkpoint with an element.
const char *const queueing = R"(
native mx.data.bytes(str) -> tensor
native mx.queue.make(i64, ...) -> handle
native mx.queue.shuffled(i64, i64, i64, i64, ...) -> handle
native mx.queue.shared(i64, i64, ...) -> handle
native mx.queue.put(handle, any)
native mx.queue.get(handle) -> tuple
native mx.queue.get.only(handle) -> tensor
native mx.save(str, ...)
native mx.restore(str, ...) -> tuple
entry main
func main() in "main.mx" {
  reg str, tensor, handle, i64, i64, dtype, str, str, handle, tuple, handle
  const r0, "%s/text.txt"
  native r1, mx.data.bytes, [r0]
  int r4, 27
  dtype r5, u8
  const r6, "%s/queue.ckpt"
  const r7, "q"
  int r3, 1
  native r2, mx.queue.make, [r3, r5, r3, r4]
  native r8, mx.queue.shuffled, [r3, r3, r3, r3, r5, r3, r4]
  native r10, mx.queue.shared, [r3, r3, r5, r3, r4]
  native _, mx.queue.put, [r2, r1]
  native _, mx.save, [r6, r7, r2]
  native r9, mx.restore, [r6, r7, r8]
  native r1, mx.queue.get.only, [r8]
  native r9, mx.queue.get, [r2]
  native _, mx.queue.put, [r10, r1]
  retu
}
)";

/// The files, made once.
const std::string &folder() {
  static const std::string path = [] {
    fs::path made = fs::temp_directory_path() / ("mx-data-sweep-" + std::to_string(getpid()));
    fs::create_directories(made);
    std::ofstream(made / "text.txt") << "banana bandana, 12 bananas\n";
    Vec<char> file(mxrt_system_allocator());
    for (size_t i = 0; i < formatCount; ++i) {
      std::string name = formats[i].name;
      if (name != "png" && name != "jpeg")
        continue;
      Vec<char> payload(mxrt_system_allocator());
      float label = 1;
      EXPECT_TRUE(io::appendImageRecord(payload, {&label, 1}, i, formats[i].golden()));
      EXPECT_TRUE(io::appendRecord(file, {payload.data(), payload.size()}).ok());
    }
    std::ofstream out(made / "pictures.rec", std::ios::binary);
    out.write(file.data(), std::streamsize(file.size()));
    return made.string();
  }();
  return path;
}

struct RemovesFolder : ::testing::Environment {
  void TearDown() override { fs::remove_all(folder()); }
};
[[maybe_unused]] auto *const removes = ::testing::AddGlobalTestEnvironment(new RemovesFolder);

Status runText(Stage &stage, std::string text) {
  for (size_t at; (at = text.find("%s")) != std::string::npos;)
    text.replace(at, 2, folder());
  std::vector<uint8_t> bytes;
  std::string message;
  EXPECT_TRUE(assemble(text, bytes, message)) << message;
  fs::remove_all(folder() + "/log");
  std::string logFolder = folder() + "/log";
  TestHost host;
  data::DataOptions options;
  options.runtime = stage.runtime;
  options.logFolder = logFolder.c_str();
  std::string shown;
  options.showProgress = [](void *to, std::string_view) { *static_cast<std::string *>(to) += "."; };
  options.progressContext = &shown;
  data::DataHost data(options);
  VmOptions vmOptions;
  vmOptions.runtime = stage.runtime;
  vmOptions.host = &host;
  Vm *vm = MXRT_TRY(Vm::create(vmOptions));
  Program *program = nullptr;
  auto all = [&]() -> Status {
    MXRT_CHECK(data.registerNatives(*vm, data::nativeGroups()));
    program = MXRT_TRY(vm->load(bytes));
    MXRT_CHECK(vm->run(program));
    return data.finishLog();
  };
  Status status = all();
  // What was issued ends before its memory does.
  mxrt_engine *engine = nullptr;
  Status late(mxrt_runtime_engine(stage.runtime, nullptr, &engine));
  if (late.ok())
    late = Status(mxrt_engine_wait_all(engine, {}));
  if (program)
    vm->unload(program);
  Vm::destroy(vm);
  MXRT_CHECK(std::move(status));
  MXRT_CHECK(std::move(late));
  stage.saw(host.output);
  return success();
}

Status runLoading(Stage &stage) { return runText(stage, loading); }
Status runReading(Stage &stage) { return runText(stage, reading); }
Status runRules(Stage &stage) { return runText(stage, rules); }
Status runExchanging(Stage &stage) { return runText(stage, exchanging); }
Status runQueueing(Stage &stage) { return runText(stage, queueing); }

constexpr const char *pool = "statistics of the pool, and the blocks it keeps";

const SweepProgram programs[] = {
    {"loading", runLoading, "why a batch was short, which only an explanation uses"},
    {"reading", runReading, "why a batch was short, which only an explanation uses"},
    {"rules", runRules, pool},
    {"exchanging", runExchanging, pool},
    {"queueing", runQueueing, pool}};

INSTANTIATE_TEST_SUITE_P(Data, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
