// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links over MPI: the processes of one `mpirun`. The library (Open MPI) is opened when a program
// asks for it. One thread of the process makes all calls of MPI, because MPI moves messages on only
// while it is called.
//
// MPI has no word for a lost process: mpirun ends the job. Heartbeats find one that is stopped.

#ifndef MXRT_NET_MPI_H
#define MXRT_NET_MPI_H

#include "net/Plugin.h"

namespace mxrt::net {

/// R0707 if there is no Open MPI, R0701 if these are not the ranks of one mpirun.
Result<TransportBox> connectMpi(const mxrt_allocator *alloc, const Meeting &meeting,
                                const LinkedOptions &options, Clock &clock);

} // namespace mxrt::net

#endif // MXRT_NET_MPI_H
