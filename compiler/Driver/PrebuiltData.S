// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mxc-kernels made, as bytes of the program.
    .section .rodata
    .globl mx_prebuilt_begin
    .globl mx_prebuilt_end
    .balign 16
mx_prebuilt_begin:
    .incbin MX_PREBUILT_FILE
mx_prebuilt_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
