#!/usr/bin/env python3
"""Matrix products on the CPU, side by side in one run: Tenon's linear, F.linear and oneDNN alone.

    bench/products.py --out bench/results/cpu_products.jsonl

Shapes are the linears of a decoder layer, without bias. Every cell (model, linear, tokens, dtype) calls
all three in turn, `--repeats` times or fewer where a call is long, and writes the medians: whole calls on
warm buffers, results allocated before, except by F.linear. Before each timed call one of the same that is
not timed wakes the threads up. oneDNN is Debian's libdnnl, called through its C API with the weight as it
lies in memory; without it that column is missing. The limit is the longer of two times: the bytes at the
machine's copy bandwidth, and the products at the rate of multiply-adds on registers, twice that for bf16,
whose instruction makes two products per lane.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from compare_peers import DTYPES, ROOT, SLEEP_S, cpu_name, tenon

# Rows and columns of the weights of a decoder layer; llama-3-8b's others are those of qwen3-8b.
SHAPES = {
    "qwen3-0.6b": {
        "qkv": (4096, 1024),
        "o": (1024, 2048),
        "gate_up": (6144, 1024),
        "down": (1024, 3072),
    },
    "qwen3-8b": {
        "qkv": (6144, 4096),
        "o": (4096, 4096),
        "gate_up": (24576, 4096),
        "down": (4096, 12288),
    },
    "llama-3-8b": {"gate_up": (28672, 4096), "down": (4096, 14336)},
}
CELL_S = 1.5  # the time of a cell's repeats, which are at least three


class OneDnn:
    """The product of oneDNN 2's C API."""

    DTYPES = {torch.bfloat16: 2, torch.float32: 3}
    DESCRIPTOR_BYTES = 1 << 14  # more than any of its structures

    def __init__(self):
        # torch has a copy of its own, whose symbols must not answer.
        flags = os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND
        self.library = ctypes.CDLL("libdnnl.so.2", mode=flags)
        version = self.library.dnnl_version
        version.restype = ctypes.POINTER(ctypes.c_int)
        self.version = ".".join(str(number) for number in version()[:3])
        self.engine, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("dnnl_engine_create", ctypes.byref(self.engine), 1, ctypes.c_size_t(0))
        self.call("dnnl_stream_create", ctypes.byref(self.stream), self.engine, 1)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise SystemExit(f"{name} of oneDNN returned {status}")

    def memory(self, tensor, strides):
        descriptor = ctypes.create_string_buffer(self.DESCRIPTOR_BYTES)
        sizes = (ctypes.c_int64 * 2)(*tensor.shape)
        steps = (ctypes.c_int64 * 2)(*strides)
        dtype = self.DTYPES[tensor.dtype]
        self.call("dnnl_memory_desc_init_by_strides", descriptor, 2, sizes, dtype, steps)
        memory = ctypes.c_void_p()
        pointer = ctypes.c_void_p(tensor.data_ptr())
        self.call("dnnl_memory_create", ctypes.byref(memory), descriptor, self.engine, pointer)
        return descriptor, memory

    def product(self, x, weight, y):
        """The function that computes y = x weight^T."""
        operands = [self.memory(t, t.stride()) for t in (x, weight.t(), y)]
        (a, _), (b, _), (c, _) = operands
        what = ctypes.create_string_buffer(8 * self.DESCRIPTOR_BYTES)
        self.call("dnnl_matmul_desc_init", what, a, b, None, c)
        descriptor, primitive = ctypes.c_void_p(), ctypes.c_void_p()
        reference = ctypes.byref(descriptor)
        self.call("dnnl_primitive_desc_create", reference, what, None, self.engine, None)
        self.call("dnnl_primitive_create", ctypes.byref(primitive), descriptor)

        class Argument(ctypes.Structure):
            _fields_ = [("which", ctypes.c_int), ("memory", ctypes.c_void_p)]

        places = (1, 33, 17)  # source, weights, destination
        arguments = (Argument * 3)(*[(p, m) for p, (_, m) in zip(places, operands)])
        execute, wait = self.library.dnnl_primitive_execute, self.library.dnnl_stream_wait

        def run():
            if execute(primitive, self.stream, 3, arguments) or wait(self.stream):
                raise SystemExit("oneDNN failed")

        return run


def machine():
    program = ROOT / "build" / "ci" / "bin" / "tenon"
    command = [os.environ.get("TENON_PROGRAM", str(program)), "profile", "--format", "json"]
    with tempfile.TemporaryDirectory() as cache:  # an empty one, so that it is measured now
        environment = os.environ | {"TENON_CACHE_DIR": cache}
        found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    profile = json.loads(found.stdout)
    return {name: profile[name]["value"] for name in ("copy_gb_per_s", "vector_gflops")}


def limit_us(profile, rows, n, k, dtype):
    item = 2 if dtype == "bf16" else 4
    moved = item * (rows * k + n * k + rows * n) / profile["copy_gb_per_s"] * 1e-3
    rate = profile["vector_gflops"] * (2 if dtype == "bf16" else 1)
    return max(moved, 2 * rows * n * k / rate * 1e-3)


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(x, weight, onednn, repeats):
    call = tenon.prepare("linear", x, weight)
    runs = {"tenon": call, "f_linear": lambda: F.linear(x, weight)}
    y = torch.empty(len(x), len(weight), dtype=x.dtype)
    if onednn is not None:
        runs["onednn"] = onednn.product(x, weight, y)
    with torch.inference_mode():
        expected = F.linear(x, weight)
        once = 0.0
        for name, run in runs.items():
            once += timed(run)
            got = {"tenon": call.results[0], "onednn": y}.get(name, expected)
            if not torch.allclose(got.float(), expected.float(), rtol=3e-2, atol=3e-2):
                raise SystemExit(f"{name} and F.linear disagree; nothing is timed")
        repeats = max(3, min(repeats, int(CELL_S / (2 * once))))
        times = {name: [] for name in runs}
        for _ in range(repeats):
            for name, run in runs.items():
                time.sleep(SLEEP_S)
                run()
                times[name].append(timed(run))
    return repeats, {name: statistics.median(t) * 1e6 for name, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--linears", nargs="+", help="only these: qkv, o, gate_up, down")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 16, 64, 512, 4096])
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=pathlib.Path, help="JSON lines, appended one per cell")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        onednn = OneDnn()
    except OSError as error:
        print(f"oneDNN is not compared: {error}", file=sys.stderr)
        onednn = None
    profile = machine()
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    common = {
        **{name: round(value, 1) for name, value in profile.items()},
        "device": cpu_name(),
        "threads": options.threads,
        "tenon": tenon.__version__,
        "torch": torch.__version__,
        "onednn": onednn and onednn.version,
        "commit": commit,
    }
    for model in options.models:
        for linear, (n, k) in SHAPES[model].items():
            if options.linears and linear not in options.linears:
                continue
            for dtype in options.dtypes:
                torch.manual_seed(0)
                weight = (torch.randn(n, k) / k**0.5).to(DTYPES[dtype])
                for tokens in options.tokens:
                    x = torch.randn(tokens, k).to(DTYPES[dtype])
                    repeats, times = measure(x, weight, onednn, options.repeats)
                    limit = limit_us(profile, tokens, n, k, dtype)
                    line = {"model": model, "linear": linear, "n": n, "k": k, "dtype": dtype}
                    line |= {"tokens": tokens, "repeats": repeats}
                    line |= {f"{name}_us": round(us, 1) for name, us in times.items()}
                    line["limit_us"] = round(limit, 1)
                    for name in ["f_linear", "onednn", "limit"]:
                        if name + "_us" in line:
                            ratio = line[name + "_us"] / times["tenon"]
                            line["of_limit" if name == "limit" else f"to_{name}"] = round(ratio, 3)
                    line |= common
                    print(*[f"{key} {line[key]}" for key in list(line)[: -len(common)]], flush=True)
                    if options.out:
                        with options.out.open("a") as out:
                            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
