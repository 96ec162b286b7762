"""One rank of test_mpi.py: `mpirun mpi_ranks.py dies|lives`. tests/ops/group_test.cc has what
operators give on ranks under mpirun; this has NumPy arrays, groups of some ranks, and ranks that
do not come or die. Raises when a rank sees something else."""

import os
import sys
import time

import numpy as np
import tenon.mpi

OPS = tenon.ops
LIMIT = 20  # seconds within which every rank must have its error


def refusal(call):
    start = time.monotonic()
    try:
        call()
    except RuntimeError as error:
        assert time.monotonic() - start < LIMIT
        return str(error)
    raise AssertionError("nothing was refused")


def array(*values):
    return np.array(values, np.float32)


def equal(got, expected):
    np.testing.assert_array_equal(got, expected)


def collectives(rank, size):
    equal(OPS.all_reduce(array(1 + rank, 10), "tp"), array(size * (size + 1) / 2, 10 * size))
    equal(OPS.all_gather(array(rank), 0, size, "tp"), np.arange(size, dtype=np.float32))
    # In pieces, the last of them smaller.
    count = size * 100_003
    part = OPS.reduce_scatter(np.full(count, 1 + rank, np.float32), 0, size, "tp")
    equal(part, np.full(count // size, size * (size + 1) / 2))
    blocks = np.repeat(np.arange(size, dtype=np.float32) + 10 * rank, 100_003)
    expected = np.repeat(10 * np.arange(size, dtype=np.float32) + rank, 100_003)
    equal(OPS.all_to_all(blocks, size, "tp"), expected)


def pairs(rank, size):
    """Neighbours make a group."""
    at, of = tenon.mpi.register_group("pair", rank // 2)
    assert (at, of) == (rank % 2, 2)
    equal(OPS.all_gather(array(rank), 0, 2, "pair"), array(rank - at, rank - at + 1))


def refusals(rank, size):
    wrong = refusal(lambda: OPS.all_reduce(np.ones(3 + rank, np.float32), "tp"))
    assert "the ranks of the group do not agree: rank 0 calls all_reduce of 3" in wrong, wrong
    assert f"world_size must be {size}" in refusal(
        lambda: OPS.all_gather(array(1), 0, size + 1, "tp")
    )
    equal(OPS.all_reduce(array(1), "tp"), array(size))  # still works


def one_does_not_come(rank, size):
    tenon.mpi.register_group("late")
    if rank == size - 1:
        time.sleep(1.4)  # longer than TENON_COMM_TIMEOUT, less than twice that
    said = refusal(lambda: OPS.all_reduce(array(1), "late"))
    if rank == size - 1:
        assert "of the group has given up" in said, said
    else:
        assert "not every rank" in said or "has given up" in said, said
    assert "cannot be used any more" in refusal(lambda: OPS.all_reduce(array(1), "late"))
    # The others may go on in other groups.
    equal(OPS.all_reduce(array(1), "tp"), array(size))


def one_dies(rank, size):
    OPS.all_reduce(array(1), "tp")
    if rank == size - 1:
        os._exit(1)
    said = refusal(lambda: OPS.all_reduce(array(1), "tp"))
    assert "the group did not move its bytes" in said, said


def main():
    rank, size = tenon.mpi.register_group("tp")
    if sys.argv[1] == "dies":
        one_dies(rank, size)
    else:
        collectives(rank, size)
        pairs(rank, size)
        refusals(rank, size)
        if sys.argv[1] == "late":
            one_does_not_come(rank, size)
    print(f"rank {rank} of {size} is done", flush=True)


main()
