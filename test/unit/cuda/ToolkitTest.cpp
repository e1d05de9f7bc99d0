// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons with the CUDA toolkit, skipped where it is not installed: our declarations with
// cuda.h, and the PTX of the tests with ptxas.
#include "Emulator.h"
#include "Matmul.h"
#include "OpcodeCases.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#if __has_include(<cuda.h>)
#define MXEMU_HAS_CUDA_H 1
#include <cuda.h>
#endif

namespace mxemu {

std::vector<std::string> allMistakeTexts();

#ifdef MXEMU_HAS_CUDA_H
/// Parameters are the same where their sizes and their kinds (pointer or value) are.
template <class A, class B>
constexpr bool alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <class A, class B> constexpr bool sameCall = false;
template <class RA, class... A, class RB, class... B>
constexpr bool sameCall<RA(A...), RB(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B))
    return alike<RA, RB> && (alike<A, B> && ...);
  return false;
}();
#endif

TEST(Toolkit, DeclarationsAgreeWithCudaH) {
#ifndef MXEMU_HAS_CUDA_H
  GTEST_SKIP() << "no cuda.h";
#else
#define MXEMU_ERROR(NAME, VALUE, TEXT) EXPECT_EQ(int(::NAME), VALUE) << #NAME;
#define MXEMU_VALUE(NAME, VALUE) EXPECT_EQ(int(::NAME), VALUE) << #NAME;
#include "driver/Values.def"
#define MXEMU_ENTRY(NAME, PARAMETERS)                                                              \
  EXPECT_TRUE((sameCall<decltype(::NAME), CUresult PARAMETERS>)) << #NAME;
#include "driver/Entries.def"
#undef MXEMU_ENTRY
  EXPECT_EQ(sizeof(CUlaunchConfig), sizeof(::CUlaunchConfig));
  EXPECT_EQ(offsetof(CUlaunchConfig, hStream), offsetof(::CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(CUlaunchConfig, numAttrs), offsetof(::CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(CUlaunchAttribute), sizeof(::CUlaunchAttribute));
  EXPECT_EQ(offsetof(CUlaunchAttribute, value), offsetof(::CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(CUDA_KERNEL_NODE_PARAMS), sizeof(::CUDA_KERNEL_NODE_PARAMS));
  EXPECT_EQ(offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams),
            offsetof(::CUDA_KERNEL_NODE_PARAMS, kernelParams));
  EXPECT_EQ(sizeof(CUDA_MEMCPY2D), sizeof(::CUDA_MEMCPY2D));
  EXPECT_EQ(offsetof(CUDA_MEMCPY2D, dstPitch), offsetof(::CUDA_MEMCPY2D, dstPitch));
  EXPECT_EQ(sizeof(CUmemPoolProps), sizeof(::CUmemPoolProps));
  EXPECT_EQ(offsetof(CUmemPoolProps, location), offsetof(::CUmemPoolProps, location));
#endif
}

TEST(Toolkit, PtxasAcceptsThePtxOfTheTests) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no ptxas";
  // One file with all kernels: those of mistakes are right PTX too.
  std::string opcodes;
  size_t index = 0;
  for (auto &cases : {integerCases(), floatCases(), convertCases()})
    for (auto &opcode : cases) {
      // bf16 conversions of these kinds came with later devices; the emulator knows them all the
      // same
      opcodes += entryText(opcode, index++);
    }
  std::vector<std::string> texts = {readInput("kernels.ptx"), moduleText(matmulEntry("matmul")),
                                    moduleText(opcodes)};
  std::string all;
  for (auto &mistake : allMistakeTexts()) {
    std::string body = mistake.substr(mistake.find(".visible"));
    body.replace(body.find(" k("), 3, " k" + std::to_string(index++) + "(");
    all += body;
  }
  texts.push_back(moduleText(".const .align 4 .u32 fixed = 3;\n" + all));
  auto folder =
      std::filesystem::temp_directory_path() / ("mxemu-ptxas-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  for (auto &text : texts) {
    std::ofstream(folder / "k.ptx") << text;
    std::string command = "ptxas -arch=sm_80 -O0 -o /dev/null " + (folder / "k.ptx").string() +
                          " > " + (folder / "log").string() + " 2>&1";
    int result = std::system(command.c_str());
    std::ifstream log(folder / "log");
    std::string shown((std::istreambuf_iterator<char>(log)), {});
    EXPECT_EQ(result, 0) << shown.substr(0, 4000);
  }
  std::filesystem::remove_all(folder);
}

} // namespace mxemu
