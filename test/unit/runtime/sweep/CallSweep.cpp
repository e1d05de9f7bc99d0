// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls on tensors: operands, copies before a write, waits, errors.

#include "AllocationSweep.h"
#include "memory/Tensor.h"
#include "mxrt/call.h"

#include <cstring>

namespace mxrt::test {
namespace {

/// Every operand but the last is added to the last; refuses negative ones.
mxrt_status addKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                      const void *arguments) {
  int32_t count = 0;
  memcpy(&count, arguments, sizeof(count));
  auto *to = static_cast<int32_t *>(mxrt_tensor_data(tensors[count]));
  for (int32_t t = 0; t < count; ++t) {
    auto *from = static_cast<int32_t *>(mxrt_tensor_data(tensors[t]));
    for (int64_t i = 0; i < mxrt_tensor_elements(tensors[count]); ++i) {
      if (from[i] < 0)
        return mxrt_status_make(context->allocator, MXRT_INDEX, context->location,
                                "element %d is negative", int(i));
      to[i] += from[i];
    }
  }
  return nullptr;
}

class Caller {
public:
  explicit Caller(Stage &stage) : stage(stage) {}
  /// After the tensors of the program: no variable may be left of them.
  ~Caller() {
    mxrt_engine *engine = nullptr;
    if (Status(mxrt_runtime_engine(stage.runtime, nullptr, &engine)).failed())
      return; // there was no memory for one
    (void)Status(mxrt_engine_wait_all(engine, here));
    mxrt_engine_stats stats;
    mxrt_engine_get_stats(engine, &stats);
    stage.check(stats.variables == 0, "a variable is left");
  }
  Caller(const Caller &) = delete;

  Status filled(int32_t value, TensorRef &out, mxrt_device device = cpu0) {
    int64_t shape = 16;
    mxrt_tensor *raw = nullptr;
    MXRT_CHECK(
        Status(mxrt_tensor_create(stage.runtime, &device, MXRT_I32, 1, &shape, &here, &raw)));
    out = TensorRef(raw);
    for (int i = 0; i < 16; ++i)
      static_cast<int32_t *>(mxrt_tensor_data(raw))[i] = value;
    return success();
  }
  Status add(std::vector<mxrt_tensor *> from, const TensorRef &to) {
    auto count = int32_t(from.size());
    mxrt_tensor *written = to.get();
    mxrt_call call = {};
    call.run = addKernel;
    call.name = "add";
    call.reads = from.data();
    call.read_count = from.size();
    call.writes = &written;
    call.write_count = 1;
    call.arguments = &count;
    call.argument_bytes = sizeof(count);
    call.location = here;
    Status status(mxrt_call_push(stage.runtime, &call));
    stage.check(status.ok() || status.location().line == here.line, "an error must name who called");
    return status;
  }
  Status prepareWrite(TensorRef &tensor) {
    mxrt_tensor *raw = tensor.release();
    Status status(mxrt_call_prepare_write(stage.runtime, &raw, &here));
    tensor = TensorRef(raw);
    return status;
  }
  Status wait(const TensorRef &tensor) {
    return Status(mxrt_tensor_wait(stage.runtime, tensor.get(), &here));
  }
  void sawFirst(const TensorRef &tensor) {
    stage.saw("element", *static_cast<int32_t *>(mxrt_tensor_data(tensor.get())));
  }

private:
  Stage &stage;
};

Status calls(Stage &stage) {
  Caller caller(stage);
  TensorRef inputs[12], sum, copy;
  std::vector<mxrt_tensor *> reads;
  for (int i = 0; i < 12; ++i) {
    MXRT_CHECK(caller.filled(i, inputs[i]));
    reads.push_back(inputs[i].get());
  }
  MXRT_CHECK(caller.filled(100, sum));
  MXRT_CHECK(caller.add(reads, sum));
  MXRT_CHECK(caller.add(reads, sum));
  MXRT_CHECK(caller.wait(sum));
  caller.sawFirst(sum);
  // A second holder writes: a copy through the engine, then the call.
  copy = TensorRef(mxrt_tensor_retain(sum.get()));
  Status prepared = caller.prepareWrite(copy);
  stage.check(copy.get() != nullptr, "a tensor was lost");
  stage.check((copy.get() != sum.get()) == prepared.ok(), "copied, or an error");
  MXRT_CHECK(std::move(prepared));
  MXRT_CHECK(caller.add({inputs[5].get()}, copy));
  for (TensorRef &input : inputs) // in flight, and no longer needed here
    input = TensorRef();
  MXRT_CHECK(caller.wait(copy));
  caller.sawFirst(copy);
  caller.sawFirst(sum);
  return success();
}

Status failingCalls(Stage &stage) {
  Caller caller(stage);
  TensorRef bad, to, dependent, elsewhere;
  MXRT_CHECK(caller.filled(-1, bad));
  MXRT_CHECK(caller.filled(0, to));
  MXRT_CHECK(caller.filled(0, dependent));
  MXRT_CHECK(caller.filled(0, elsewhere, cpu1));
  MXRT_CHECK(caller.add({bad.get()}, to));
  MXRT_CHECK(caller.add({to.get()}, dependent));
  MXRT_CHECK(stage.provoked(caller.wait(dependent), MXRT_INDEX));
  MXRT_CHECK(caller.wait(bad)); // an input is not poisoned
  mxrt_var var = 0;
  MXRT_CHECK(Status(mxrt_tensor_variable(stage.runtime, bad.get(), &var)));
  stage.check(var != 0, "a tensor without a variable");
  MXRT_CHECK(stage.provoked(caller.add({bad.get()}, elsewhere), MXRT_WRONG_DEVICE));
  mxrt_call empty = {};
  return stage.provoked(Status(mxrt_call_push(stage.runtime, &empty)), MXRT_INVALID_ARGUMENT);
}

/// Two results, of which the first is announced before the call fails.
mxrt_status announceKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                           const void *) {
  *static_cast<int32_t *>(mxrt_tensor_data(tensors[0])) = 7;
  if (mxrt_status failure = mxrt_ready(context, 0))
    return failure;
  return mxrt_ready(context, 0); // an error of use
}

Status announcingCalls(Stage &stage) {
  Caller caller(stage);
  TensorRef first, second, sum;
  MXRT_CHECK(caller.filled(0, first));
  MXRT_CHECK(caller.filled(0, second));
  MXRT_CHECK(caller.filled(1, sum));
  mxrt_tensor *writes[] = {first.get(), second.get()};
  mxrt_call call = {};
  call.run = announceKernel;
  call.name = "announce";
  call.writes = writes;
  call.write_count = 2;
  call.location = here;
  mxrt_call_options options;
  mxrt_call_options_init(&options);
  options.lane = MXRT_LANE_COMMUNICATION;
  options.announces = 1;
  MXRT_CHECK(Status(mxrt_call_push_with(stage.runtime, &call, &options)));
  MXRT_CHECK(caller.add({first.get()}, sum));
  MXRT_CHECK(caller.wait(sum));
  caller.sawFirst(sum);
  return stage.provoked(caller.wait(second), MXRT_ENGINE_USAGE);
}

const char *const figures =
    "the table of locations counts what it cannot name for the unknown location; a "
    "released block that cannot be noted goes back to the system; an error "
    "needs no memory";

const SweepProgram programs[] = {
    {"Calls", calls, figures},
    {"FailingCalls", failingCalls, figures},
    {"AnnouncingCalls", announcingCalls, figures},
};
INSTANTIATE_TEST_SUITE_P(Call, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
