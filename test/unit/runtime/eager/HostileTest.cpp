// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and operands at random: an error or a result, nothing else.

#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class HostileTest : public EagerTest {};
MX_BOTH_ENGINES(HostileTest);

TEST_P(HostileTest, RandomNamesAndOperands) {
  static const char *const names[] = {
#define MX_EAGER_OP(name, family, operands, types, result) #name,
#include "eager/Ops.def"
  };
  static const char *const types[] = {"", "", ":f32", ":f32", ":i32", ":bool", ":f16", ":f64:i8"};
  static const char *const attributes[] = {
      "",          "",         "(axes=all)", "(axes=0)",    "(axes=0/1,keep=1)", "(order=1/0)",
      "(order=0)", "(axis=0)", "(axis=1)",   "(shape=2/2)", "(shape=4)",         "(device=cpu:1)",
      "(i)",       "(i/i)",    "(rf/:)",     "(rfts)",      "(n/rs/t)",          "(t)",
      "(",         "(axes=99)"};
  // Names that are right, so that operands are what is wrong.
  static const char *const good[] = {"add:f32",
                                     "select:f32",
                                     "cast:f32:i8",
                                     "sum:f32(axes=0)",
                                     "matmul:f32",
                                     "reshape",
                                     "broadcast",
                                     "transpose(order=1/0)",
                                     "concat(axis=0)",
                                     "index(i)",
                                     "index(t)",
                                     "index(rft)",
                                     "index(:/rs)",
                                     "update(i)",
                                     "update(rf/n)",
                                     "copy",
                                     "full:f32",
                                     "iota",
                                     "literal:f32(shape=2)",
                                     "uniform:f32",
                                     "bernoulli",
                                     "permutation",
                                     "to(device=cpu:1)",
                                     "argmax:f32(axes=all)"};
  static const char *const devices[] = {"", "", "", "@cpu:1", "@cpu:77"};
  std::mt19937 random(99);
  auto pick = [&](const auto &list) { return std::string(list[random() % std::size(list)]); };

  std::vector<host::Value> values = {host::Value::unit(),
                                     host::Value::boolean(true),
                                     num(0),
                                     num(1),
                                     num(2),
                                     num(-1),
                                     num(3),
                                     num(INT64_MAX),
                                     num(INT64_MIN),
                                     num(0.5),
                                     host::Value::f64(1e300),
                                     host::Value::f64(NAN),
                                     host::Value::dtype(MXRT_F32)};
  values.push_back(keep(host::Value(host::Kind::Str, host::makeStr(vm->heap(), "text"))));
  static const host::ForeignType otherType = {"other", nullptr};
  values.push_back(
      keep(host::Value(host::Kind::Tensor, host::makeForeign(vm->heap(), &otherType, nullptr))));
  values.push_back(
      keep(host::Value(host::Kind::Handle, host::makeForeign(vm->heap(), &otherType, nullptr))));
  size_t hosts = values.size();
  for (const Shape &shape : {Shape{}, Shape{2}, Shape{0}, Shape{2, 2}, Shape{2, 3}, Shape{1, 2}})
    for (mxrt_dtype type : {MXRT_F32, MXRT_I32, MXRT_BOOL}) {
      Array array = Array::iota(type, shape);
      for (double &value : array.values)
        value = type == MXRT_BOOL ? double(int64_t(value) % 2) : value;
      values.push_back(tensor(array));
    }
  values.push_back(op("transpose(order=1/0)", {tensor(Array::iota(MXRT_F32, {3, 2}))}));
  values.push_back(op("broadcast", {tensor(Array::iota(MXRT_F32, {})), num(2), num(2)}));

  int succeeded = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string name =
        random() % 2 ? pick(good) : pick(names) + pick(types) + pick(attributes) + pick(devices);
    std::vector<host::Value> args(random() % 6);
    for (auto &arg : args)
      arg = values[random() % 3 ? hosts + random() % (values.size() - hosts)
                                : random() % values.size()];
    host::Value result;
    Status status = tryOp(name, args, result);
    succeeded += status.ok();
    EXPECT_NE(status.code(), MXRT_INTERNAL) << name;
    if (status.ok() && tensorOf(result)->elements < 1000) {
      host::Text text(vm->heap());
      Status shown = host->show(result, {}, text);
      EXPECT_NE(shown.code(), MXRT_INTERNAL);
    }
    release(vm->heap(), result);
  }
  EXPECT_GT(succeeded, 100);
}

TEST_P(HostileTest, RandomTextIsNotAName) {
  std::mt19937 random(1);
  const std::string_view letters = "addsum:f32(axes=0/1,keep)@cpu:rt ";
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    for (size_t n = random() % 24; n > 0; --n)
      name += letters[random() % letters.size()];
    void *target = nullptr;
    Status status =
        host->resolve(host::ImportKind::TensorOp, name, {{}, true, host::Kind::Tensor}, target);
    EXPECT_EQ(status.ok(), target != nullptr);
  }
}

TEST_P(HostileTest, SignaturesAreChecked) {
  void *target = nullptr;
  Status status =
      host->resolve(host::ImportKind::TensorOp, "add:f32", {{}, true, host::Kind::Int}, target);
  EXPECT_STREQ(status.message(), "tensor operation 'add:f32' gives a tensor, not i64");
  status = host->resolve(host::ImportKind::Graph, "step", {}, target);
  EXPECT_STREQ(status.message(), "this host has no graph 'step'");
}

} // namespace
} // namespace mxrt::eager
