// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of exported graphs: names, variants, prototypes and the header's text.
#include "Build/Write.h"
#include <gtest/gtest.h>

using namespace mx;
using namespace mx::build;

namespace {

TEST(Interface, NamesAreIdentifiersOfCAndCxx) {
  EXPECT_EQ(cName("predict"), "predict");
  EXPECT_EQ(cName("fc1.w"), "fc1_w");
  EXPECT_EQ(cName("3rd"), "x3rd");
  EXPECT_EQ(cName(""), "x");
  EXPECT_EQ(cName("new"), "new_");
  EXPECT_EQ(cName("restrict"), "restrict_");
  EXPECT_EQ(cName("gr\xc3\xb6\xc3\x9f"), "gr____");
}

TEST(Interface, LargeNumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(INT64_MAX), "9,223,372,036,854,775,807");
}

SizeArgument values(const char *name, std::vector<int64_t> list) {
  SizeArgument size;
  size.size = size.name = name;
  size.values = std::move(list);
  return size;
}

SizeArgument upTo(const char *name, int64_t bound) {
  SizeArgument size;
  size.size = size.name = name;
  size.isOpen = true;
  size.bound = bound;
  return size;
}

using Variant = std::vector<std::pair<std::string, int64_t>>;

TEST(Interface, VariantsAreAllCombinations) {
  Function function;
  EXPECT_EQ(function.variants(), std::vector<Variant>{{}});
  function.fixed = {{"D", 784}};
  EXPECT_EQ(function.variants(), (std::vector<Variant>{{{"D", 784}}}));
  // A size up to a bound has one code, so it takes no part.
  function.sizes = {values("N", {1, 32}), upTo("T", 100), values("H", {4, 8})};
  std::vector<Variant> wanted;
  for (int64_t n : {1, 32})
    for (int64_t h : {4, 8})
      wanted.push_back({{"D", 784}, {"N", n}, {"H", h}});
  EXPECT_EQ(function.variants(), wanted);
  EXPECT_EQ(function.sizes[0].largest(), 32);
  EXPECT_EQ(function.sizes[1].largest(), 100);
}

/// `predict(net, x: f32[N, 4]) -> i32[N]` with a parameter of two tensors.
Interface iris() {
  Interface out;
  out.prefix = "iris";
  ValueType net;
  net.name = net.parameter = "net";
  net.leaves = {{"fc.w", ElementType::F32, {4, 3}}, {"fc.b", ElementType::F32, {3}}};
  out.types.push_back(net);
  Function predict;
  predict.name = "predict";
  predict.source.header = "graph fn predict(net: Net, x: f32[N, 4]) -> i32[N] /* */";
  Argument model, x, y;
  model.kind = Argument::Value;
  model.name = "net";
  model.leaves = 2;
  x.name = "x";
  x.sizes = {"N", "4"};
  y.name = "out";
  y.element = ElementType::I32;
  y.sizes = {"N"};
  predict.arguments = {model, x};
  predict.results = {y};
  predict.sizes = {upTo("n", 64)};
  predict.parameters = {{Parameter::Argument, 0}, {Parameter::Size, 0}, {Parameter::Argument, 1},
                        {Parameter::Result, 0},   {Parameter::Workspace, 0}};
  predict.workspace = 4096;
  out.functions.push_back(predict);
  return out;
}

TEST(Interface, Prototypes) {
  Interface interface = iris();
  Function &predict = interface.functions[0];
  EXPECT_EQ(predict.inputCount(), 3u);
  EXPECT_EQ(interface.types[0].bytes(), 4 * (12 + 3));
  EXPECT_EQ(prototypeOf(interface, predict),
            "int iris_predict(const iris_net *net, int64_t n, const float *x, int32_t *out, "
            "void *workspace)");
  predict.arguments[0].isMut = true;
  Argument rate;
  rate.kind = Argument::Number;
  rate.name = "rate";
  rate.element = ElementType::F64;
  predict.arguments.push_back(rate);
  predict.parameters.insert(predict.parameters.begin(), {Parameter::Argument, 2});
  EXPECT_EQ(prototypeOf(interface, predict),
            "int iris_predict(double rate, iris_net *net, int64_t n, const float *x, int32_t *out, "
            "void *workspace)");
}

TEST(Interface, TheHeaderHasWhatCallersNeed) {
  std::string text = writeHeader(iris(), "iris.h");
  for (const char *part :
       {"typedef struct iris_net iris_net;", "int iris_net_load(iris_net **out, const char *path);",
        "void iris_net_free(iris_net *value);", "\"fc.w\" f32[4, 3]", "60 bytes",
        "#define IRIS_PREDICT_MAX_N 64", "#define IRIS_PREDICT_WORKSPACE 4096u", "x: f32[N, 4]",
        "int iris_predict(const iris_net *net,"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  // The text of the program cannot end its comment.
  EXPECT_EQ(text.find("-> i32[N] /* */"), std::string::npos);
  EXPECT_NE(text.find("-> i32[N] /* * /"), std::string::npos);
}

} // namespace
