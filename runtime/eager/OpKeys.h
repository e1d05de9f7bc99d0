// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of kernels that a named operation may request, for lists of kernels that are made in advance.

#ifndef MXRT_EAGER_OPKEYS_H
#define MXRT_EAGER_OPKEYS_H

#include "eager/Issue.h"

namespace mxrt::eager {

struct OpKeys {
  const Operation &op;
  void (*add)(void *, std::string_view);
  void *context;

  void elementwise(int32_t rank, std::initializer_list<Layout> layouts) const {
    KeyOperand operands[maxInputs];
    size_t count = 0;
    for (Layout layout : layouts) {
      bool isCondition = op.info->family == Family::Select && count == 0;
      operands[count++] = {isCondition ? MXRT_BOOL : op.type, layout};
    }
    KeyText key;
    key.writeElementwise(op.info->name, rank, {operands, count}, op.result);
    add(context, key.view());
  }
  void signature(const Signature &signature, std::initializer_list<KeyOperand> operands,
                 mxrt_dtype result) const {
    KeyText key;
    key.write(signature, operands, result, *signature.op ? nullptr : op.info->name);
    add(context, key.view());
  }
};

} // namespace mxrt::eager

#endif // MXRT_EAGER_OPKEYS_H
