// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that come from outside of the language (Session::resolve): what the caller says, and what
// it is told.
#pragma once
#include "Driver/GraphCalls.h"
#include "IRGen/Entry.h"

namespace mx::driver {

/// One argument of a call.
struct OutsideArgument {
  std::string name;                 ///< of the parameter; empty: by position
  const sema::Type *type = nullptr; ///< null: `literal` is its text
  std::string literal;
  bool isMut = false;
};

/// What a call runs. Lives as long as the session, and never changes.
struct OutsideTarget {
  const BoundVariant *graph = nullptr;    ///< this, or
  mxrt::host::Program *program = nullptr; ///< a function of this program
  std::string symbol;
  std::vector<int64_t> sizes; ///< its first arguments
  struct Input {
    size_t argument = 0; ///< which of the call's
    mlir::Type type;
    bool isMut = false;
    const sema::Type *given = nullptr; ///< of the value handed over
  };
  std::vector<Input> inputs;
  mlir::Type resultType;              ///< null: it gives nothing
  const sema::Type *result = nullptr; ///< the same, as the checker says it
  mxrt_place place = {};              ///< of the callee
};

} // namespace mx::driver
