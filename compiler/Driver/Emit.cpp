// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Printing of compiler stages (`--emit`) and of fusion decisions (`--explain-fusion`).
#include "Driver/Emit.h"
#include "Support/Suggest.h"
#include <algorithm>

namespace mx::driver {

std::string prepareEmit(const std::string &stage, SessionOptions &options, std::ostream &out) {
  static const std::vector<std::string> kSource = {"tokens", "ast", "typed", "mx", "bytecode"};
  bool ofSource = std::find(kSource.begin(), kSource.end(), stage) != kSource.end();
  bool ofGraph = std::find(std::begin(pipeline::kPhases), std::end(pipeline::kPhases), stage) !=
                 std::end(pipeline::kPhases);
  if (!ofSource && !ofGraph) {
    std::vector<std::string> known = kSource;
    known.insert(known.end(), std::begin(pipeline::kPhases), std::end(pipeline::kPhases));
    std::string near = nearest(stage, known);
    return "`" + stage + "` is not a stage" +
           (near.empty() ? "; `mxc run --help` lists them" : "; did you mean " + near + "?");
  }
  options.emit = stage;
  if (ofGraph && stage != "mx") {
    options.compile.wanted.insert(stage);
    options.compile.observer = [&out](std::string_view, std::string_view text) {
      out << text << (text.empty() || text.back() == '\n' ? "" : "\n");
    };
  }
  return "";
}

void explainFusion(SessionOptions &options, std::ostream &err) {
  options.compile.wanted.insert("fusion");
  options.compile.observer = [&err, others = options.compile.observer](std::string_view phase,
                                                                       std::string_view text) {
    if (phase == "fusion")
      err << text;
    else
      others(phase, text);
  };
}

} // namespace mx::driver
