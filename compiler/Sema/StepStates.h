// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States of optimizers that a KVStore keeps by name.
#pragma once

namespace mx::sema {

class Sema;

/// Reports models that would share the state of an optimizer by accident (E0701).
void checkStepStates(Sema &sema);

} // namespace mx::sema
