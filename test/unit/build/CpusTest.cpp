// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of target CPUs of `mxc build`: order, duplicates, unknown names.
#include "Build/Artefact.h"
#include "Support/Source.h"
#include <gtest/gtest.h>

using namespace mx;
using namespace mx::build;

namespace {

std::vector<std::string> namesOf(const std::string &list) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto cpus = parseCpus(list, diags);
  std::vector<std::string> names;
  if (cpus)
    for (const Cpu &cpu : *cpus)
      names.push_back(cpu.name);
  return names;
}

TEST(Cpus, TheBestIsFirstWhateverTheOrder) {
  std::vector<std::string> wanted = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
  EXPECT_EQ(namesOf("x86-64-v2,x86-64-v3,x86-64-v4"), wanted);
  EXPECT_EQ(namesOf("x86-64-v4,x86-64-v2,x86-64-v3"), wanted);
  EXPECT_EQ(namesOf("x86-64-v3"), std::vector<std::string>{"x86-64-v3"});
}

TEST(Cpus, EachCpuCountsOnce) {
  EXPECT_EQ(namesOf("x86-64-v3, x86-64-v3 ,x86-64-v2"),
            (std::vector<std::string>{"x86-64-v3", "x86-64-v2"}));
}

TEST(Cpus, TheDefaultIsValid) {
  EXPECT_FALSE(namesOf(defaultCpus()).empty());
}

TEST(Cpus, LevelsGrow) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto cpus = parseCpus("generic,x86-64-v2,x86-64-v3,x86-64-v4,sapphirerapids", diags);
  ASSERT_TRUE(cpus);
  ASSERT_EQ(cpus->size(), 5u);
  for (size_t i = 0; i + 1 < cpus->size(); ++i)
    EXPECT_GT((*cpus)[i].level(), (*cpus)[i + 1].level()) << (*cpus)[i].name;
  EXPECT_EQ(cpus->back().level(), 0);
}

TEST(Cpus, AnUnknownNameIsAnErrorWithTheNearest) {
  for (const char *list : {"x86-64-v33", "x86-64-v3,x86-64-v33", "", "x86-64-v3,"}) {
    SourceManager sources;
    Diagnostics diags(sources);
    EXPECT_FALSE(parseCpus(list, diags)) << list;
    ASSERT_EQ(diags.all().size(), 1u) << list;
    EXPECT_EQ(diags.all()[0].code, Code::E1005);
  }
}

} // namespace
