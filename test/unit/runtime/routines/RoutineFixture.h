// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of routines on vectors, with a given number of threads.

#pragma once

#include "base/Halfs.h"
#include "base/Status.h"
#include "mxrt/routine.h"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <vector>

/// A context with a team of its own.
struct Machine {
  explicit Machine(int32_t threads) {
    mxrt_context_init(&context);
    EXPECT_EQ(mxrt_thread_budget_create(mxrt_system_allocator(), threads, &budget), nullptr);
    EXPECT_EQ(mxrt_team_create(mxrt_system_allocator(), budget, &context.team), nullptr);
  }
  ~Machine() {
    mxrt_team_destroy(context.team);
    mxrt_thread_budget_destroy(budget);
  }
  mxrt_context context;
  mxrt_thread_budget *budget = nullptr;
};

using Routine = mxrt_status (*)(const mxrt_context *, mxrt_dtype, const int64_t *,
                                const void *const *, void *, void *);

inline mxrt_workspace workspaceOf(Routine routine, mxrt_dtype type, const int64_t *sizes) {
  const struct {
    Routine run;
    mxrt_workspace (*needed)(int64_t, const int64_t *);
  } all[] = {
#define MXRT_ROUTINE(name, workspace) {mxrt_##name, workspace},
#include "mxrt/routine.def"
  };
  for (const auto &known : all)
    if (known.run == routine)
      return known.needed(mxrt_dtype_size(type), sizes);
  ADD_FAILURE() << "a routine that is not in the table";
  return {};
}

/// Counts its allocations.
struct CountingAllocator {
  mxrt_allocator table = *mxrt_system_allocator();
  std::atomic<int64_t> count = 0;
  CountingAllocator() {
    table.user = this;
    table.allocate = [](void *user, size_t bytes, size_t alignment) {
      ++static_cast<CountingAllocator *>(user)->count;
      const mxrt_allocator *system = mxrt_system_allocator();
      return system->allocate(system->user, bytes, alignment);
    };
    table.release = [](void *, void *memory, size_t bytes, size_t alignment) {
      const mxrt_allocator *system = mxrt_system_allocator();
      system->release(system->user, memory, bytes, alignment);
    };
  }
};

/// Calls it with a workspace of just the bytes it is said to need, full of poison. Nothing around
/// it changes, and nothing is allocated unless it fails.
inline mxrt_status call(Routine routine, const mxrt_context &context, mxrt_dtype type,
                        const int64_t *sizes, const void *const *inputs, void *out) {
  constexpr size_t guard = 256;
  mxrt_workspace layout = workspaceOf(routine, type, sizes);
  auto bytes = static_cast<size_t>(mxrt_workspace_bytes(&layout));
  std::vector<unsigned char> memory(bytes + 2 * guard + MXRT_ALIGNMENT, 0xff);
  unsigned char *work = memory.data() + guard;
  work += (MXRT_ALIGNMENT - reinterpret_cast<uintptr_t>(work) % MXRT_ALIGNMENT) % MXRT_ALIGNMENT;
  CountingAllocator allocator;
  mxrt_context here = context;
  here.allocator = &allocator.table;
  mxrt_status failure = routine(&here, type, sizes, inputs, out, bytes > 0 ? work : nullptr);
  for (unsigned char *at = memory.data(); at < memory.data() + memory.size(); ++at)
    if ((at < work || at >= work + bytes) && *at != 0xff) {
      ADD_FAILURE() << "byte " << at - work << " of a workspace of " << bytes << " was written";
      break;
    }
  if (!failure) {
    EXPECT_EQ(allocator.count, 0);
    return nullptr;
  }
  // Not of this allocator, which is gone soon.
  auto code = mxrt_status_code(failure);
  mxrt_status_release(failure);
  return mxrt_status_constant(code);
}

/// The code of a status, which is released; 0 for success.
inline int codeOf(mxrt_status status) {
  int code = status ? int(mxrt_status_code(status)) : 0;
  mxrt_status_release(status);
  return code;
}

template <typename T> constexpr mxrt_dtype typeOf() {
  if constexpr (std::is_same_v<T, int8_t>)
    return MXRT_I8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return MXRT_U8;
  else if constexpr (std::is_same_v<T, int32_t>)
    return MXRT_I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return MXRT_I64;
  else if constexpr (std::is_same_v<T, mxrt::F16>)
    return MXRT_F16;
  else if constexpr (std::is_same_v<T, mxrt::Bf16>)
    return MXRT_BF16;
  else if constexpr (std::is_same_v<T, float>)
    return MXRT_F32;
  else
    return MXRT_F64;
}
