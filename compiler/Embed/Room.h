// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack space. A host may call from a thread with a small stack (128 KiB under musl, or the choice
// of a language runtime or of a thread pool); checking and compiling need megabytes.
#pragma once
#include "Embed/Core.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx::embed {

/// For checking, compiling, and running host code, which may compile.
inline constexpr size_t kRoomToCompile = size_t(4) << 20;
/// For issuing a call of a compiled graph.
inline constexpr size_t kRoomToCall = size_t(96) << 10;

/// Like guarded(): on this thread if that many bytes of its stack are left, otherwise on a helper
/// thread that the caller waits for.
mxc_error *guardedWithRoom(size_t bytes, llvm::function_ref<mxc_error *()> body);

} // namespace mx::embed
