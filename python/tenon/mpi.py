"""Groups of the processes that `mpirun` started, for the operators that take a `group_name`.

    rank, size = tenon.mpi.register_group("tp:0")
    total = tenon.ops.all_reduce(x, "tp:0")

Needs an MPI library (Debian: openmpi-bin), and no PyTorch.
"""

import ctypes

from tenon import _library


def register_group(name: str, color: int = 0) -> tuple[int, int]:
    """Makes the group of those processes that give the same `color`; all processes have to call
    this, in the same order as other calls of it. Returns this process's rank and the group's size.
    Starts MPI when nobody has (mpi4py, for instance)."""
    rank, size = ctypes.c_int32(), ctypes.c_int32()
    found = _library.load().tenon_register_mpi_group(
        name.encode(), color, ctypes.byref(rank), ctypes.byref(size)
    )
    if found != 0:
        raise _library.error()
    return rank.value, size.value
