"""Groups of real processes, through MPI."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("mpi_ranks.py")

if not shutil.which("mpirun"):
    pytest.skip("there is no mpirun", allow_module_level=True)


def start(size, what, *options):
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", *options, "-n", str(size)]
    environment = {**os.environ, "TENON_COMM_TIMEOUT": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, sys.executable, str(SCRIPT), what],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def finished(done, ranks, size):
    return all(f"rank {rank} of {size} is done" in done.stdout for rank in ranks)


@pytest.mark.parametrize("size", [2, 4])
def test_ranks_give_what_one_gives(size):
    done = start(size, "lives")
    assert done.returncode == 0, done.stdout + done.stderr
    assert finished(done, range(size), size)


# A process with a failed group does not wait for the others at its end, which mpirun reports.
def test_a_rank_that_does_not_come_is_an_error_on_every_rank():
    done = start(4, "late", "--enable-recovery")
    assert finished(done, range(4), 4), done.stdout + done.stderr


def test_a_rank_that_dies_is_an_error_on_every_other():
    done = start(4, "dies", "--enable-recovery")
    assert finished(done, range(3), 4), done.stdout + done.stderr
    # Without that option it is mpirun that ends the others.
    assert start(4, "dies").returncode != 0
