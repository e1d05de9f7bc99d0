// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pool, leased arenas, tensors, views, copies before a write, borrowed
// memory and DLPack.

#include "AllocationSweep.h"
#include "memory/Tensor.h"
#include "mxrt/dlpack.h"
#include "mxrt/random.h"

#include <memory>

namespace mxrt::test {
namespace {

using Shape = std::vector<int64_t>;

Status make(Stage &stage, mxrt_dtype type, const Shape &shape, TensorRef &out,
            mxrt_device device = cpu0, mxrt_location location = here) {
  mxrt_tensor *raw = nullptr;
  Status status(mxrt_tensor_create(stage.runtime, &device, type, int32_t(shape.size()),
                                   shape.data(), &location, &raw));
  stage.check((raw != nullptr) == status.ok(), "a tensor and an error");
  out = TensorRef(raw);
  return status;
}

/// Runs view(&raw) and owns what it makes.
template <typename View> Status view(TensorRef &out, View make) {
  mxrt_tensor *raw = nullptr;
  Status status(make(&raw));
  out = TensorRef(raw);
  return status;
}

Status views(Stage &stage) {
  mxrt_context context;
  MXRT_CHECK(Status(mxrt_runtime_context(stage.runtime, &cpu0, &here, &context)));
  TensorRef a, reversed, row, wide, repeated, transposed, flat, strided;
  MXRT_CHECK(make(stage, MXRT_I32, {6, 50}, a));
  mxrt_rng rng;
  mxrt_rng_seed(&rng, 3);
  MXRT_CHECK(Status(mxrt_random_uniform_i32(&context, &rng, 0, 100, 300,
                                            static_cast<int32_t *>(mxrt_tensor_data(a.get())))));
  MXRT_CHECK(view(reversed, [&](mxrt_tensor **out) {
    return mxrt_tensor_slice(a.get(), 1, 49, -1, -1, &here, out);
  }));
  MXRT_CHECK(view(row, [&](mxrt_tensor **out) {
    return mxrt_tensor_select(reversed.get(), 0, 2, &here, out);
  }));
  MXRT_CHECK(
      view(wide, [&](mxrt_tensor **out) { return mxrt_tensor_expand(row.get(), 0, &here, out); }));
  const int64_t repeatedShape[] = {4, 50};
  MXRT_CHECK(view(repeated, [&](mxrt_tensor **out) {
    return mxrt_tensor_broadcast(wide.get(), 2, repeatedShape, &here, out);
  }));
  const int32_t swap[] = {1, 0};
  MXRT_CHECK(view(transposed, [&](mxrt_tensor **out) {
    return mxrt_tensor_permute(repeated.get(), swap, &here, out);
  }));
  // A write to a shared view that names elements twice: needs a copy.
  mxrt_tensor *raw = transposed.release(), *from = nullptr;
  Status prepared(mxrt_tensor_prepare_write(stage.runtime, &raw, &here, &from));
  transposed = TensorRef(raw);
  TensorRef source(from);
  MXRT_CHECK(std::move(prepared));
  MXRT_CHECK(Status(mxrt_tensor_copy(&context, source.get(), transposed.get())));
  const int64_t flatShape[] = {200};
  MXRT_CHECK(view(flat, [&](mxrt_tensor **out) {
    return mxrt_tensor_reshape(transposed.get(), 1, flatShape, &here, out);
  }));
  int64_t result = 0;
  for (int i = 0; i < 200; ++i)
    result += static_cast<int32_t *>(mxrt_tensor_data(flat.get()))[i] * (i + 1);
  stage.saw("sum", result);
  // Not every view can be reshaped in place, nor copied to any other.
  MXRT_CHECK(stage.provoked(
      view(strided,
           [&](mxrt_tensor **out) { return mxrt_tensor_slice(a.get(), 7, 0, 1, 1, &here, out); }),
      MXRT_INDEX));
  return stage.provoked(Status(mxrt_tensor_copy(&context, a.get(), flat.get())), MXRT_SHAPE);
}

Status limits(Stage &stage) {
  TensorRef none;
  MXRT_CHECK(stage.provoked(make(stage, MXRT_F32, Shape(17, 1), none), MXRT_RANK_LIMIT));
  MXRT_CHECK(stage.provoked(make(stage, MXRT_F32, {int64_t(1) << 40, int64_t(1) << 40}, none),
                            MXRT_SIZE_OVERFLOW));
  mxrt_options options;
  mxrt_options_init(&options);
  options.allocator = stage.memory.get();
  options.memory_limit = 10000;
  mxrt_runtime *small = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_create(&options, &small)));
  std::unique_ptr<mxrt_runtime, decltype(&mxrt_runtime_destroy)> owner(small, mxrt_runtime_destroy);
  int64_t count = 100, tooMany = 10000;
  mxrt_tensor *raw = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(small, &cpu0, MXRT_F64, 1, &count, &here, &raw)));
  TensorRef fits(raw);
  MXRT_CHECK(
      stage.provoked(Status(mxrt_tensor_create(small, &cpu0, MXRT_F64, 1, &tooMany, &here, &raw)),
                     MXRT_MEMORY_LIMIT));
  // The tensor outlives its runtime.
  owner.reset();
  static_cast<double *>(mxrt_tensor_data(fits.get()))[99] = 5;
  stage.saw("bytes", mxrt_tensor_bytes(fits.get()));
  return success();
}

/// Many sizes, many locations, blocks that are kept and blocks given back.
Status pool(Stage &stage) {
  std::vector<TensorRef> tensors(40);
  for (int i = 0; i < 40; ++i) {
    mxrt_location location = {i % 2 ? "one.mx" : "two.mx", i + 1, 1};
    MXRT_CHECK(make(stage, MXRT_U8, {int64_t(100) * (i % 9 + 1) * (i % 9 + 1)}, tensors[size_t(i)],
                    cpu0, location));
  }
  mxrt_memory_stats stats;
  MXRT_CHECK(Status(mxrt_memory_get_stats(stage.runtime, &cpu0, &stats)));
  stage.saw("live", stats.live_bytes);
  stage.saw("blocks", stats.live_blocks);
  int64_t visited = 0; // locations may be unknown, bytes may not
  MXRT_CHECK(Status(mxrt_memory_visit_sites(
      stage.runtime, &cpu0,
      [](void *user, const mxrt_memory_site *site) {
        *static_cast<int64_t *>(user) += site->live_bytes;
      },
      &visited)));
  stage.saw("visited", visited);
  tensors.clear();
  MXRT_CHECK(Status(mxrt_memory_reset_peak(stage.runtime, &cpu0)));
  TensorRef again;
  MXRT_CHECK(make(stage, MXRT_U8, {900}, again));
  // No kept block is this large: what is kept goes if memory is short.
  MXRT_CHECK(make(stage, MXRT_U8, {300000}, again));
  MXRT_CHECK(Status(mxrt_memory_trim(stage.runtime, &cpu0)));
  MXRT_CHECK(Status(mxrt_memory_get_stats(stage.runtime, &cpu0, &stats)));
  stage.saw("live", stats.live_bytes);
  stage.saw("cached", stats.cached_bytes);
  return success();
}

Status arenas(Stage &stage) {
  struct Leases {
    mxrt_arena list[6] = {};
    ~Leases() {
      for (mxrt_arena &arena : list)
        mxrt_arena_return(&arena);
    }
  } leases;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 6; ++i) {
      mxrt_arena_return(&leases.list[i]);
      MXRT_CHECK(
          Status(mxrt_arena_lease(stage.runtime, i % 2 ? &cpu1 : &cpu0, int64_t(700000) * (i + 1),
                                  "graph", &here, &leases.list[i])));
      static_cast<char *>(leases.list[i].base)[700000 * (i + 1) - 1] = 1;
      stage.saw("bytes", leases.list[i].bytes);
    }
  mxrt_arena none;
  return stage.provoked(Status(mxrt_arena_lease(stage.runtime, &cpu0, -1, "graph", &here, &none)),
                        MXRT_SIZE_OVERFLOW);
}

/// Counts how often the memory of the host comes back.
struct Lent {
  int64_t data[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  int returned = 0;
  static void giveBack(void *user) { ++static_cast<Lent *>(user)->returned; }
};

Status borrowed(Stage &stage) {
  Lent lent;
  const int64_t shape[] = {2, 5}, strides[] = {1, 2};
  bool mine = true; // on an error the memory stays the lender's
  {
    mxrt_tensor *raw = nullptr;
    Status status(mxrt_tensor_borrow(stage.runtime, &cpu0, MXRT_I64, 2, shape, strides, lent.data,
                                     MXRT_BORROW_WRITABLE, Lent::giveBack, &lent, &here, &raw));
    TensorRef tensor(raw);
    stage.check(lent.returned == 0, "memory came back too early");
    MXRT_CHECK(std::move(status));
    mine = false;
    TensorRef part;
    Status sliced = view(part, [&](mxrt_tensor **out) {
      return mxrt_tensor_slice(tensor.get(), 1, 1, 5, 2, &here, out);
    });
    tensor = TensorRef();
    stage.check(lent.returned == (sliced.failed() ? 1 : 0), "a view must keep borrowed memory");
    MXRT_CHECK(std::move(sliced));
    stage.saw("element", static_cast<int64_t *>(mxrt_tensor_data(part.get()))[0]);
  }
  stage.check(lent.returned == (mine ? 0 : 1), "memory must come back once");
  mxrt_tensor *none = nullptr;
  return stage.provoked(Status(mxrt_tensor_borrow(stage.runtime, &cpu0, MXRT_I64, 2, shape, strides,
                                                  reinterpret_cast<void *>(0x1001), 0, nullptr,
                                                  nullptr, &here, &none)),
                        MXRT_INVALID_ARGUMENT);
}

template <typename Managed>
Status exchange(Stage &stage, int32_t versioned, const TensorRef &tensor) {
  void *raw = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_to_dlpack(tensor.get(), versioned, &here, &raw)));
  auto *managed = static_cast<Managed *>(raw);
  mxrt_tensor *back = nullptr;
  Status status(mxrt_tensor_from_dlpack(stage.runtime, managed, versioned, &here, &back));
  if (status.failed()) { // still ours
    managed->deleter(managed);
    return status;
  }
  TensorRef imported(back);
  MXRT_CHECK(Status(mxrt_tensor_target(imported.get(), &back)));
  TensorRef target(back);
  stage.saw("element", static_cast<int64_t *>(mxrt_tensor_data(target.get()))[9]);
  return success();
}

Status dlpack(Stage &stage) {
  TensorRef tensor;
  MXRT_CHECK(make(stage, MXRT_I64, {10}, tensor, cpu1));
  for (int64_t i = 0; i < 10; ++i)
    static_cast<int64_t *>(mxrt_tensor_data(tensor.get()))[i] = i;
  MXRT_CHECK(exchange<mxrt_dl_managed_versioned>(stage, 1, tensor));
  MXRT_CHECK(exchange<mxrt_dl_managed>(stage, 0, tensor));
  // Shared tensors leave in the new form only.
  TensorRef second(mxrt_tensor_retain(tensor.get()));
  void *none = nullptr;
  return stage.provoked(Status(mxrt_tensor_to_dlpack(tensor.get(), 0, &here, &none)),
                        MXRT_UNSUPPORTED);
}

const char *const figures =
    "the table of locations counts what it cannot name for the unknown location; a "
    "released block that cannot be noted goes back to the system; a request "
    "is tried again after kept blocks were given back; an error needs no memory";

const SweepProgram programs[] = {
    {"Views", views, figures},   {"Limits", limits, figures},     {"Pool", pool, figures},
    {"Arenas", arenas, figures}, {"Borrowed", borrowed, figures}, {"Dlpack", dlpack, figures},
};
INSTANTIATE_TEST_SUITE_P(Memory, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
