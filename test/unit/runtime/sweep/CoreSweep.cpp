// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Status values, runtimes, thread budgets, teams, loops, random numbers and
// the arenas of ahead-of-time code.

#include "AllocationSweep.h"
#include "mxrt/memory.h"
#include "mxrt/parallel.h"
#include "mxrt/random.h"
#include "mxrt/routine.h"

#include <cstring>
#include <memory>
#include <vector>

namespace mxrt::test {
namespace {

/// A runtime inside a program: an allocator may serve several at once.
Status runtimes(Stage &stage) {
  mxrt_options options;
  mxrt_options_init(&options);
  options.allocator = stage.memory.get();
  options.threads = 3;
  options.cpu_devices = 4;
  mxrt_runtime *raw = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_create(&options, &raw)));
  std::unique_ptr<mxrt_runtime, decltype(&mxrt_runtime_destroy)> second(raw, mxrt_runtime_destroy);
  stage.saw("threads", mxrt_runtime_threads(raw));
  stage.saw("devices", mxrt_runtime_cpu_devices(raw));
  mxrt_context context;
  mxrt_device ninth = {MXRT_CPU, 9};
  MXRT_CHECK(
      stage.provoked(Status(mxrt_runtime_context(raw, &ninth, &here, &context)), MXRT_NO_DEVICE));
  options.threads = -1;
  mxrt_runtime *none = nullptr;
  return stage.provoked(Status(mxrt_runtime_create(&options, &none)), MXRT_BAD_SETTING);
}

Status statuses(Stage &stage) {
  const mxrt_allocator *alloc = mxrt_runtime_allocator(stage.runtime);
  Status failure = error(alloc, MXRT_SHAPE, here, "rows %d and %d differ", 2, 3);
  Status other = failure.share();
  other = std::move(other).noticedAt({"other.mx", 31, 2});
  other = std::move(other).withNote("note: the shapes are of the same batch");
  stage.check(failure.noticedLocation().line == 0, "a shared error was changed");
  stage.saw("line", failure.location().line);
  // Still shared by nobody, and still changeable.
  failure = std::move(failure).noticedAt({"third.mx", 32, 2});
  MXRT_CHECK(stage.provoked(std::move(other), MXRT_SHAPE));
  MXRT_CHECK(stage.provoked(std::move(failure), MXRT_SHAPE));

  // Longer than what is formatted on the stack, and then with a long note.
  std::string text(3000, 'z');
  Status longer = error(alloc, MXRT_RAISED, here, "%s", text.c_str());
  stage.check(strlen(longer.message()) > 300, "too little of a long text");
  longer = std::move(longer).issuedAt(here).withNote(text.c_str());
  stage.saw("code", longer.code());
  stage.saw("column", longer.location().column);

  // Without a reserve an error keeps at least its code.
  stage.saw("code", error(stage.memory.get(), MXRT_SHAPE, here, "x").code());
  return success();
}

/// The sum of all numbers below `count`; refuses a chunk that holds `refused`.
struct Sum {
  std::atomic<int64_t> total{0};
  int64_t refused = -1;
  static mxrt_status chunk(void *user, int64_t begin, int64_t end, int64_t,
                           const mxrt_context *context) {
    auto *sum = static_cast<Sum *>(user);
    if (sum->refused >= begin && sum->refused < end)
      return mxrt_status_make(context->allocator, MXRT_INDEX, context->location, "%d is refused",
                              int(sum->refused));
    for (int64_t i = begin; i < end; ++i)
      sum->total += i;
    return nullptr;
  }
};

Status loops(Stage &stage) {
  mxrt_thread_budget *budget = nullptr;
  MXRT_CHECK(Status(mxrt_thread_budget_create(stage.memory.get(), 3, &budget)));
  std::unique_ptr<mxrt_thread_budget, decltype(&mxrt_thread_budget_destroy)> ownsBudget(
      budget, mxrt_thread_budget_destroy);
  mxrt_team *team = nullptr;
  MXRT_CHECK(Status(mxrt_team_create(stage.memory.get(), budget, &team)));
  std::unique_ptr<mxrt_team, decltype(&mxrt_team_destroy)> ownsTeam(team, mxrt_team_destroy);
  mxrt_context context;
  mxrt_context_init(&context);
  context.allocator = mxrt_runtime_allocator(stage.runtime);
  context.team = team;
  context.location = here;
  Sum sum;
  MXRT_CHECK(Status(mxrt_parallel_for(&context, 1000, 7, Sum::chunk, &sum)));
  stage.saw("sum", sum.total);
  // Chunks on both sides fail; the lowest is named.
  sum.refused = 500;
  MXRT_CHECK(
      stage.provoked(Status(mxrt_parallel_for(&context, 1000, 10, Sum::chunk, &sum)), MXRT_INDEX));
  MXRT_CHECK(stage.provoked(Status(mxrt_parallel_for(&context, -1, 10, Sum::chunk, &sum)),
                            MXRT_INVALID_ARGUMENT));
  uint32_t stop = 1;
  context.cancelled = &stop;
  MXRT_CHECK(stage.provoked(Status(mxrt_parallel_for(&context, 1000, 10, Sum::chunk, &sum)),
                            MXRT_CANCELLED));
  mxrt_thread_budget *none = nullptr;
  return stage.provoked(Status(mxrt_thread_budget_create(context.allocator, 0, &none)),
                        MXRT_INVALID_ARGUMENT);
}

Status randomNumbers(Stage &stage) {
  mxrt_context context;
  MXRT_CHECK(Status(mxrt_runtime_context(stage.runtime, &cpu0, &here, &context)));
  mxrt_rng rng, children[2];
  mxrt_rng_seed(&rng, 7);
  MXRT_CHECK(Status(mxrt_rng_split(&context, &rng, 2, children)));
  int32_t numbers[300];
  MXRT_CHECK(Status(mxrt_random_uniform_i32(&context, &children[1], 0, 1000, 300, numbers)));
  stage.saw("uniform", numbers[299]);
  float normal[100];
  MXRT_CHECK(Status(mxrt_random_normal_f32(&context, &rng, 0, 1000, 100, normal)));
  stage.saw("normal", int64_t(normal[99]));
  const float weights[] = {1, 2, 3, 4};
  int64_t drawn = -1, order[50];
  MXRT_CHECK(Status(mxrt_random_categorical_f32(&context, &rng, 1, 4, weights, &drawn)));
  stage.saw("class", drawn);
  MXRT_CHECK(Status(mxrt_random_permutation_i64(&context, &rng, 50, order)));
  stage.saw("first", order[0]);
  const float wrong[] = {1, -2};
  MXRT_CHECK(
      stage.provoked(Status(mxrt_random_categorical_f32(&context, &rng, 1, 2, wrong, &drawn)),
                     MXRT_INVALID_ARGUMENT));
  return stage.provoked(Status(mxrt_random_uniform_i32(&context, &rng, 5, 5, 1, numbers)),
                        MXRT_INVALID_ARGUMENT);
}

Status routines(Stage &stage) {
  mxrt_context context;
  MXRT_CHECK(Status(mxrt_runtime_context(stage.runtime, &cpu0, &here, &context)));
  std::vector<double> x(100);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = double(i * 37 % 101) + (i % 11 == 0 ? 500 : 0);
  std::vector<int32_t> order(100);
  const int64_t line[] = {1, 100, 1}, square[] = {1, 10, 10};
  struct alignas(MXRT_ALIGNMENT) {
    char bytes[16384];
  } work;
  const void *one[] = {x.data()}, *two[] = {x.data(), x.data()};
  MXRT_CHECK(Status(mxrt_argsort(&context, MXRT_F64, line, one, order.data(), &work)));
  stage.saw("first", order[0]);
  std::vector<double> out(400);
  MXRT_CHECK(Status(mxrt_solve(&context, MXRT_F64, square, two, out.data(), &work)));
  stage.saw("unit", int64_t(out[0] + 0.5));
  for (auto routine : {mxrt_qr, mxrt_svd, mxrt_eigh})
    MXRT_CHECK(Status(routine(&context, MXRT_F64, square, one, out.data(), &work)));
  const uint16_t rows[] = {1, 2}, more[] = {3, 4};
  const int64_t sizes[] = {2, 2, 1}, index[] = {1, 0}, wrong[] = {1, 2};
  uint16_t sums[2];
  const void *three[] = {rows, index, more};
  MXRT_CHECK(Status(mxrt_scatter_add(&context, MXRT_F16, sizes, three, sums, &work)));
  stage.saw("sum", sums[0]);
  three[1] = wrong;
  return stage.provoked(Status(mxrt_scatter_add(&context, MXRT_F16, sizes, three, sums, &work)),
                        MXRT_INDEX);
}

Status plainArenas(Stage &stage) {
  mxrt_context context;
  mxrt_context_init(&context);
  context.allocator = stage.memory.get();
  struct Open {
    const mxrt_allocator *alloc;
    mxrt_arena arena = {};
    ~Open() { mxrt_arena_close(alloc, &arena); }
  } open{stage.memory.get()};
  mxrt_arena &arena = open.arena;
  MXRT_CHECK(Status(mxrt_arena_open(open.alloc, 1000, &arena)));
  void *slice = nullptr;
  MXRT_CHECK(Status(mxrt_arena_slice(&context, &arena, 64, 100, &slice)));
  memset(slice, 1, 100);
  stage.saw("bytes", arena.bytes);
  MXRT_CHECK(Status(mxrt_arena_slice(&context, &arena, 0, 64, &slice)));
  mxrt_arena wrapped;
  return Status(mxrt_arena_wrap(&context, slice, 64, &wrapped));
}

const char *const anError =
    "an error needs no memory: the reserve of the runtime holds it, else it is "
    "a constant";

const SweepProgram programs[] = {
    {"Runtimes", runtimes, anError}, {"Statuses", statuses, anError},
    {"Loops", loops, anError},       {"RandomNumbers", randomNumbers, anError},
    {"PlainArenas", plainArenas},    {"Routines", routines, anError},
};
INSTANTIATE_TEST_SUITE_P(Core, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
