// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a build leaves behind.
#pragma once
#include "Build/Artefact.h"

namespace mx::build {

/// The header for C and C++.
std::string writeHeader(const Interface &interface, const std::string &fileName);

/// `int mnist_predict(const mnist_net *net, …)`, without a semicolon.
std::string prototypeOf(const Interface &interface, const Function &function);

/// A module of Python for the shared library `library`, which is beside it.
std::string writePython(const Interface &interface, const std::string &moduleName,
                        const std::string &library);

/// "1,234,567"
std::string grouped(int64_t number);

/// Why a file could not be written, and what to do; empty: nothing but another name.
struct Trouble {
  std::string why, help;
};

/// Writes a file as a whole: after a failure there is the old one or none. False, and why, then.
bool writeFile(const std::string &path, llvm::StringRef content, Trouble &trouble);

/// A static library of objects, by name, and all that is in another; that may be none.
bool writeArchive(const std::string &path,
                  const std::vector<std::pair<std::string, std::string>> &objects,
                  const std::string &other, Trouble &trouble);

/// Has the C compiler of the system link `inputs`; `flags` come first.
bool runLinker(const std::vector<std::string> &flags, const std::vector<std::string> &inputs,
               const std::string &path, Trouble &trouble);

} // namespace mx::build
