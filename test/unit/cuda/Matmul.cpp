// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Matmul.h"

namespace mxemu {

std::string matmulEntry(const std::string &name, MatmulMistake mistake) {
  std::string text;
  auto line = [&](const std::string &part) { text += "  " + part + "\n"; };
  auto r = [](const char *base, int i) { return "%" + std::string(base) + std::to_string(i); };
  text += ".visible .entry " + name + "(.param .u64 " + name + "_a, .param .u64 " + name +
          "_b, .param .u64 " + name + "_c, .param .u32 " + name + "_n, .param .u32 " + name +
          "_k)\n{\n";
  line(".reg .pred %p<3>;");
  line(".reg .b32 %r<40>;");
  line(".reg .b64 %rd<16>;");
  line(".reg .f32 %acc<64>;");
  line(".reg .f32 %av<32>;");
  line(".reg .f32 %bv<8>;");
  line(".shared .align 4 .b8 shift[" + std::string(mistake.weakAlignment ? "4" : "16") + "];");
  line(".shared .align " + std::string(mistake.weakAlignment ? "4" : "16") + " .b8 tiles[16384];");
  line("ld.param.u64 %rd1, [" + name + "_a];");
  line("ld.param.u64 %rd2, [" + name + "_b];");
  line("ld.param.u64 %rd3, [" + name + "_c];");
  line("ld.param.u32 %r1, [" + name + "_n];");
  line("ld.param.u32 %r2, [" + name + "_k];");
  line("mov.u32 %r3, %tid.x;");
  line("mov.u32 %r4, %ctaid.x;");
  line("mov.u32 %r5, %ctaid.y;");
  // A: thread t copies 4 floats of row t/2 at column 4 (t%2); B: row t/32, column 4 (t%32).
  line("shr.u32 %r6, %r3, 1;");
  line("and.b32 %r7, %r3, 1;");
  line("shl.b32 %r7, %r7, 2;");
  line("mad.lo.u32 %r8, %r5, 128, %r6;");
  line("mad.lo.u32 %r8, %r8, %r2, %r7;");
  line("mul.wide.u32 %rd4, %r8, 4;");
  line("add.s64 %rd4, %rd1, %rd4;");
  line("shr.u32 %r9, %r3, 5;");
  line("and.b32 %r10, %r3, 31;");
  line("shl.b32 %r10, %r10, 2;");
  line("mad.lo.u32 %r11, %r4, 128, %r10;");
  line("mad.lo.u32 %r11, %r9, %r1, %r11;");
  line("mul.wide.u32 %rd5, %r11, 4;");
  line("add.s64 %rd5, %rd2, %rd5;");
  line("shl.b32 %r12, %r3, 4;"); // both tiles are copied in the order of threads
  line("mov.u32 %r13, tiles;");
  line("add.u32 %r14, %r13, %r12;");
  line("shl.b32 %r15, %r1, 5;"); // 8 rows of B in bytes
  line("cvt.u64.u32 %rd6, %r15;");
  for (int i = 0; i < 64; ++i)
    line("mov.f32 " + r("acc", i) + ", 0f00000000;");
  line("shr.u32 %r16, %r3, 4;"); // row of the thread's 8 x 8
  line("and.b32 %r17, %r3, 15;");
  line("shl.b32 %r18, %r16, 8;"); // 8 rows of 32 bytes
  line("add.u32 %r18, %r18, %r13;");
  line("shl.b32 %r19, %r17, 5;");
  line("add.u32 %r19, %r19, %r13;");
  line("shr.u32 %r20, %r2, 3;"); // tiles along k
  line("mov.u32 %r21, 0;");      // tile
  line("mov.u32 %r22, 0;");      // its stage in bytes
  auto issue = [&](const std::string &stage) {
    line("add.u32 %r23, %r14, " + stage + ";");
    line("cp.async.cg.shared.global [%r23], [%rd4], 16;");
    line("cp.async.cg.shared.global [%r23+4096], [%rd5], 16;");
    line("add.s64 %rd4, %rd4, 32;");
    line("add.s64 %rd5, %rd5, %rd6;");
  };
  issue("0");
  line("cp.async.commit_group;");
  text += "$next_" + name + ":\n";
  line("add.u32 %r24, %r21, 1;");
  line("setp.ge.u32 %p1, %r24, %r20;");
  line("xor.b32 %r25, %r22, 8192;");
  line("@%p1 bra $issued_" + name + ";");
  issue("%r25");
  text += "$issued_" + name + ":\n";
  line("cp.async.commit_group;");
  if (!mistake.noWait)
    line("cp.async.wait_group 1;");
  if (!mistake.noFirstBarrier)
    line("bar.sync 0;");
  line("add.u32 %r26, %r18, %r22;");
  line("add.u32 %r27, %r19, %r22;");
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 8; ++i)
      line("ld.shared.v4.f32 {" + r("av", i * 4) + ", " + r("av", i * 4 + 1) + ", " +
           r("av", i * 4 + 2) + ", " + r("av", i * 4 + 3) + "}, [%r26+" +
           std::to_string(i * 32 + half * 16) + "];");
    for (int k = 0; k < 4; ++k) {
      for (int j = 0; j < 2; ++j)
        line("ld.shared.v4.f32 {" + r("bv", j * 4) + ", " + r("bv", j * 4 + 1) + ", " +
             r("bv", j * 4 + 2) + ", " + r("bv", j * 4 + 3) + "}, [%r27+" +
             std::to_string(4096 + (half * 4 + k) * 512 + j * 16) + "];");
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j)
          line("fma.rn.f32 " + r("acc", i * 8 + j) + ", " + r("av", i * 4 + k) + ", " + r("bv", j) +
               ", " + r("acc", i * 8 + j) + ";");
    }
  }
  if (!mistake.noSecondBarrier)
    line("bar.sync 0;");
  line("mov.u32 %r22, %r25;");
  line("mov.u32 %r21, %r24;");
  line("@!%p1 bra $next_" + name + ";");
  line("mad.lo.u32 %r28, %r5, 16, %r16;");
  line("shl.b32 %r28, %r28, 3;");
  line("mad.lo.u32 %r29, %r4, 16, %r17;");
  line("shl.b32 %r29, %r29, 3;");
  line("mad.lo.u32 %r30, %r28, %r1, %r29;");
  line("mul.wide.u32 %rd7, %r30, 4;");
  line("add.s64 %rd7, %rd3, %rd7;");
  line("mul.wide.u32 %rd8, %r1, 4;");
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; j += 4)
      line("st.global.v4.f32 [%rd7+" + std::to_string(j * 4) + "], {" + r("acc", i * 8 + j) + ", " +
           r("acc", i * 8 + j + 1) + ", " + r("acc", i * 8 + j + 2) + ", " +
           r("acc", i * 8 + j + 3) + "};");
    line("add.s64 %rd7, %rd7, %rd8;");
  }
  line("ret;");
  return text + "}\n";
}

} // namespace mxemu
