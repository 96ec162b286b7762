"""Groups of real processes, through torch.distributed."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("group_ranks.py")


@pytest.mark.parametrize("size", [2, 4])
def test_ranks_give_what_one_gives_and_errors_come_in_time(size):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={size}", str(SCRIPT)]
    environment = {**os.environ, "TENON_COMM_TIMEOUT": "1.5", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    finished = [f"rank {rank} of {size} is done" in done.stdout for rank in range(size - 1)]
    assert all(finished), done.stdout + done.stderr
