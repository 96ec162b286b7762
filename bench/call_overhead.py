#!/usr/bin/env python3
"""What a call costs from PyTorch, against torch.neg: [1, 64] float32, where the arithmetic is nothing.

    bench/call_overhead.py --out bench/results/call_overhead.jsonl

Everything is called through `.default` (or `.out`) of its overload, on one thread, under
torch.inference_mode. The calls are timed in turn, in short bursts; each line has the best burst and
the median of all, in microseconds a call, and the ratio of the best to that of torch.neg in the same
run. `neg` allocates its result, as Tenon's functional forms do. The target: rms_norm (two tensors
and four attributes in its schema) at most 1.5 times neg, and 0.1 us for each further tensor. What
PyTorch itself takes for a keyword or a second result is in the lines that begin with "empty":
operators of the same schemas that only allocate (bench/empty_calls.cc).
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import tenon  # noqa: E402
import tenon.torch  # noqa: E402


def load_empty_calls(folder):
    """torch.ops.tenon_empty"""
    root = pathlib.Path(torch.__file__).parent
    library = pathlib.Path(folder) / "empty_calls.so"
    subprocess.run(
        [
            "c++",
            "-std=c++20",
            "-O2",
            "-shared",
            "-fPIC",
            "-DTORCH_TARGET_VERSION=0x020b000000000000",
        ]
        + ["-isystem", root / "include", ROOT / "bench" / "empty_calls.cc", "-o", library]
        + ["-Wl,--no-as-needed", root / "lib" / "libtorch.so"],
        check=True,
    )
    torch.ops.load_library(str(library))
    return torch.ops.tenon_empty


def candidates(empty):
    x, weight, residual, bias = torch.randn(1, 64), *torch.ones(3, 64).clone().unbind()
    residual = residual[None]
    ops, aten, out = torch.ops.tenon, torch.ops.aten, torch.empty_like(x)
    neg, neg_out = aten.neg.default, aten.neg.out
    norm, norm_out = ops.rms_norm.default, ops.rms_norm.out
    add_norm, add_norm_ = ops.fused_add_rms_norm.default, ops.fused_add_rms_norm_.default
    gelu = ops.gelu_quick.default
    empty_norm, empty_add_norm = empty.rms_norm.default, empty.fused_add_rms_norm.default
    public = tenon.ops.rms_norm
    return {
        "aten.neg": lambda: neg(x),
        "aten.neg.out": lambda: neg_out(x, out=out),
        "F.rms_norm": lambda: torch.nn.functional.rms_norm(x, (64,), weight, 1e-6),
        "gelu_quick(x)": lambda: gelu(x),
        "rms_norm(x, None)": lambda: norm(x, None, 1e-6),
        "rms_norm(x, weight)": lambda: norm(x, weight, 1e-6),
        "rms_norm(x, weight, bias)": lambda: norm(x, weight, 1e-6, bias=bias),
        "rms_norm.out(x, weight, out)": lambda: norm_out(x, weight, 1e-6, out=out),
        "fused_add_rms_norm(x, residual, weight)": lambda: add_norm(x, residual, weight, 1e-6),
        "fused_add_rms_norm_(x, residual, weight)": lambda: add_norm_(x, residual, weight, 1e-6),
        "empty rms_norm(x, weight)": lambda: empty_norm(x, weight, 1e-6),
        "empty rms_norm(x, weight, bias)": lambda: empty_norm(x, weight, 1e-6, bias=bias),
        "empty fused_add_rms_norm": lambda: empty_add_norm(x, residual, weight, 1e-6),
        "tenon.ops.rms_norm(x, weight)": lambda: public(x, weight, 1e-6),
    }


def burst(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls * 1e6


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=301)
    parser.add_argument("--calls", type=int, default=500, help="calls of one burst")
    parser.add_argument("--out", type=pathlib.Path, help="JSON lines, one per call")
    options = parser.parse_args()
    torch.set_num_threads(1)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        runs = candidates(load_empty_calls(folder))
        times = {name: [] for name in runs}
        for run in runs.values():
            burst(run, options.calls)
        for _ in range(options.repeats):
            for name, run in runs.items():
                times[name].append(burst(run, options.calls))
    neg = min(times["aten.neg"])
    lines = []
    print(f"{'call':44}{'best':>9}{'median':>9}  of neg")
    for name, values in times.items():
        best, median = min(values), statistics.median(values)
        print(f"{name:44}{best:7.3f}us{median:7.3f}us  {best / neg:6.2f}")
        lines.append(
            {
                "call": name,
                "best_us": round(best, 3),
                "median_us": round(median, 3),
                "of_neg": round(best / neg, 3),
                "device": cpu_name(),
                "threads": 1,
                "tenon": tenon.__version__,
                "torch": torch.__version__,
                "commit": commit,
                "repeats": options.repeats,
                "calls": options.calls,
            }
        )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
