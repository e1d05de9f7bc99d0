// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fixture of the tests of the eager executor: a host on either engine, a plain
// array type for expected results, and operations by name.

#ifndef MX_TEST_UNIT_RUNTIME_EAGER_EAGERFIXTURE_H
#define MX_TEST_UNIT_RUNTIME_EAGER_EAGERFIXTURE_H

#include "../TestAllocator.h"
#include "TestKernels.h"
#include "eager/Executor.h"
#include "memory/Tensor.h"
#include "mxrt/call.h"
#include "mxrt/engine.h"

#include "gtest/gtest.h"

#include <functional>
#include <random>

namespace mxrt::eager {

using Shape = std::vector<int64_t>;

/// A dense array of numbers, for expected results.
struct Array {
  mxrt_dtype type = MXRT_F32;
  Shape shape;
  std::vector<double> values;

  static Array iota(mxrt_dtype type, const Shape &shape, double start = 0);
  static Array random(mxrt_dtype type, const Shape &shape, std::mt19937 &random);
  int64_t elements() const;
  /// Calls visit(index, position) for all elements in order.
  void each(const std::function<void(const Shape &, int64_t)> &visit) const;
  double at(const Shape &index) const;
  Array transposed(const std::vector<int> &order) const;
  /// Only every `step`-th of an axis; negative from the end.
  Array sliced(size_t axis, int64_t from, int64_t count, int64_t step) const;
  Array broadcast(const Shape &shape) const;
  bool operator==(const Array &other) const;
};
std::ostream &operator<<(std::ostream &out, const Array &array);

/// The shape of broadcasting, by the textbook.
Shape broadcastShape(const std::vector<Shape> &shapes);
Array mapped(const std::string &op, mxrt_dtype type, mxrt_dtype result,
             const std::vector<Array> &operands);

class EagerTest : public ::testing::TestWithParam<mxrt_engine_kind> {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Owned by the fixture until the end of the test.
  host::Value keep(host::Value value);
  host::Value tensor(const Array &array, mxrt_device device = {MXRT_CPU, 0});
  /// A tensor with these elements in an odd layout.
  host::Value oddTensor(const Array &array, std::mt19937 &random);
  Status tryOp(const std::string &name, std::vector<host::Value> args, host::Value &result,
               bool firstIsMut = false);
  /// Must succeed.
  host::Value op(const std::string &name, std::vector<host::Value> args);
  /// Must fail when it is issued: "R0201 message".
  std::string refusal(const std::string &name, std::vector<host::Value> args);
  /// x with a part replaced, in place if nobody else has it.
  void update(const std::string &name, host::Value &x, std::vector<host::Value> rest);
  /// Waits.
  Array read(const host::Value &value);
  std::string show(const host::Value &value, std::string_view spec = {});

  static mxrt_tensor *raw(const host::Value &value) { return tensorOf(value); }

  TestAllocator alloc;
  mxrt_runtime *runtime = nullptr;
  TestKernels kernels;
  bool checkMemory = false; // of the host, when it is made
  EagerHost *host = nullptr;
  host::Vm *vm = nullptr;
  std::string printed;
  std::vector<host::Value> kept;
};

std::string engineName(const ::testing::TestParamInfo<mxrt_engine_kind> &info);
#define MX_BOTH_ENGINES(Suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite,                                                         \
                           ::testing::Values(MXRT_ENGINE_NAIVE, MXRT_ENGINE_THREADED), engineName)

inline host::Value num(int64_t i) { return host::Value::integer(i); }
inline host::Value num(int i) { return host::Value::integer(i); }
inline host::Value num(double d) { return host::Value::f32(float(d)); }

} // namespace mxrt::eager

#endif // MX_TEST_UNIT_RUNTIME_EAGER_EAGERFIXTURE_H
