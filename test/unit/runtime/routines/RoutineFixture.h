// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of routines on vectors, with a given number of threads.

#pragma once

#include "base/Halfs.h"
#include "base/Status.h"
#include "mxrt/routine.h"

#include <array>
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
                                const void *const *, void *);

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
