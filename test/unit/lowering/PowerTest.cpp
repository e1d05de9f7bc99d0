// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pow, atan2 and the remainder: accuracy, special values, and powers that are products.
#include "Ulps.h"
#include <bit>

namespace mx::lowering {
namespace {

template <class T> struct Pairs {
  std::vector<T> x, y;
  void add(T a, T b) {
    x.push_back(a);
    y.push_back(b);
  }
};

template <class T> std::vector<T> corners() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out;
  for (T v : {T(0),
              T(1),
              T(2),
              T(3),
              T(4),
              T(5),
              T(7),
              T(0.5),
              T(1.5),
              T(0.1),
              T(1e10),
              T(1e-10),
              T(1e30),
              T(16777217),
              T(9007199254740992.0),
              T(9007199254740993.0),
              Limits::min(),
              Limits::max(),
              Limits::denorm_min(),
              Limits::infinity(),
              std::nextafter(T(1), T(2)),
              std::nextafter(T(1), T(0))})
    out.insert(out.end(), {v, -v});
  out.push_back(Limits::quiet_NaN());
  return out;
}
/// All pairs of corners, pairs of any bits, and pairs of a usual size.
template <class T> Pairs<T> pairs(double span) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Pairs<T> out;
  for (T x : corners<T>())
    for (T y : corners<T>())
      out.add(x, y);
  const char *more = getenv("MX_MATH_MANY");
  size_t count = more ? strtoull(more, nullptr, 10) : 300'000;
  std::mt19937_64 random(11);
  auto unit = [&] { return std::ldexp(static_cast<double>(random() >> 11), -53); };
  for (size_t i = 0; i < count; ++i) {
    out.add(std::bit_cast<T>(static_cast<Word>(random())),
            std::bit_cast<T>(static_cast<Word>(random())));
    double x = unit() * std::ldexp(1.0, static_cast<int>(random() % 21) - 10);
    out.add(static_cast<T>(x), static_cast<T>((unit() * 2 - 1) * span));
    // Powers that are about as large as they can be.
    x = std::exp((unit() * 2 - 1) * std::log(static_cast<double>(std::numeric_limits<T>::max())));
    out.add(static_cast<T>(x),
            static_cast<T>((unit() * 2 - 1) * std::log(double(std::numeric_limits<T>::max())) /
                           std::log(x)));
  }
  return out;
}

template <class T>
void checkPair(const std::string &op, double limit, long double (*exact)(long double, long double),
               Pairs<T> p) {
  std::string t = ElementOf<T>::name;
  Kernel kernel = compiler().fromKey(op + " " + t + ":1c," + t + ":1c -> " + t + ":1c");
  std::vector<T> got(p.x.size());
  ASSERT_EQ(
      kernel({address(p.x), address(p.y), address(got)}, {static_cast<int64_t>(p.x.size())}).code,
      0);
  Worst<T> worst;
  for (size_t i = 0; i < got.size(); ++i)
    worst.note(ulps(got[i], exact(p.x[i], p.y[i])), p.x[i], p.y[i]);
  worst.expect(op + " " + t, limit);
}
TEST(Power, Pow) {
  checkPair<float>("pow", 2, std::pow, pairs<float>(20));
  checkPair<double>("pow", 2, std::pow, pairs<double>(20));
}
TEST(Power, Atan2) {
  checkPair<float>("atan2", 0.6, std::atan2, pairs<float>(1));
  checkPair<double>("atan2", 2, std::atan2, pairs<double>(1));
}

/// As in Python: the sign of y, exact but for the last addition.
template <class T> T pythonMod(T x, T y) {
  T rest = std::fmod(x, y);
  if (rest == 0)
    return std::copysign(T(0), y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
template <class T> void checkMod() {
  std::string t = ElementOf<T>::name;
  Kernel kernel = compiler().fromKey("mod " + t + ":1c," + t + ":1c -> " + t + ":1c");
  Pairs<T> p = pairs<T>(1);
  for (int k = 1; k < 3000; ++k) { // quotients that are whole, and just below and above it
    T y = static_cast<T>(0.1 * k), x = static_cast<T>(std::round(1e6 / k)) * y;
    for (T at : {x, std::nextafter(x, T(0)), std::nextafter(x, T(1e9)), x * T(1e5)}) {
      p.add(at, y);
      p.add(-at, y);
    }
  }
  std::vector<T> got(p.x.size());
  ASSERT_EQ(
      kernel({address(p.x), address(p.y), address(got)}, {static_cast<int64_t>(p.x.size())}).code,
      0);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same(got[i], pythonMod(p.x[i], p.y[i])))
        << show(p.x[i]) << " % " << show(p.y[i]) << " gave " << show(got[i]);
}
TEST(Power, Remainder) {
  checkMod<float>();
  checkMod<double>();
}

std::string withConstant(const std::string &element, double power) {
  std::string one = "!mx.tensor<" + element + "[]>", many = "!mx.tensor<" + element + "[N]>";
  std::string sizes = " attributes {sizes = [\"N\"]} ";
  return "mx.func @k(%x: " + many + ") -> " + many + sizes + "{\n  %k = mx.kernel(%x)" + sizes +
         ": (" + many + ") -> " + many + " {\n  ^bb0(%a: " + many + "):\n    %c = mx.constant " +
         std::to_string(power) + " : " + element + " -> " + one + "\n    %p = mx.pow %a, %c : (" +
         many + ", " + one + ") -> " + many + "\n    mx.yield %p : " + many +
         "\n  }\n  mx.return %k : " + many + "\n}";
}

/// x ** y has the same bits for a y that is known to the compiler, one that comes with the call,
/// and a tensor of them; small powers are products.
template <class T> void checkForms() {
  std::string t = ElementOf<T>::name;
  std::vector<T> x = corners<T>();
  for (T v : values<T>(1000))
    x.push_back(v);
  auto n = static_cast<int64_t>(x.size());
  std::vector<T> tensor(x.size()), number(x.size()), constant(x.size()), one(1), all(x.size());
  Kernel ofTensor = compiler().fromKey("pow " + t + ":1c," + t + ":1c -> " + t + ":1c");
  Kernel ofNumber = compiler().fromKey("pow " + t + ":1c," + t + ":0 -> " + t + ":1c");
  for (double power : {-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 2.5, 0.3}) {
    one[0] = static_cast<T>(power);
    std::fill(all.begin(), all.end(), one[0]);
    ASSERT_EQ(ofTensor({address(x), address(all), address(tensor)}, {n}).code, 0);
    ASSERT_EQ(ofNumber({address(x), address(one), address(number)}, {n}).code, 0);
    Kernel ofConstant = compiler().fromText(withConstant(t, power));
    ASSERT_EQ(ofConstant({address(x), address(constant)}, {n}).code, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same(tensor[i], number[i])) << show(x[i]) << " ** " << power;
      ASSERT_TRUE(same(constant[i], number[i])) << show(x[i]) << " ** " << power;
      T v = x[i], square = v * v;
      if (power >= 1 && power <= 4 && power == std::floor(power)) {
        T product = power == 1   ? v
                    : power == 2 ? square
                    : power == 3 ? square * v
                                 : square * square;
        ASSERT_TRUE(same(number[i], product)) << show(v) << " ** " << power;
      }
      ASSERT_LE(
          ulps(number[i], std::pow(static_cast<long double>(v), static_cast<long double>(one[0]))),
          2)
          << show(v) << " ** " << power << " gave " << show(number[i]);
    }
  }
}
TEST(Power, OneFormForAllExponents) {
  checkForms<float>();
  checkForms<double>();
}

} // namespace
} // namespace mx::lowering
