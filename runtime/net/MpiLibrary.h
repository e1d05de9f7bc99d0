// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Open MPI 4 and 5 that are called, by their binary interface: nothing of it is
// needed when mx is built.

#ifndef MXRT_NET_MPILIBRARY_H
#define MXRT_NET_MPILIBRARY_H

#include <cstddef>

namespace mxrt::net::mpi {

using Handle = void *; // MPI_Comm, MPI_Datatype, MPI_Request, MPI_Message
struct State {         // MPI_Status
  int source, tag, error, cancelled;
  size_t bytes;
};
inline constexpr int anySource = -1, success = 0, threadFunneled = 1;

#define MXRT_MPI_FUNCTIONS(F)                                                                      \
  F(Initialized, int (*)(int *))                                                                   \
  F(Init_thread, int (*)(int *, char ***, int, int *))                                             \
  F(Finalize, int (*)())                                                                           \
  F(Comm_rank, int (*)(Handle, int *))                                                             \
  F(Comm_size, int (*)(Handle, int *))                                                             \
  F(Isend, int (*)(const void *, int, Handle, int, int, Handle, Handle *))                         \
  F(Improbe, int (*)(int, int, Handle, int *, Handle *, State *))                                  \
  F(Imrecv, int (*)(void *, int, Handle, Handle *, Handle *))                                      \
  F(Get_count, int (*)(const State *, Handle, int *))                                              \
  F(Test, int (*)(Handle *, int *, State *))

struct Library {
#define MXRT_MPI_MEMBER(name, type)                                                                \
  using name##Type = type;                                                                         \
  name##Type name = nullptr;
  MXRT_MPI_FUNCTIONS(MXRT_MPI_MEMBER)
#undef MXRT_MPI_MEMBER
  Handle world = nullptr, byte = nullptr;
};

} // namespace mxrt::net::mpi

#endif // MXRT_NET_MPILIBRARY_H
