"""The scripts in examples/."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def test_models_of_transformers_keep_their_logits():
    pytest.importorskip("transformers")
    command = [sys.executable, str(EXAMPLES / "hf_transformers.py"), "--no-times", "--tokens", "24"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("logits differ by at most") == 3, done.stdout
