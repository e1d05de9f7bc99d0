// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session of `mxc plan`: memory plans of graphs, which are not run.
#pragma once
#include "Driver/Session.h"

namespace mx::driver {

/// Arguments of `mxc plan`.
struct PlanRequest {
  std::string graph;
  std::vector<std::pair<std::string, int64_t>> sizes;
  bool asJson = false;
  std::string htmlFile;   ///< empty: none
  bool ofSession = false; ///< requested at the prompt
};

/// Adds the sizes of `N=32,T=7` to a request; returns an error message or an empty string.
std::string readSizes(const std::string &text, PlanRequest &request);
/// `step` names `step`, and what was derived from it: `step.f32`.
bool isNamed(llvm::StringRef symbol, llvm::StringRef name);

class PlanSession : public Session {
public:
  using Session::Session;

  /// Prints the memory plan of a graph of a program, which is not run. False if it exceeds the
  /// limit.
  bool plan(const std::string &name, const std::string &path, std::string text,
            const PlanRequest &request);

protected:
  bool planModule(irgen::Generated &generated, const PlanRequest &request);

private:
  Diagnostic &planError(Span span, const std::string &message);
  bool needsSizes(const PlanRequest &request, const std::string &missing);
};

} // namespace mx::driver
