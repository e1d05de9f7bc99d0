// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both engines: variables, ops of all sizes and lanes, errors and poison, ops
// that push, deletion, cancellation, completion by another thread.

#include "AllocationSweep.h"
#include "mxrt/engine.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

namespace mxrt::test {
namespace {

constexpr mxrt_location waits = {"wait.mx", 9, 1};

/// The engine of a runtime during one program. However the program ends:
/// nothing is in flight then, no variable is left, no error unnoticed.
class EngineUse {
public:
  ~EngineUse() {
    if (!engine)
      return;
    for (mxrt_var var : vars) // cannot fail for want of memory
      EXPECT_EQ(Status(mxrt_engine_delete_var(engine, var, nullptr, nullptr)).code(), MXRT_OK);
    (void)Status(mxrt_engine_wait_all(engine, waits));
    mxrt_engine_stats stats;
    mxrt_engine_get_stats(engine, &stats);
    EXPECT_EQ(stats.variables, 0u);
    EXPECT_EQ(stats.bytes_in_flight, 0u);
  }
  Status open(Stage &stage, mxrt_engine_kind kind, size_t variables) {
    mxrt_engine_options options = {};
    options.kind = kind;
    MXRT_CHECK(Status(mxrt_runtime_engine(stage.runtime, &options, &engine)));
    while (vars.size() < variables) {
      mxrt_var var = 0;
      MXRT_CHECK(Status(mxrt_engine_new_var(engine, &var)));
      vars.push_back(var);
    }
    return success();
  }
  /// An op that writes variable `var`.
  mxrt_op writes(size_t var, mxrt_op_fn run, void *payload) {
    mxrt_op op = {};
    op.run = run;
    op.payload = payload;
    op.writes = &vars[var];
    op.write_count = 1;
    op.name = "op";
    op.location = {"push.mx", 3, 4};
    return op;
  }
  Status push(const mxrt_op &op) {
    Status status(mxrt_engine_push(engine, &op));
    EXPECT_TRUE(status.ok() || status.location().line == op.location.line)
        << "an error must name who pushed: " << status.message();
    return status;
  }
  Status wait(size_t var) { return Status(mxrt_engine_wait(engine, vars[var], waits)); }
  Status waitAll() { return Status(mxrt_engine_wait_all(engine, waits)); }

  mxrt_engine *engine = nullptr;
  std::vector<mxrt_var> vars;
};

mxrt_status addOne(mxrt_op_context *, void *payload) {
  ++*static_cast<std::atomic<int64_t> *>(payload);
  return nullptr;
}
mxrt_status refuse(mxrt_op_context *, void *payload) {
  return mxrt_status_make(static_cast<const mxrt_allocator *>(payload), MXRT_ASSERTION, noLocation,
                          "number %d", 1);
}

/// Every size of op, every lane, one by one and many at once.
Status ops(Stage &stage, mxrt_engine_kind kind) {
  std::atomic<int64_t> sum{0};
  EngineUse use;
  MXRT_CHECK(use.open(stage, kind, 600)); // more than one chunk of them
  struct Copied {
    std::atomic<int64_t> *sum;
    char rest[9000];
  } copied = {&sum, {}};
  auto addCopied = [](mxrt_op_context *, void *payload) -> mxrt_status {
    ++**static_cast<std::atomic<int64_t> **>(payload);
    return nullptr;
  };
  for (size_t bytes :
       {size_t(16), size_t(400), size_t(900), size_t(1900), size_t(3700), sizeof(copied)}) {
    mxrt_op op = use.writes(bytes % 7, addCopied, &copied);
    op.payload_bytes = bytes;
    op.bytes = bytes;
    MXRT_CHECK(use.push(op));
  }
  for (int32_t lane : {MXRT_LANE_COPY, MXRT_LANE_COMMUNICATION}) {
    mxrt_op op = use.writes(1, addOne, &sum);
    op.lane = lane;
    MXRT_CHECK(use.push(op));
  }
  mxrt_op other = use.writes(2, addOne, &sum);
  other.device = cpu1;
  MXRT_CHECK(use.push(other));
  mxrt_op inlined = use.writes(599, addOne, &sum);
  inlined.flags = MXRT_OP_INLINE;
  MXRT_CHECK(use.push(inlined));
  mxrt_op reader = use.writes(0, addOne, &sum);
  reader.reads = &use.vars[300];
  reader.read_count = 200; // a block of its own size
  MXRT_CHECK(use.push(reader));

  std::vector<mxrt_op> many(70, use.writes(5, addOne, &sum));
  size_t pushed = 0;
  Status status(mxrt_engine_push_many(use.engine, many.data(), many.size(), &pushed));
  stage.check((pushed == many.size()) == status.ok(), "pushed and refused");
  MXRT_CHECK(std::move(status));
  MXRT_CHECK(use.wait(5));
  MXRT_CHECK(use.waitAll());
  stage.saw("sum", sum);
  uint64_t version = 0;
  MXRT_CHECK(Status(mxrt_engine_version(use.engine, use.vars[5], &version)));
  stage.check(version >= 70, "writes were lost");

  mxrt_var twice[] = {use.vars[0], use.vars[0]};
  mxrt_op wrong = use.writes(0, addOne, &sum);
  wrong.writes = twice;
  wrong.write_count = 2;
  MXRT_CHECK(stage.provoked(use.push(wrong), MXRT_ENGINE_USAGE));
  wrong = use.writes(0, addOne, &sum);
  wrong.device = {MXRT_CPU, 12345};
  return stage.provoked(use.push(wrong), MXRT_NO_DEVICE);
}

Status failures(Stage &stage, mxrt_engine_kind kind) {
  auto *alloc = const_cast<mxrt_allocator *>(mxrt_runtime_allocator(stage.runtime));
  std::atomic<int64_t> sum{0};
  EngineUse use;
  MXRT_CHECK(use.open(stage, kind, 4));
  MXRT_CHECK(use.push(use.writes(0, refuse, alloc)));
  mxrt_op skipped = use.writes(1, addOne, &sum);
  skipped.reads = &use.vars[0];
  skipped.read_count = 1;
  MXRT_CHECK(use.push(skipped));
  MXRT_CHECK(stage.provoked(use.wait(1), MXRT_ASSERTION));
  MXRT_CHECK(stage.provoked(use.wait(0), MXRT_ASSERTION));
  stage.saw("sum", sum);
  // It runs in any case, and sees why it should not have.
  mxrt_op always = skipped;
  always.flags = MXRT_OP_ALWAYS_RUN;
  always.run = [](mxrt_op_context *context, void *payload) -> mxrt_status {
    *static_cast<std::atomic<int64_t> *>(payload) += mxrt_status_code(mxrt_op_input_error(context));
    return nullptr;
  };
  MXRT_CHECK(use.push(always));
  Status inherited = use.wait(1);
  // What it saw is the error, or that there was no memory for it.
  if (sum == MXRT_OUT_OF_MEMORY)
    return inherited;
  MXRT_CHECK(stage.provoked(std::move(inherited), MXRT_ASSERTION));
  stage.saw("code", sum);
  mxrt_op mend = use.writes(0, addOne, &sum);
  mend.flags = MXRT_OP_OVERWRITES;
  MXRT_CHECK(use.push(mend));
  MXRT_CHECK(use.wait(0));
  MXRT_CHECK(use.waitAll()); // all were noticed
  for (int i = 0; i < 20; ++i) {
    mxrt_op failing = use.writes(size_t(2 + i % 2), refuse, alloc);
    failing.flags = MXRT_OP_OVERWRITES;
    MXRT_CHECK(use.push(failing));
  }
  return stage.provoked(use.waitAll(), MXRT_ASSERTION);
}

/// An op that gives one of its two variables back, errs in its use, and fails.
struct Releasing {
  EngineUse *use;
  const mxrt_allocator *alloc;
  std::atomic<int64_t> codes{0};

  static mxrt_status run(mxrt_op_context *context, void *payload) {
    auto *self = static_cast<Releasing *>(payload);
    for (size_t var : {0, 0, 2}) // once, again, and one that it does not write
      self->codes = self->codes * 1000 +
                    Status(mxrt_op_release(context, self->use->vars[var])).code();
    return mxrt_status_make(self->alloc, MXRT_ASSERTION, noLocation, "after release %d", 1);
  }
};

Status release(Stage &stage, mxrt_engine_kind kind) {
  std::atomic<int64_t> sum{0};
  EngineUse use;
  Releasing releasing = {&use, mxrt_runtime_allocator(stage.runtime)};
  MXRT_CHECK(use.open(stage, kind, 4));
  mxrt_op op = use.writes(0, Releasing::run, &releasing);
  op.write_count = 2;
  op.flags = MXRT_OP_RELEASES;
  MXRT_CHECK(use.push(op));
  Status status;
  for (size_t var : {0, 1}) { // the first reader runs, the second is skipped
    mxrt_op reader = use.writes(var + 2, addOne, &sum);
    reader.reads = &use.vars[var];
    reader.read_count = 1;
    if (status.ok())
      status = use.push(reader);
  }
  // Before `releasing` goes its op must be over.
  Status failed = use.wait(1);
  Status clean = use.wait(0);
  MXRT_CHECK(std::move(status));
  MXRT_CHECK(std::move(clean));
  stage.saw("codes", releasing.codes);
  MXRT_CHECK(stage.provoked(std::move(failed), MXRT_ASSERTION));
  MXRT_CHECK(use.wait(2));
  MXRT_CHECK(stage.provoked(use.wait(3), MXRT_ASSERTION));
  stage.saw("sum", sum);
  return success();
}

/// Ops that push ops; what an inner push says becomes the outer op's error.
struct Nest {
  EngineUse *use;
  std::atomic<int64_t> *sum;
  int depth;

  static mxrt_status run(mxrt_op_context *, void *payload) {
    Nest nest = *static_cast<Nest *>(payload);
    ++*nest.sum;
    if (nest.depth == 0)
      return nullptr;
    for (size_t var : {size_t(0), size_t(nest.depth)}) {
      Nest inner = {nest.use, nest.sum, nest.depth - 1};
      mxrt_op op = nest.use->writes(var, run, &inner);
      op.payload_bytes = sizeof(inner);
      if (mxrt_status failure = mxrt_engine_push(nest.use->engine, &op))
        return failure;
    }
    return nullptr;
  }
};

Status nested(Stage &stage, mxrt_engine_kind kind) {
  std::atomic<int64_t> sum{0};
  EngineUse use;
  MXRT_CHECK(use.open(stage, kind, 8));
  Nest outer = {&use, &sum, 6};
  MXRT_CHECK(use.push(use.writes(7, Nest::run, &outer)));
  Status status = use.waitAll();
  // Before `outer` goes nothing may run any more, and nothing does.
  MXRT_CHECK(std::move(status));
  stage.saw("ran", sum);
  auto waitInside = [](mxrt_op_context *, void *payload) -> mxrt_status {
    auto *use = static_cast<EngineUse *>(payload);
    return mxrt_engine_wait(use->engine, use->vars[0], waits);
  };
  MXRT_CHECK(use.push(use.writes(1, waitInside, &use)));
  return stage.provoked(use.wait(1), MXRT_ENGINE_USAGE);
}

/// Payloads are dropped and deleted variables end, each exactly once.
Status deletion(Stage &stage, mxrt_engine_kind kind) {
  std::atomic<int64_t> dropped{0}, ended{0};
  int64_t pushed = 0, deleted = 0;
  auto count = [](void *payload) { ++*static_cast<std::atomic<int64_t> *>(payload); };
  Status status;
  {
    EngineUse use;
    status = use.open(stage, kind, 1);
    for (int i = 0; status.ok() && i < 30; ++i) {
      mxrt_var var = 0;
      status = Status(mxrt_engine_new_var(use.engine, &var));
      if (status.failed())
        break;
      mxrt_op op = use.writes(0, addOne, &dropped);
      op.run = [](mxrt_op_context *, void *) -> mxrt_status { return nullptr; };
      op.reads = &var;
      op.read_count = 1;
      op.drop = count;
      status = use.push(op);
      pushed += status.ok();
      ++deleted;
      Status gone(mxrt_engine_delete_var(use.engine, var, count, &ended));
      EXPECT_TRUE(gone.ok()) << gone.message();
      if (status.ok())
        status = stage.provoked(Status(mxrt_engine_delete_var(use.engine, var, nullptr, nullptr)),
                                MXRT_ENGINE_USAGE);
    }
  }
  EXPECT_EQ(dropped, pushed);
  EXPECT_EQ(ended, deleted);
  MXRT_CHECK(std::move(status));
  stage.saw("dropped", dropped);
  stage.saw("ended", ended);
  return success();
}

Status cancellation(Stage &stage, mxrt_engine_kind kind) {
  std::atomic<int64_t> sum{0};
  EngineUse use;
  MXRT_CHECK(use.open(stage, kind, 3));
  mxrt_cancel *raw = nullptr;
  MXRT_CHECK(Status(mxrt_cancel_create(mxrt_runtime_allocator(stage.runtime), &raw)));
  std::unique_ptr<mxrt_cancel, decltype(&mxrt_cancel_release)> cancel(raw, mxrt_cancel_release);
  mxrt_op op = use.writes(0, addOne, &sum);
  op.cancel = raw;
  MXRT_CHECK(use.push(op));
  MXRT_CHECK(use.wait(0));
  mxrt_cancel_request(raw);
  MXRT_CHECK(use.push(op));
  MXRT_CHECK(stage.provoked(use.wait(0), MXRT_CANCELLED));
  MXRT_CHECK(use.waitAll()); // no error: somebody asked for it
  stage.saw("sum", sum);
  mxrt_runtime_cancel(stage.runtime);
  Status pushed = use.push(use.writes(1, addOne, &sum));
  Status waited = pushed.ok() ? use.wait(1) : success();
  mxrt_runtime_clear_cancel(stage.runtime);
  MXRT_CHECK(std::move(pushed));
  return stage.provoked(std::move(waited), MXRT_CANCELLED);
}

/// A thread that ends a deferred op. The op's last act is to hand over its
/// token: after that nothing here may still be in use by it.
class Completer {
public:
  Completer(const mxrt_allocator *alloc, bool fails)
      : thread([this, alloc, fails] {
          mxrt_op_token *token;
          while (!(token = given.load()) && !over.load())
            std::this_thread::yield();
          if (token)
            mxrt_op_complete(token, fails ? error(alloc, MXRT_ASSERTION, here, "later").release()
                                          : nullptr);
        }) {}
  ~Completer() {
    over.store(true);
    thread.join();
  }
  static mxrt_status run(mxrt_op_context *context, void *payload) {
    static_cast<Completer *>(payload)->given.store(mxrt_op_defer(context));
    return nullptr;
  }

private:
  std::atomic<mxrt_op_token *> given{nullptr};
  std::atomic<bool> over{false};
  std::thread thread; // the last member: it uses the others
};

Status deferred(Stage &stage, mxrt_engine_kind kind) {
  std::atomic<int64_t> sum{0};
  Completer fine(mxrt_runtime_allocator(stage.runtime), false);
  Completer failing(mxrt_runtime_allocator(stage.runtime), true);
  EngineUse use;
  MXRT_CHECK(use.open(stage, kind, 2));
  MXRT_CHECK(use.push(use.writes(0, Completer::run, &fine)));
  MXRT_CHECK(use.push(use.writes(0, addOne, &sum)));
  MXRT_CHECK(use.wait(0));
  stage.saw("sum", sum);
  MXRT_CHECK(use.push(use.writes(1, Completer::run, &failing)));
  return stage.provoked(use.wait(1), MXRT_ASSERTION);
}

/// Without a runtime: errors have no reserve to fall back on.
Status alone(Stage &stage, mxrt_engine_kind kind) {
  mxrt_engine_options options = {};
  options.allocator = stage.memory.get();
  options.kind = kind;
  options.workers_per_device = 1;
  options.max_ops = 4; // pushes wait for room
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_engine_create(&options, &engine)));
  std::unique_ptr<mxrt_engine, decltype(&mxrt_engine_destroy)> owner(engine, mxrt_engine_destroy);
  mxrt_var var = 0;
  MXRT_CHECK(Status(mxrt_engine_new_var(engine, &var)));
  std::atomic<int64_t> sum{0};
  mxrt_op op = {};
  op.run = addOne;
  op.payload = &sum;
  op.writes = &var;
  op.write_count = 1;
  Status status;
  for (int i = 0; i < 40 && status.ok(); ++i)
    status = Status(mxrt_engine_push(engine, &op));
  Status waited(mxrt_engine_wait(engine, var, waits));
  MXRT_CHECK(std::move(status));
  MXRT_CHECK(std::move(waited));
  stage.saw("sum", sum);
  options.kind = 7; // the code is what a constant has
  stage.saw("code", Status(mxrt_engine_create(&options, &engine)).code());
  return success();
}

using EngineProgram = Status (*)(Stage &, mxrt_engine_kind);

const char *const anError =
    "an error needs no memory: the reserve of the runtime holds it, else it is "
    "a constant";

std::vector<SweepProgram> programs() {
  struct Row {
    const char *naive, *threaded;
    EngineProgram run;
  } rows[] = {
      {"NaiveOps", "ThreadedOps", ops},
      {"NaiveFailures", "ThreadedFailures", failures},
      {"NaiveRelease", "ThreadedRelease", release},
      {"NaiveNested", "ThreadedNested", nested},
      {"NaiveDeletion", "ThreadedDeletion", deletion},
      {"NaiveCancellation", "ThreadedCancellation", cancellation},
      {"NaiveDeferred", "ThreadedDeferred", deferred},
      {"NaiveAlone", "ThreadedAlone", alone},
  };
  std::vector<SweepProgram> list;
  for (const Row &row : rows)
    for (mxrt_engine_kind kind : {MXRT_ENGINE_NAIVE, MXRT_ENGINE_THREADED})
      list.push_back({kind == MXRT_ENGINE_NAIVE ? row.naive : row.threaded,
                      [run = row.run, kind](Stage &stage) { return run(stage, kind); }, anError});
  return list;
}
INSTANTIATE_TEST_SUITE_P(Engine, AllocationSweep, ::testing::ValuesIn(programs()), nameOfProgram);

} // namespace
} // namespace mxrt::test
