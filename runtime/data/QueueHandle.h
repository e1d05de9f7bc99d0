// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handle of a queue, for its functions and for checkpoints.

#ifndef MXRT_DATA_QUEUEHANDLE_H
#define MXRT_DATA_QUEUEHANDLE_H

#include "data/DataHost.h"
#include "dist/Queue.h"

namespace mxrt::data {

/// What the handle of a program owns.
struct Held {
  const mxrt_allocator *alloc;
  dist::Queue *queue;
  int rank;
  Box<dist::QueueState> next; // of a restore() that may still fail
};

extern const host::ForeignType queueType;
inline Held &heldOf(const host::Value &value) {
  return *static_cast<Held *>(value.foreign()->payload);
}

/// Makes the tensors of an element what the queue holds: between instances they travel as a parcel.
Status pack(DataHost &host, const dist::Queue &queue, mxrt_location location,
            dist::Element &element);

} // namespace mxrt::data

#endif // MXRT_DATA_QUEUEHANDLE_H
