// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of `mpirun --tag-output`: lines of all ranks in one stream, `[1,2]<stdout>:text`.
#pragma once
#include "Launch/Lines.h"

namespace mx::launch {

class TaggedLines {
public:
  TaggedLines(Lines &out, int ranks) : out(out), ranks(ranks) {}
  /// Lines without a tag are mpirun's own.
  void add(std::string_view text);
  void finish();

private:
  void line(std::string_view text);
  Lines &out;
  const int ranks;
  std::string begun;
};

} // namespace mx::launch
