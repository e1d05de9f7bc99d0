// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class IndexingTest : public EagerTest {};
MX_BOTH_ENGINES(IndexingTest);

TEST_P(IndexingTest, NumbersRangesAndNewAxesAreViews) {
  Array x = Array::iota(MXRT_I32, {4, 5});
  auto value = tensor(x);
  auto values = [&](const std::string &spec, std::vector<host::Value> args) {
    args.insert(args.begin(), value);
    auto result = op("index(" + spec + ")", args);
    EXPECT_EQ(mxrt_tensor_buffer(raw(result)), mxrt_tensor_buffer(raw(value)));
    return read(result);
  };
  EXPECT_EQ(values("i/i", {num(1), num(2)}), (Array{MXRT_I32, {}, {7}}));
  EXPECT_EQ(values("i/i", {num(-1), num(-5)}), (Array{MXRT_I32, {}, {15}}));
  EXPECT_EQ(values("i", {num(2)}), (Array{MXRT_I32, {5}, {10, 11, 12, 13, 14}}));
  EXPECT_EQ(values(":/i", {num(0)}), (Array{MXRT_I32, {4}, {0, 5, 10, 15}}));
  EXPECT_EQ(values("i/n/rft", {num(0), num(1), num(3)}), (Array{MXRT_I32, {1, 2}, {1, 2}}));
  EXPECT_EQ(values("i/rfs", {num(0), num(1), num(2)}), (Array{MXRT_I32, {2}, {1, 3}}));
  EXPECT_EQ(values("i/rs", {num(0), num(-2)}), (Array{MXRT_I32, {3}, {4, 2, 0}}));
  EXPECT_EQ(values("i/rfts", {num(0), num(3), num(0), num(-1)}), (Array{MXRT_I32, {3}, {3, 2, 1}}));
  EXPECT_EQ(values("i/rt", {num(0), num(-3)}), (Array{MXRT_I32, {2}, {0, 1}}));
  EXPECT_EQ(values("i/rf", {num(0), num(-2)}), (Array{MXRT_I32, {2}, {3, 4}}));
  EXPECT_EQ(values("i/rft", {num(0), num(3), num(1)}), (Array{MXRT_I32, {0}, {}}));
  EXPECT_EQ(values("i/rft", {num(0), num(5), num(5)}), (Array{MXRT_I32, {0}, {}}));
  EXPECT_EQ(values("r/r", {}), x);
  EXPECT_EQ(values("", {}), x);
  EXPECT_EQ(values("i/rs", {num(0), num(INT64_MAX)}), (Array{MXRT_I32, {1}, {0}}));
  EXPECT_EQ(values("i/rs", {num(0), num(INT64_MIN)}), (Array{MXRT_I32, {1}, {4}}));
}

TEST_P(IndexingTest, NothingIsClamped) {
  auto x = tensor(Array::iota(MXRT_F32, {3, 4}));
  EXPECT_EQ(refusal("index(i)", {x, num(3)}),
            "R0204 index: index 3 is out of range for axis 0 of size 3 of f32[3, 4]");
  EXPECT_EQ(refusal("index(:/i)", {x, num(-5)}),
            "R0204 index: index -5 is out of range for axis 1 of size 4 of f32[3, 4]");
  EXPECT_EQ(refusal("index(rt)", {x, num(4)}),
            "R0204 index: end 4 is out of range for axis 0 of size 3 of f32[3, 4]");
  EXPECT_EQ(refusal("index(rf)", {x, num(-4)}),
            "R0204 index: start -4 is out of range for axis 0 of size 3 of f32[3, 4]");
  EXPECT_EQ(refusal("index(rfs)", {x, num(3), num(-1)}),
            "R0204 index: start 3 is out of range for axis 0 of size 3 of f32[3, 4]");
  EXPECT_EQ(refusal("index(rs)", {x, num(0)}),
            "R0204 index: the step for axis 0 of f32[3, 4] is 0");
  EXPECT_EQ(refusal("index(i/i/i)", {x, num(0), num(0), num(0)}),
            "R0204 index: too many indices for f32[3, 4]");
  EXPECT_EQ(refusal("index(i)", {x, num(INT64_MIN)}).substr(0, 5), "R0204");
  EXPECT_EQ(refusal("index(i)", {x}), "R0803 index: 1 operands instead of 2");
  EXPECT_EQ(refusal("index(i)", {x, num(0.5)}), "R0803 index: operand 1 is f32, not i64");
}

TEST_P(IndexingTest, TensorsOfNumbersGather) {
  Array x = Array::iota(MXRT_F32, {3, 4});
  auto value = tensor(x), rows = tensor({MXRT_I32, {2}, {2, 0}});
  EXPECT_EQ(read(op("index(t)", {value, rows})),
            (Array{MXRT_F32, {2, 4}, {8, 9, 10, 11, 0, 1, 2, 3}}));
  EXPECT_EQ(read(op("index(:/t)", {value, tensor({MXRT_I64, {2, 1}, {-1, 1}})})),
            (Array{MXRT_F32, {3, 2, 1}, {3, 1, 7, 5, 11, 9}}));
  EXPECT_EQ(read(op("index(rs/t/n)", {value, num(-1), tensor({MXRT_I32, {1}, {1}})})),
            (Array{MXRT_F32, {3, 1, 1}, {9, 5, 1}}));
  EXPECT_EQ(kernels.asked, (std::vector<std::string>{"take f32:3c,i32:1c -> f32:3c",
                                                     "take f32:3c,i64:1c -> f32:3c",
                                                     "take f32:3s,i32:1c -> f32:3c"}));
  // A single number that the device has drops the axis.
  EXPECT_EQ(read(op("index(t)", {value, tensor({MXRT_I32, {}, {1}})})),
            (Array{MXRT_F32, {4}, {4, 5, 6, 7}}));
  EXPECT_EQ(read(op("index(t)", {value, tensor({MXRT_I32, {0}, {}})})),
            (Array{MXRT_F32, {0, 4}, {}}));
  auto bad = op("index(t)", {value, tensor({MXRT_I32, {1}, {3}})});
  Status status(mxrt_tensor_wait(runtime, raw(bad), nullptr));
  EXPECT_EQ(status.code(), MXRT_INDEX);
  EXPECT_EQ(refusal("index(t)", {value, tensor({MXRT_F32, {1}, {3}})}),
            "R0203 index: an index of f32[1]; it must be i32 or i64");
  EXPECT_EQ(refusal("index(t)", {value, num(1)}), "R0803 index: operand 1 is i64, not a tensor");
}

TEST_P(IndexingTest, GatherFromOddLayouts) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    size_t rank = 1 + random() % 4;
    Shape shape;
    for (size_t i = 0; i < rank; ++i)
      shape.push_back(1 + int64_t(random() % 4));
    Array x = Array::random(MXRT_F32, shape, random);
    size_t axis = random() % rank;
    Array index{MXRT_I32, {1 + int64_t(random() % 5)}, {}};
    for (int64_t i = 0; i < index.shape[0]; ++i)
      index.values.push_back(double(int64_t(random() % uint32_t(shape[axis]))));
    Array expected{MXRT_F32, shape, {}};
    expected.shape[axis] = index.shape[0];
    expected.each([&](const Shape &at, int64_t) {
      Shape source = at;
      source[axis] = int64_t(index.values[size_t(at[axis])]);
      expected.values.push_back(x.at(source));
    });
    std::string spec;
    for (size_t i = 0; i < rank; ++i)
      spec += std::string(i ? "/" : "") + (i == axis ? "t" : ":");
    EXPECT_EQ(read(op("index(" + spec + ")", {oddTensor(x, random), oddTensor(index, random)})),
              expected);
  }
}

TEST_P(IndexingTest, UpdatesInLocationIfNobodyElseSeesIt) {
  auto x = tensor(Array::iota(MXRT_F32, {2, 3}));
  const mxrt_tensor *before = raw(x);
  update("update(i/i)", x, {num(0), num(1), num(9)});
  update("update(i)", x, {num(1), tensor(Array::iota(MXRT_F32, {3}, 20))});
  update("update(:/rf)", x, {num(2), tensor(Array{MXRT_F32, {}, {-1}})});
  EXPECT_EQ(raw(x), before);
  EXPECT_EQ(read(x), (Array{MXRT_F32, {2, 3}, {0, 9, -1, 20, 21, -1}}));
  update("update(:)", x, {num(0.5)});
  EXPECT_EQ(read(x).values, std::vector<double>(6, 0.5));
  update("update(rft)", x, {num(1), num(1), num(7)}); // nothing
  EXPECT_EQ(read(x).values, std::vector<double>(6, 0.5));
}

TEST_P(IndexingTest, RandomUpdates) {
  std::mt19937 random(21);
  for (int round = 0; round < 200; ++round) {
    Shape shape(1 + random() % 4), part, from, step;
    for (int64_t &size : shape)
      size = 1 + int64_t(random() % 5);
    Array x = Array::random(MXRT_I8, shape, random);
    auto value = random() % 2 ? oddTensor(x, random) : tensor(x);
    std::string spec;
    std::vector<host::Value> args;
    for (int64_t size : shape) {
      from.push_back(int64_t(random() % uint32_t(size)));
      step.push_back(random() % 2 ? 1 + int64_t(random() % 2) : -1 - int64_t(random() % 2));
      part.push_back(step.back() > 0 ? (size - 1 - from.back()) / step.back() + 1
                                     : from.back() / -step.back() + 1);
      spec += spec.empty() ? "rfs" : "/rfs";
      args.push_back(num(from.back()));
      args.push_back(num(step.back()));
    }
    bool single = random() % 2;
    Array with = Array::random(MXRT_I8, single ? Shape{} : part, random);
    args.push_back(single ? num(int64_t(with.values[0])) : oddTensor(with, random));
    with.broadcast(part).each([&](const Shape &index, int64_t n) {
      int64_t at = 0;
      for (size_t i = 0; i < shape.size(); ++i)
        at = at * shape[i] + from[i] + index[i] * step[i];
      x.values[size_t(at)] = with.values[single ? 0 : size_t(n)];
    });
    update("update(" + spec + ")", value, args);
    EXPECT_EQ(read(value), x) << spec;
  }
}

TEST_P(IndexingTest, LargeFillsAreCutIntoChunks) {
  auto x = op("full:i32", {num(1), num(300), num(500)});
  update("update(rs/rs)", x, {num(2), num(-2), num(7)});
  double sum = 0;
  for (double value : read(x).values)
    sum += value;
  EXPECT_EQ(sum, 150000 + 6 * 150 * 250);
}

TEST_P(IndexingTest, UpdatesCopyWhatIsShared) {
  Array start = Array::iota(MXRT_F32, {2, 3});
  auto x = tensor(start);
  auto view = op("index(i)", {x, num(0)});
  update("update(i/i)", x, {num(0), num(0), num(9)}); // a view sees the buffer
  EXPECT_EQ(read(view).values, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(read(x).values[0], 9);

  host::retain(x);
  keep(x);
  host::Value y = x; // a second value of the VM
  kept.push_back(y);
  host::retain(y);
  update("update(i)", y, {num(1), num(0)});
  EXPECT_EQ(read(x).values[3], 3);
  EXPECT_EQ(read(y).values[3], 0);

  // x[0:2] = x[1:3] reads the old elements.
  auto z = tensor(Array::iota(MXRT_F32, {4}));
  auto tail = op("index(rf)", {z, num(1)});
  update("update(rf)", z, {num(1), op("index(rt)", {z, num(3)})});
  EXPECT_EQ(read(z).values, (std::vector<double>{0, 0, 1, 2}));
  EXPECT_EQ(read(tail).values, (std::vector<double>{1, 2, 3}));
}

TEST_P(IndexingTest, UpdateAsAValue) {
  auto x = tensor(Array::iota(MXRT_F32, {3}));
  EXPECT_EQ(read(op("update(i)", {x, num(1), num(9)})).values, (std::vector<double>{0, 9, 2}));
  EXPECT_EQ(read(x).values, (std::vector<double>{0, 1, 2}));
  auto wide = op("broadcast", {x, num(2), num(3)});
  EXPECT_EQ(read(op("update(i)", {wide, num(1), num(9)})).values,
            (std::vector<double>{0, 1, 2, 9, 9, 9}));
}

TEST_P(IndexingTest, UpdateRefusals) {
  auto x = tensor(Array::iota(MXRT_F32, {2, 3}));
  EXPECT_EQ(refusal("update(i)", {x, num(0), tensor(Array::iota(MXRT_F32, {2}))}),
            "R0201 update: f32[2] does not fit the part f32[3] of f32[2, 3]");
  EXPECT_EQ(refusal("update(i)", {x, num(0), tensor(Array::iota(MXRT_I32, {3}))}),
            "R0203 update: i32[3] for a part of f32[2, 3]");
  EXPECT_EQ(refusal("update(i)", {x, num(2), num(1)}),
            "R0204 update: index 2 is out of range for axis 0 of size 2 of f32[2, 3]");
  EXPECT_EQ(refusal("update(t)", {x, x, num(1)}),
            "R0005 update: writing by a tensor of indices is not supported yet");
  host::Value args[] = {x, num(5), num(1)}, result;
  Status status = tryOp("update(i)", {args, args + 3}, result, true);
  EXPECT_EQ(status.code(), MXRT_INDEX); // and x is as before
  EXPECT_EQ(read(x), Array::iota(MXRT_F32, {2, 3}));
}

} // namespace
} // namespace mxrt::eager
