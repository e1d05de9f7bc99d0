// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls from outside of the language, i.e. the embedding API (Session::resolve): the request of the
// caller and the resolved target.
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

/// The resolved target of a call. Immutable, and lives as long as the session.
struct OutsideTarget {
  const BoundVariant *graph = nullptr;    ///< this, or
  mxrt::host::Program *program = nullptr; ///< or a function of this program
  std::string symbol;
  std::vector<int64_t> sizes; ///< passed as its first arguments
  struct Input {
    size_t argument = 0; ///< index of the call's argument
    mlir::Type type;
    bool isMut = false;
    const sema::Type *given = nullptr; ///< type of the value passed
  };
  std::vector<Input> inputs;
  mlir::Type resultType;              ///< null: no result
  const sema::Type *result = nullptr; ///< the same, as a type of the checker
  mxrt_location location = {};              ///< location of the callee
};

} // namespace mx::driver
