"""The package laid out as in a wheel: it finds its library, its extension and its command itself."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

BUILD = os.environ.get("TENON_BUILD")
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "tenon"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not BUILD:
        pytest.skip("TENON_BUILD is not the folder of a build")
    site = tmp_path_factory.mktemp("site")
    subprocess.run(
        ["cmake", "--install", BUILD, "--prefix", site], check=True, stdout=subprocess.DEVNULL
    )
    shutil.copytree(
        PACKAGE, site / "tenon", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    return site


def run(site, code):
    env = {k: v for k, v in os.environ.items() if k != "TENON_LIBRARY"}
    env["PYTHONPATH"] = str(site)
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=site, capture_output=True, text=True
    )


def test_operators(site):
    code = """
import numpy, torch, tenon, tenon.torch
print(tenon.torch.path)
print(round(float(tenon.ops.rms_norm(numpy.full((1, 2), 3.0, numpy.float32), None)[0, 0]), 5))
print(round(torch.ops.tenon.rms_norm(torch.full((1, 2), 3.0), None)[0, 0].item(), 5))
"""
    ran = run(site, code)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [str(site / "tenon/lib/tenon_torch.so"), "1.0", "1.0"]


def test_command(site):
    code = "import sys, tenon._cli; sys.argv = ['tenon', 'ops', 'rms_norm']; tenon._cli.main()"
    ran = run(site, code)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("rms_norm (norm)")
    (site / "tenon/bin/tenon").rename(site / "tenon/bin/moved")
    ran = run(site, code)
    (site / "tenon/bin/moved").rename(site / "tenon/bin/tenon")
    assert ran.returncode == 1 and "cannot be run: No such file or directory" in ran.stderr
