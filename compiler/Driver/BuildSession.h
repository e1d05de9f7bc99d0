// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session of `mxc build`: code made ahead of time, for other programs or as a program.
#pragma once
#include "Build/Executable.h"
#include "Driver/Session.h"
#include <set>

namespace mx::driver {

/// Arguments of `mxc build`.
struct BuildRequest {
  enum Kind : uint8_t { Object, Library, Python, Executable } kind = Object;
  std::string output, header;
  std::string library; ///< of a Python module, next to it
  std::string prefix;  ///< prefix of names in C
  build::Shapes shapes;
  std::string cpus;       ///< a list of names
  std::string parameters; ///< a file; empty: none is embedded
};

class BuildSession : public Session {
public:
  using Session::Session;

  /// Compiles the graphs that a program exports, or the whole program, which is not run (Build.cpp,
  /// BuildExecutable.cpp).
  bool build(const std::string &name, const std::string &path, std::string text,
             const BuildRequest &request);

private:
  bool collectExports(const std::string &name, const std::string &path, std::string text,
                      mlir::OwningOpRef<mlir::ModuleOp> &module, std::vector<build::Export> &out);
  bool writeArtefact(const BuildRequest &request, const build::Interface &interface,
                     const std::vector<build::Cpu> &cpus, const std::string &object);
  struct Imports;
  bool buildExecutable(const std::string &name, const std::string &path, std::string text,
                       const BuildRequest &request);
  bool readImports(const std::vector<uint8_t> &bytes, uint32_t types, Imports &out);
  bool makeKernels(const std::set<std::string> &keys, const std::vector<build::Cpu> &cpus,
                   build::ExecutableParts &parts,
                   std::vector<std::pair<std::string, std::string>> &objects);
  bool linkExecutable(const std::string &path, const std::string &object,
                      const std::vector<std::pair<std::string, std::string>> &kernelObjects,
                      const std::set<std::string> &natives);
};

} // namespace mx::driver
