// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fails every allocation of a program in turn: only the Nth, and all from the
// Nth on. Each time
//  - the program returns an error, R0101; or, if it says that some of its
//    memory is optional and why, it has seen exactly what it always sees;
//  - then, with memory back, the same runtime runs the program to its end;
//  - in the end not a block is left, and every one came back as it was asked.
//
// One file for each area of the runtime holds its programs. They also run once
// without any failure, so what they check is checked in the usual way too.
//
// With MX_ALLOCATION_SITES=<file> the stack of each failed allocation is
// appended to that file; tools/dev/check-allocations.py compares them with the
// allocations in the sources.

#ifndef MX_TEST_UNIT_RUNTIME_SWEEP_ALLOCATIONSWEEP_H
#define MX_TEST_UNIT_RUNTIME_SWEEP_ALLOCATIONSWEEP_H

#include "../TestAllocator.h"
#include "base/Allocator.h"
#include "mxrt/runtime.h"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace mxrt::test {

constexpr mxrt_device cpu0 = {MXRT_CPU, 0};
constexpr mxrt_device cpu1 = {MXRT_CPU, 1};
constexpr mxrt_location here = {"sweep.mx", 12, 5};

/// The environment of a program.
class Stage {
public:
  Stage(TestAllocator &memory, mxrt_runtime *runtime) : memory(memory), runtime(runtime) {}

  TestAllocator &memory;
  mxrt_runtime *const runtime;

  /// Something the program observed: must be the same in every run that ends
  /// without an error.
  void saw(const std::string &what) { seen += what + "; "; }
  void saw(const char *what, int64_t number) { saw(what + (" " + std::to_string(number))); }
  /// An error that the program provokes on purpose. Another one, such as "out
  /// of memory", is handed on; its absence is a mistake. Message, notes and
  /// both locations count, with memory or without.
  Status provoked(Status status, mxrt_code wanted);
  /// What must hold in any run; a failure of the test if not.
  void check(bool holds, const char *what) { EXPECT_TRUE(holds) << what; }

  const std::string &log() const { return seen; }

private:
  std::string seen;
};

struct SweepProgram {
  const char *name;
  /// Everything it makes is gone when it returns, however it returns.
  std::function<Status(Stage &)> run;
  /// What may do without memory, and why nobody can tell. Empty: nothing may,
  /// every failure is an error.
  const char *optional = "";
};

inline void PrintTo(const SweepProgram &program, std::ostream *out) { *out << program.name; }

/// Instantiate with the programs of an area:
///   INSTANTIATE_TEST_SUITE_P(Memory, AllocationSweep, ValuesIn(programs),
///                            nameOfProgram);
class AllocationSweep : public ::testing::TestWithParam<SweepProgram> {
protected:
  void sweep(TestAllocator::Fail mode);

private:
  /// One failing run, and a second one on the same runtime. Returns whether
  /// an allocation failed at all.
  bool failAt(TestAllocator::Fail mode, long n, const std::string &expected);

  long errors = 0, absorbed = 0;
};

std::string nameOfProgram(const ::testing::TestParamInfo<SweepProgram> &info);

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_SWEEP_ALLOCATIONSWEEP_H
