# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All-reduce of two processes with other engines, for `mxc-bench processes`: a line `bytes cpu-ms wall-ms` for each
rank and size, as that measures. `gloo` starts its processes, `mpi` is started by mpirun.
"""

import ctypes
import os
import resource
import sys
import time

SIZES = (1000, 100000, 1000000, 10000000, 100000000)


def cpu_ms():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (used.ru_utime + used.ru_stime)


def measure(all_reduce):
    """`all_reduce(bytes)` returns a function that exchanges so many."""
    lines = []
    for size in SIZES:
        run = all_reduce(size)
        times = 5 if size >= 10000000 else 50
        run()
        cpu, best = cpu_ms(), 1e30
        for _ in range(times):
            begin = time.perf_counter()
            run()
            best = min(best, 1e3 * (time.perf_counter() - begin))
        lines.append(f"{size} {(cpu_ms() - cpu) / times:.6f} {best:.6f}\n")
    os.write(1, "".join(lines).encode())


def gloo(rank, port):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)

    def all_reduce(size):
        x = torch.zeros(size // 4)
        return lambda: dist.all_reduce(x)
    measure(all_reduce)
    dist.destroy_process_group()


def mpi():
    lib = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    lib.MPI_Init(None, None)
    handle = {name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(lib, name)))
              for name in ("ompi_mpi_float", "ompi_mpi_op_sum", "ompi_mpi_comm_world")}

    def all_reduce(size):
        x = (ctypes.c_float * (size // 4))()
        in_place = ctypes.c_void_p(1)
        return lambda: lib.MPI_Allreduce(in_place, x, size // 4, handle["ompi_mpi_float"], handle["ompi_mpi_op_sum"],
                                         handle["ompi_mpi_comm_world"])
    measure(all_reduce)
    lib.MPI_Finalize()


if sys.argv[1] == "mpi":
    mpi()
else:
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()[1]
    other = os.fork()
    gloo(1 if other == 0 else 0, address)
    if other:
        os.waitpid(other, 0)
