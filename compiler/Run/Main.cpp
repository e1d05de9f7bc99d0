// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main() of the program that `mxc build --exe` links; compiler/Build writes mx_program.
#include "Run/Program.h"

extern "C" const mx::run::Program mx_program;

int main(int argc, char **argv) { return mx::run::runCarried(mx_program, argc, argv); }
