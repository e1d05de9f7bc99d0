// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths of the installation: this code is part of a program, or of a library that some program
// uses.
#pragma once
#include <string>

namespace mx::driver {

/// The file of the program or library that this code is part of; empty if it cannot be found.
std::string codeFile();

/// The folder of the standard library: $MX_STDLIB, or next to that file.
std::string findStdlib();

/// A library of the runtime, which is installed next to the program.
std::string findLibrary(const std::string &name);

} // namespace mx::driver
