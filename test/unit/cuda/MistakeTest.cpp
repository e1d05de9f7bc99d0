// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with one mistake each. Every one must be found in at least one of three schedules, and
// its twin without the mistake in none.
#include "Emulator.h"
#include "Matmul.h"

namespace mxemu {

namespace {

struct Mistake {
  const char *name;
  const char *wrong, *right; // bodies; right may be null
  const char *expected;      // part of the finding
};

// %t thread, %l lane, %w warp, %g block; %in and %out hold 256 words, %in is written; %s is an
// address of the thread's word in shared memory (table, 1024 bytes).
const char *const prologue =
    "  .reg .pred %p, %q; .reg .b32 %t, %l, %w, %g, %s, %x, %y, %z, %one; .reg .b64 %in, %out, %a, "
    "%b, %c; .reg .f32 %f, %h; .reg .b16 %n;\n"
    "  .shared .align 16 .b8 table[1024];\n"
    "  mov.u32 %t, %tid.x; mov.u32 %l, %laneid; shr.u32 %w, %t, 5; mov.u32 %g, %ctaid.x; mov.u32 "
    "%one, 1;\n"
    "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mul.wide.u32 %a, %t, 4; add.s64 %b, %out, "
    "%a; add.s64 %a, %in, %a;\n"
    "  shl.b32 %s, %t, 2; mov.u32 %x, table; add.u32 %s, %s, %x; mov.u32 %x, 0; mov.u32 %y, 0;\n";

const Mistake mistakes[] = {
    {"read behind the end", "ld.global.u32 %x, [%a+1024];", "ld.global.u32 %x, [%a];",
     "out of bounds"},
    {"read before the start", "ld.global.u32 %x, [%in+-4];", nullptr, "out of bounds"},
    {"write behind the end", "st.global.u32 [%b+2048], %t;", nullptr, "out of bounds"},
    {"vector over the end", "add.s64 %c, %in, 1008; ld.global.v4.u32 {%x, %y, %z, %one}, [%c+16];",
     nullptr, "out of bounds"},
    {"null pointer", "mov.u64 %c, 0; ld.global.u32 %x, [%c];", nullptr, "outside of all memory"},
    {"misaligned word", "add.s64 %c, %in, 2; ld.global.u32 %x, [%c];",
     "add.s64 %c, %in, 4; ld.global.u32 %x, [%c];", "misaligned"},
    {"misaligned vector", "add.s64 %c, %in, 8; ld.global.v4.u32 {%x, %y, %z, %one}, [%c];", nullptr,
     "misaligned"},
    {"misaligned shared vector",
     "st.shared.u32 [%s], %t; bar.sync 0; ld.shared.v2.u32 {%x, %y}, [table+4];", nullptr,
     "misaligned"},
    {"shared memory out of bounds", "st.shared.u32 [%s+1000], %t;", nullptr,
     "shared memory out of bounds"},
    {"local memory out of bounds",
     ".local .align 4 .b8 frame[8]; mov.u64 %c, frame; ld.local.u32 %x, [%c+8];", nullptr,
     "local memory out of bounds"},
    {"fresh global memory", "ld.global.u32 %x, [%b];",
     "setp.eq.u32 %p, %g, 0; @%p st.global.u32 [%b], %t; @%p ld.global.u32 %x, [%b];",
     "never written"},
    {"fresh shared memory", "ld.shared.u32 %x, [%s];",
     "st.shared.u32 [%s], %t; ld.shared.u32 %x, [%s];", "never written"},
    {"fresh local memory", ".local .align 4 .b8 frame[8]; ld.local.u32 %x, [frame];", nullptr,
     "never written"},
    {"atomic on fresh memory", "red.global.add.u32 [%out], 1;", nullptr, "never written"},
    {"no barrier between warps",
     "st.shared.u32 [%s], %t; xor.b32 %y, %s, 128; ld.shared.u32 %x, [%y];",
     "st.shared.u32 [%s], %t; bar.sync 0; xor.b32 %y, %s, 128; ld.shared.u32 %x, [%y];", ""},
    {"no barrier before overwriting",
     "st.shared.u32 [%s], %t; bar.sync 0; xor.b32 %y, %s, 128; ld.shared.u32 %x, [%y]; "
     "st.shared.u32 [%s], %x;",
     "st.shared.u32 [%s], %t; bar.sync 0; xor.b32 %y, %s, 128; ld.shared.u32 %x, [%y]; bar.sync 0; "
     "st.shared.u32 [%s], %x;",
     "race"},
    {"two warps write one word", "st.shared.u32 [table], %w;", nullptr, "race"},
    {"no barrier between lanes",
     "st.shared.u32 [%s], %t; xor.b32 %y, %s, 4; ld.shared.u32 %x, [%y];",
     "st.shared.u32 [%s], %t; bar.warp.sync -1; xor.b32 %y, %s, 4; ld.shared.u32 %x, [%y];",
     "race"},
    {"two lanes write one word", "setp.lt.u32 %p, %t, 2; @%p st.shared.u32 [table], %t;",
     "setp.lt.u32 %p, %t, 2; @%p st.shared.u32 [table], %one;", "race"},
    {"blocks write one word", "setp.eq.u32 %p, %t, 0; @%p st.global.u32 [%out], %g;",
     "setp.eq.u32 %p, %t, 0; mul.wide.u32 %c, %g, 4; add.s64 %c, %c, %out; @%p st.global.u32 [%c], "
     "%g;",
     "race"},
    {"block reads what another writes",
     "setp.eq.u32 %q, %g, 0; setp.eq.and.u32 %p, %t, 0, %q; @%p st.global.u32 [%in], %g; "
     "setp.eq.and.u32 %p, %t, 0, !%q; @%p ld.global.u32 %x, [%in];",
     nullptr, "race"},
    {"atomic and plain write of blocks",
     "setp.eq.u32 %q, %g, 0; setp.eq.and.u32 %p, %t, 0, %q; @%p red.global.add.u32 [%in], 1; "
     "setp.eq.and.u32 %p, %t, 0, !%q; @%p st.global.u32 [%in], %g;",
     "setp.eq.u32 %p, %t, 0; @%p red.global.add.u32 [%in], 1;", "race"},
    {"atomic without fence as flag",
     "setp.ne.u32 %p, %t, 0; @%p bra $end; mul.wide.u32 %c, %g, 4; add.s64 %c, %c, %out; "
     "st.global.u32 [%c], %g; atom.global.add.u32 %x, [%in], 1; "
     "setp.ne.u32 %p, %x, 1; @%p bra $end; ld.global.u32 %x, [%out]; ld.global.u32 %y, [%out+4]; "
     "$end:",
     "setp.ne.u32 %p, %t, 0; @%p bra $end; mul.wide.u32 %c, %g, 4; add.s64 %c, %c, %out; "
     "st.global.u32 [%c], %g; membar.gl; atom.global.add.u32 %x, [%in], 1; "
     "setp.ne.u32 %p, %x, 1; @%p bra $end; membar.gl; ld.global.u32 %x, [%out]; ld.global.u32 %y, "
     "[%out+4]; $end:",
     "race"},
    {"non-coherent load of written memory", "st.global.u32 [%b], %t; ld.global.nc.u32 %x, [%b];",
     nullptr, "nc"},
    {"divergent barrier", "setp.lt.u32 %p, %l, 16; @%p bar.sync 0;",
     "setp.lt.u32 %p, %w, 99; @%p bar.sync 0;", "divergent barrier"},
    {"a warp misses the barrier",
     "setp.eq.u32 %p, %w, 0; @%p bra $end; bar.sync 0; $wait: ld.volatile.global.u32 %x, [%in]; "
     "bra $after; $end: bar.sync 1; $after:",
     nullptr, "barrier"},
    {"barrier for too many threads", "bar.sync 1, 256;", "bar.sync 1, 128;", "more threads"},
    {"barrier count of half a warp", "add.u32 %y, %one, 47; bar.sync 1, %y;", nullptr,
     "multiple of 32"},
    {"shuffle from a lane outside of the mask",
     "setp.lt.u32 %p, %l, 16; @%p shfl.sync.idx.b32 %x, %t, 20, 31, 0xffff;",
     "setp.lt.u32 %p, %l, 16; @%p shfl.sync.idx.b32 %x, %t, 10, 31, 0xffff;", "does not take part"},
    {"mask without the own lane", "shfl.sync.idx.b32 %x, %t, 0, 31, 0xffff;", nullptr,
     "member mask"},
    {"mask names lanes that are elsewhere",
     "setp.lt.u32 %p, %l, 16; @%p bra $end; shfl.sync.bfly.b32 %x, %t, 1, 31, -1; bra $out; $end: "
     "bar.warp.sync 0xffff; bar.sync 0; $out:",
     nullptr, ""},
    {"vote with a wrong mask", "setp.lt.u32 %p, %l, 8; @%p vote.sync.ballot.b32 %x, %q, 0xfff0;",
     nullptr, "member mask"},
    {"copy without wait_group",
     "add.s64 %c, %in, 0; shl.b32 %y, %t, 2; cvt.u64.u32 %c, %y; add.s64 %c, %c, %in; "
     "cp.async.ca.shared.global [%s], [%c], 4; cp.async.commit_group; ld.shared.u32 %x, [%s];",
     "shl.b32 %y, %t, 2; cvt.u64.u32 %c, %y; add.s64 %c, %c, %in; cp.async.ca.shared.global [%s], "
     "[%c], 4; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %x, [%s];",
     "wait_group"},
    {"wait for an older group only",
     "shl.b32 %y, %t, 2; cvt.u64.u32 %c, %y; add.s64 %c, %c, %in; cp.async.ca.shared.global [%s], "
     "[%c], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %x, [%s];",
     nullptr, "wait_group"},
    {"copy waited for, but no barrier",
     "shl.b32 %y, %t, 2; cvt.u64.u32 %c, %y; add.s64 %c, %c, %in; cp.async.ca.shared.global [%s], "
     "[%c], 4; cp.async.wait_all; xor.b32 %y, %s, 128; ld.shared.u32 %x, [%y];",
     "shl.b32 %y, %t, 2; cvt.u64.u32 %c, %y; add.s64 %c, %c, %in; cp.async.ca.shared.global [%s], "
     "[%c], 4; cp.async.wait_all; bar.sync 0; xor.b32 %y, %s, 128; ld.shared.u32 %x, [%y];",
     ""},
    {"write to a pending target",
     "shl.b32 %y, %t, 2; cvt.u64.u32 %c, %y; add.s64 %c, %c, %in; cp.async.ca.shared.global [%s], "
     "[%c], 4; st.shared.u32 [%s], %t; cp.async.wait_all;",
     nullptr, "cp.async"},
    {"misaligned copy",
     "add.s64 %c, %in, 4; cp.async.cg.shared.global [table], [%c], 16; cp.async.wait_all;", nullptr,
     "misaligned"},
    {"matrix load by half a warp",
     "setp.lt.u32 %p, %l, 16; @%p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x}, [%s];", nullptr,
     "32 lanes"},
    {"write to constants", "mov.u64 %c, fixed; st.global.u32 [%c], %t;", nullptr, "constant"},
    {"index behind a branch table",
     "tt: .branchtargets $a, $b; brx.idx %t, tt; $a: mov.u32 %x, 1; $b: mov.u32 %y, 1;", nullptr,
     "brx.idx"},
    {"trap", "trap;", nullptr, "trap"},
};

std::string mistakeText(const char *body) {
  return moduleText(
      ".const .align 4 .u32 fixed = 3;\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
      std::string(prologue) + "  " + body + "\n  ret;\n}\n");
}

} // namespace

std::vector<std::string> allMistakeTexts() {
  std::vector<std::string> result;
  for (auto &mistake : mistakes) {
    result.push_back(mistakeText(mistake.wrong));
    if (mistake.right)
      result.push_back(mistakeText(mistake.right));
  }
  return result;
}

class KernelMistakes : public Gpu {
protected:
  /// The finding of a run, empty for none.
  std::string run(const std::string &text, uint64_t seed, CUresult &result) {
    restart(seed);
    CUdeviceptr in = upload(std::vector<uint32_t>(256)), out = allocate(1024);
    CUfunction function = find(load(text), "k");
    result = launch(function, Shape(2, 128), in, out);
    return cuda().mxemuLastFinding();
  }
};

TEST_F(KernelMistakes, AreFoundInOneOfThreeSchedules) {
  size_t count = 0;
  for (auto &mistake : mistakes) {
    ++count;
    bool found = false;
    std::string all;
    for (uint64_t seed : {0, 1, 2}) {
      CUresult result = 0;
      std::string finding = run(mistakeText(mistake.wrong), seed, result);
      all += finding + "\n";
      EXPECT_EQ(result != 0, !finding.empty()) << mistake.name;
      found |= result != 0 && finding.find(mistake.expected) != finding.npos &&
               finding.find("kernel k, PTX line ") != finding.npos &&
               finding.find("thread (") != finding.npos;
    }
    EXPECT_TRUE(found) << mistake.name << ": " << all;
  }
  EXPECT_GE(count, 30u);
}

TEST_F(KernelMistakes, TwinsWithoutTheMistakeHaveNoFinding) {
  for (auto &mistake : mistakes)
    for (uint64_t seed : {0, 1, 2, 3}) {
      if (!mistake.right)
        continue;
      CUresult result = 0;
      std::string finding = run(mistakeText(mistake.right), seed, result);
      EXPECT_TRUE(result == 0 && finding.empty()) << mistake.name << ": " << finding;
    }
}

TEST_F(KernelMistakes, OfTheTiledMatmulAreFound) {
  MatmulMistake kinds[4];
  kinds[0].noWait = kinds[1].noFirstBarrier = kinds[2].noSecondBarrier = kinds[3].weakAlignment =
      true;
  for (auto &kind : kinds) {
    int found = 0;
    for (uint64_t seed : {0, 1, 2}) {
      restart(seed);
      unsigned n = 128, k = 32;
      CUdeviceptr a = upload(std::vector<float>(n * k, 1)),
                  b = upload(std::vector<float>(n * k, 1)), c = allocate(n * n * 4);
      found += launch(find(load(moduleText(matmulEntry("m", kind))), "m"), Shape(1, 1, 256, 1, 0),
                      a, b, c, n, k) != 0;
    }
    EXPECT_GT(found, 0) << &kind - kinds;
  }
}

TEST_F(KernelMistakes, UseOfFreedAndHostMemoryAndErrorsStick) {
  CUfunction function = find(load(mistakeText("ld.global.u32 %x, [%a];")), "k");
  CUdeviceptr in = upload(std::vector<uint32_t>(256)), out = allocate(1024);
  CU_OK(cuMemFree_v2(in));
  EXPECT_EQ(launch(function, Shape(1, 32), in, out), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda().mxemuLastFinding()).find("freed"), std::string::npos);
  // The error stays until the context goes.
  CUdeviceptr other;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&other, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  restart(0);
  function = find(load(mistakeText("ld.global.u32 %x, [%a];")), "k");
  std::vector<uint32_t> host(256);
  EXPECT_EQ(launch(function, Shape(1, 32), CUdeviceptr(host.data()), allocate(1024)),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda().mxemuLastFinding()).find("host memory that is not pinned"),
            std::string::npos);
  restart(0);
  CU_OK(cuMemHostRegister_v2(host.data(), 1024, 0));
  function = find(load(mistakeText("ld.global.u32 %x, [%a];")), "k");
  EXPECT_EQ(launch(function, Shape(1, 32), CUdeviceptr(host.data()), allocate(1024)), 0);
  CU_OK(cuMemHostUnregister(host.data()));
}

TEST_F(KernelMistakes, EndlessKernelsEnd) {
  setenv("MXEMU_STEPS", "100000", 1);
  restart(0);
  CUdeviceptr in = upload(std::vector<uint32_t>(256)), out = allocate(1024);
  EXPECT_EQ(launch(find(load(mistakeText("$loop: bra $loop;")), "k"), Shape(1, 32), in, out),
            CUDA_ERROR_LAUNCH_TIMEOUT);
  unsetenv("MXEMU_STEPS");
}

TEST_F(KernelMistakes, UnknownPtxIsRefusedWithItsLine) {
  struct {
    const char *body, *expected;
  } const cases[] = {
      {"frobnicate.f32 %f, %f;", "unknown opcode 'frobnicate'"},
      {"add.rq.f32 %f, %f, %f;", "unknown modifier '.rq'"},
      {"add.f32 %f, %f, %nothing;", "unknown name '%nothing'"},
      {"add.f32 %f, %f;", "operands"},
      {"mov.u64 %a, %f;", "too narrow"},
      {"bra $nowhere;", "unknown label"},
      {"setp.lt.f32 %x, %f, %f;", "predicate"},
      {"fma.f32 %f, %f, %f, %f;", "rounding mode"},
      {"ld.global.v3.f32 {%f, %f, %f}, [%a];", "v3"},
      {"cp.async.bulk.shared.global [%s], [%a], 16;", "cp"},
      {"call (%f), missing, (%f);", "unknown function"},
  };
  for (auto &c : cases) {
    std::string text = mistakeText(c.body);
    char log[256] = "";
    Enum options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    CUmodule module = nullptr;
    EXPECT_EQ(cuda().cuModuleLoadDataEx(&module, text.c_str(), 2, options, values),
              CUDA_ERROR_INVALID_PTX)
        << c.body;
    EXPECT_NE(std::string(log).find(c.expected), std::string::npos) << log;
    EXPECT_NE(std::string(log).find("line "), std::string::npos) << log;
  }
  // Any cut of a good text is refused or accepted, but ends.
  std::string whole = readInput("kernels.ptx");
  for (size_t length = 0; length < whole.size(); length += 97) {
    CUmodule module = nullptr;
    CUresult result = cuda().cuModuleLoadData(&module, whole.substr(0, length).c_str());
    EXPECT_TRUE(result == 0 || result == CUDA_ERROR_INVALID_PTX) << length;
  }
}

} // namespace mxemu
