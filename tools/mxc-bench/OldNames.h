// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands that were renamed. The old names are accepted with a note.
#pragma once

namespace mx::bench {

struct OldName {
  const char *before, *now;
};
inline constexpr OldName kOldNames[] = {{"products", "matmul"}};

} // namespace mx::bench
