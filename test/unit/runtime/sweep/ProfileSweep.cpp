// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile of its own and that of a runtime, filled by hand and by the engine,
// written as a trace and as a table.

#include "AllocationSweep.h"
#include "mxrt/engine.h"
#include "mxrt/profile.h"

#include <memory>

namespace mxrt::test {
namespace {

size_t linesWith(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

mxrt_status append(void *user, const char *text, size_t size) {
  static_cast<std::string *>(user)->append(text, size);
  return nullptr;
}

Status write(Stage &stage, mxrt_profile *profile) {
  std::string trace, table;
  MXRT_CHECK(Status(mxrt_profile_write_trace(profile, append, &trace)));
  stage.saw("ops in the trace", int64_t(linesWith(trace, "\"name\":\"op")));
  MXRT_CHECK(Status(mxrt_profile_write_summary(profile, 0, append, &table)));
  stage.saw("ops in the table", int64_t(linesWith(table, "op-")));
  return success();
}

Status recorded(Stage &stage) {
  mxrt_profile *raw = nullptr;
  MXRT_CHECK(Status(mxrt_profile_create(stage.memory.get(), 32, &raw)));
  std::unique_ptr<mxrt_profile, decltype(&mxrt_profile_destroy)> profile(raw, mxrt_profile_destroy);
  MXRT_CHECK(Status(mxrt_profile_start(raw)));
  for (int i = 0; i < 40; ++i) {
    std::string name = "op-" + std::to_string(i % 10);
    mxrt_profile_record(raw, MXRT_PROFILE_OP, name.c_str(), here, 0, i, i + 1, 0);
  }
  mxrt_profile_stop(raw);
  uint64_t kept = 0, lost = 0;
  mxrt_profile_count(raw, &kept, &lost);
  stage.saw("kept", int64_t(kept));
  stage.saw("lost", int64_t(lost));
  return write(stage, raw);
}

Status ofTheRuntime(Stage &stage) {
  mxrt_profile *profile = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_profile(stage.runtime, &profile)));
  mxrt_profile_reset(profile);
  MXRT_CHECK(Status(mxrt_profile_start(profile)));
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_engine(stage.runtime, nullptr, &engine)));
  mxrt_var var = 0;
  MXRT_CHECK(Status(mxrt_engine_new_var(engine, &var)));
  mxrt_op op = {};
  op.run = [](mxrt_op_context *, void *) -> mxrt_status { return nullptr; };
  op.writes = &var;
  op.write_count = 1;
  op.name = "op-1";
  op.location = here;
  Status pushed(mxrt_engine_push(engine, &op));
  (void)Status(mxrt_engine_delete_var(engine, var, nullptr, nullptr));
  Status waited(mxrt_engine_wait_all(engine, here));
  mxrt_profile_stop(profile);
  MXRT_CHECK(std::move(pushed));
  MXRT_CHECK(std::move(waited));
  return write(stage, profile);
}

const SweepProgram programs[] = {
    {"Recorded", recorded},
    {"OfTheRuntime", ofTheRuntime},
};
INSTANTIATE_TEST_SUITE_P(Profile, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
