// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizers of a KVStore, and the effect of its calls.
#pragma once
#include "Support/Source.h"
#include <string>

namespace mx::sema {

/// In addition to the effects of builtins (Info.h): the function exchanges values with other
/// workers, without waiting. Graphs may have it.
inline constexpr uint8_t kExchange = 128;

/// What an optimizer's step looks at to update one parameter, from its source.
struct RuleForm {
  enum Kind : uint8_t {
    Elementwise, ///< the same element of each tensor: a tensor may be cut
    WholeTensor, ///< the tensor as a whole, such as its norm
    Coupled,     ///< other parameters
  } kind = Elementwise;
  Span where;      ///< of what is not elementwise
  std::string why; ///< "`global_norm` takes the gradients of all parameters"
};

} // namespace mx::sema
