// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output files of a build.
#pragma once
#include "Build/Artefact.h"

namespace mx::build {

/// The header for C and C++.
std::string writeHeader(const Interface &interface, const std::string &fileName);

/// `int mnist_predict(const mnist_net *net, …)`, without a semicolon.
std::string prototypeOf(const Interface &interface, const Function &function);

/// A Python module for the shared library `library`, which is next to it.
std::string writePython(const Interface &interface, const std::string &moduleName,
                        const std::string &library);

/// "1,234,567"
std::string grouped(int64_t number);

/// Why a file could not be written, and what to do; empty: only another name helps.
struct Trouble {
  std::string why, help;
};

/// Writes a file atomically: after a failure there is the old one or none. Returns false then, with
/// the reason. `mode` is for a new file.
bool writeFile(const std::string &path, llvm::StringRef content, Trouble &trouble,
               unsigned mode = 0666);

/// Writes a static library of named objects and all members of another library, which may be empty.
bool writeArchive(const std::string &path,
                  const std::vector<std::pair<std::string, std::string>> &objects,
                  const std::string &other, Trouble &trouble);

/// Links `inputs` with the C compiler of the system; `flags` come first.
bool runLinker(const std::vector<std::string> &flags, const std::vector<std::string> &inputs,
               const std::string &path, Trouble &trouble);

} // namespace mx::build
