// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX of the strided copy: each thread finds the index of its element, axis by axis, and copies
// it. One entry for each size of elements.

#include "device/cuda/StridedCopy.h"

#include <cstddef>

namespace mxrt::cuda {

namespace {

// One axis: size at byte `four` of the sizes, strides at byte `eight`. Done when no index is left.
#define AXIS(four, eight)                                                                          \
  "  ld.param.u32 %r1, [sizes+" #four "];\n"                                                       \
  "  rem.u32 %r2, %r0, %r1;\n"                                                                     \
  "  div.u32 %r0, %r0, %r1;\n"                                                                     \
  "  cvt.u64.u32 %d2, %r2;\n"                                                                      \
  "  ld.param.u64 %d3, [to_strides+" #eight "];\n"                                                 \
  "  mad.lo.s64 %d0, %d2, %d3, %d0;\n"                                                             \
  "  ld.param.u64 %d3, [from_strides+" #eight "];\n"                                               \
  "  mad.lo.s64 %d1, %d2, %d3, %d1;\n"                                                             \
  "  setp.eq.u32 %p0, %r0, 0;\n"                                                                   \
  "  @%p0 bra COPY;\n"

#define ENTRY(name, type, reg)                                                                     \
  ".visible .entry " name "(\n"                                                                    \
  "  .param .u64 to, .param .u64 from, .param .u32 count,\n"                                       \
  "  .param .align 4 .b8 sizes[64],\n"                                                             \
  "  .param .align 8 .b8 to_strides[128], .param .align 8 .b8 from_strides[128])\n"                \
  "{\n"                                                                                            \
  "  .reg .pred %p<1>;\n"                                                                          \
  "  .reg .b16 %h<1>;\n"                                                                           \
  "  .reg .b32 %r<3>;\n"                                                                           \
  "  .reg .b64 %d<4>;\n"                                                                           \
  "  mov.u32 %r0, %ctaid.x;\n"                                                                     \
  "  mov.u32 %r1, %ntid.x;\n"                                                                      \
  "  mov.u32 %r2, %tid.x;\n"                                                                       \
  "  mad.lo.u32 %r0, %r0, %r1, %r2;\n"                                                             \
  "  ld.param.u32 %r1, [count];\n"                                                                 \
  "  setp.ge.u32 %p0, %r0, %r1;\n"                                                                 \
  "  @%p0 bra END;\n"                                                                              \
  "  ld.param.u64 %d0, [to];\n"                                                                    \
  "  cvta.to.global.u64 %d0, %d0;\n"                                                               \
  "  ld.param.u64 %d1, [from];\n"                                                                  \
  "  cvta.to.global.u64 %d1, %d1;\n"                                                               \
  AXIS(0, 0) AXIS(4, 8) AXIS(8, 16) AXIS(12, 24) AXIS(16, 32) AXIS(20, 40) AXIS(24, 48)            \
  AXIS(28, 56) AXIS(32, 64) AXIS(36, 72) AXIS(40, 80) AXIS(44, 88) AXIS(48, 96) AXIS(52, 104)      \
  AXIS(56, 112) AXIS(60, 120)                                                                      \
  "COPY:\n"                                                                                        \
  "  ld.global." type " " reg ", [%d1];\n"                                                         \
  "  st.global." type " [%d0], " reg ";\n"                                                         \
  "END:\n"                                                                                         \
  "  ret;\n"                                                                                       \
  "}\n"

constexpr char moduleText[] = ".version 6.3\n"
                              ".target sm_75\n"
                              ".address_size 64\n" //
    ENTRY("mx_copy1", "u8", "%h0")                 //
    ENTRY("mx_copy2", "u16", "%h0")                //
    ENTRY("mx_copy4", "u32", "%r1")                //
    ENTRY("mx_copy8", "u64", "%d3");

constexpr uint64_t moduleKey = 0x6d782d636f707931; // of this text, as no other module has it

using Arguments = StridedCopy::Arguments;
constexpr uint32_t offsets[] = {offsetof(Arguments, to),        offsetof(Arguments, from),
                                offsetof(Arguments, count),     offsetof(Arguments, sizes),
                                offsetof(Arguments, toStrides), offsetof(Arguments, fromStrides)};

} // namespace

const char *const stridedCopyModule = moduleText;

StridedCopy::StridedCopy(void *to, const void *from, const Walk<2> &walk, int64_t elements,
                         int64_t elementBytes) {
  constexpr uint32_t threads = 256;
  arguments = {to, from, static_cast<uint32_t>(elements), {}, {}, {}};
  for (int32_t i = 0; i < MXRT_MAX_RANK; ++i) {
    int32_t axis = walk.rank - 1 - i;
    arguments.sizes[i] = axis >= 0 ? static_cast<uint32_t>(walk.sizes[axis]) : 1;
    arguments.fromStrides[i] = axis >= 0 ? walk.strides[0][axis] * elementBytes : 0;
    arguments.toStrides[i] = axis >= 0 ? walk.strides[1][axis] * elementBytes : 0;
  }
  info.struct_size = sizeof(info);
  info.argument_count = 6;
  info.module = moduleText;
  info.module_key = moduleKey;
  info.entry = elementBytes == 1   ? "mx_copy1"
               : elementBytes == 2 ? "mx_copy2"
               : elementBytes == 4 ? "mx_copy4"
                                   : "mx_copy8";
  info.grid[0] = (arguments.count + threads - 1) / threads;
  info.grid[1] = info.grid[2] = info.block[1] = info.block[2] = 1;
  info.block[0] = threads;
  info.argument_offsets = offsets;
}

} // namespace mxrt::cuda
