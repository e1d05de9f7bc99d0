// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session of `mxc run` and `mxc test`: runs a program, or its `test` blocks.
#pragma once
#include "Driver/Session.h"

namespace mx::driver {

class ProgramSession : public Session {
public:
  using Session::Session;

  /// Checks, compiles and runs a program. Errors are written to `err`.
  bool runProgram(const std::string &name, const std::string &path, std::string text);
  /// Runs the `test` blocks of a program: one line each. Counts failures. `isChecked`: the check
  /// found no error.
  bool runTests(const std::string &name, const std::string &path, std::string text,
                const std::string &filter, int &passed, int &failed, bool &isChecked);

private:
  bool call(const std::string &function);
};

} // namespace mx::driver
