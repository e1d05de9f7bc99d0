// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The native functions of Math.def.

#include "host/Math.h"

#include <cmath>
#include <limits>

namespace mxrt::host {

namespace {

/// Truncates towards zero and clamps to the type.
template <typename Int> int64_t toInt(double x) {
  if (x != x)
    return 0;
  // Compared as f64: 2^63 is exact, and no f64 lies between it and the largest i64.
  constexpr double below = double(std::numeric_limits<Int>::min());
  constexpr double above = double(std::numeric_limits<Int>::max());
  if (x <= below)
    return int64_t(std::numeric_limits<Int>::min());
  if (x >= above)
    return int64_t(std::numeric_limits<Int>::max());
  return int64_t(x);
}

Value number(float, double x) { return Value::f32(float(x)); }
Value number(double, double x) { return Value::f64(x); }
template <typename Float> double argument(const Value &value);
template <> double argument<float>(const Value &value) { return value.f; }
template <> double argument<double>(const Value &value) { return value.d; }

#define MX_MATH_FLOAT1(name, expression)                                       \
  template <typename Float> Status name##Float1(void *, Invocation &call) {    \
    double x = argument<Float>(call.args[0]);                                  \
    call.result = number(Float(), expression);                                 \
    return success();                                                          \
  }
#define MX_MATH_FLOAT2(name, expression)                                       \
  template <typename Float> Status name##Float2(void *, Invocation &call) {    \
    double x = argument<Float>(call.args[0]);                                  \
    double y = argument<Float>(call.args[1]);                                  \
    call.result = number(Float(), expression);                                 \
    return success();                                                          \
  }
#define MX_MATH_INT1(name, expression)                                         \
  Status name##Int1(void *, Invocation &call) {                                \
    int64_t x = call.args[0].i;                                                \
    call.result = Value::integer(expression);                                  \
    return success();                                                          \
  }
#define MX_MATH_INT2(name, expression)                                         \
  Status name##Int2(void *, Invocation &call) {                                \
    int64_t x = call.args[0].i, y = call.args[1].i;                            \
    call.result = Value::integer(expression);                                  \
    return success();                                                          \
  }
#define MX_MATH_TO_INT(name, type)                                             \
  template <typename Float> Status name##ToInt(void *, Invocation &call) {     \
    call.result = Value::integer(toInt<type>(argument<Float>(call.args[0])));  \
    return success();                                                          \
  }
#include "host/Math.def"

} // namespace

Status registerMath(Vm &vm) {
  const ParamData ints[] = {{Kind::Int, false}, {Kind::Int, false}};
  const ParamData f32s[] = {{Kind::F32, false}, {Kind::F32, false}};
  const ParamData f64s[] = {{Kind::F64, false}, {Kind::F64, false}};
  auto add = [&](std::string_view name, std::span<const ParamData> params,
                 Kind result, NativeFunction function) {
    return vm.registerNative(name, {params, false, result}, function, nullptr);
  };
#define MX_BOTH(name, count, f32Result, f64Result, function)                   \
  MXRT_CHECK(add("mx.math." #name ".f", std::span(f32s, count), f32Result,     \
                 function<float>));                                            \
  MXRT_CHECK(add("mx.math." #name ".d", std::span(f64s, count), f64Result,     \
                 function<double>));
#define MX_MATH_FLOAT1(name, expression)                                       \
  MX_BOTH(name, 1, Kind::F32, Kind::F64, name##Float1)
#define MX_MATH_FLOAT2(name, expression)                                       \
  MX_BOTH(name, 2, Kind::F32, Kind::F64, name##Float2)
#define MX_MATH_INT1(name, expression)                                         \
  MXRT_CHECK(add("mx.math." #name ".i", std::span(ints, 1), Kind::Int,         \
                 name##Int1));
#define MX_MATH_INT2(name, expression)                                         \
  MXRT_CHECK(add("mx.math." #name ".i", std::span(ints, 2), Kind::Int,         \
                 name##Int2));
#define MX_MATH_TO_INT(name, type)                                             \
  MX_BOTH(name, 1, Kind::Int, Kind::Int, name##ToInt)
#include "host/Math.def"
#undef MX_BOTH
  return success();
}

} // namespace mxrt::host
