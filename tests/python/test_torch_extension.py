"""Every operator as torch.ops.tenon.<name>, with calls made from its contract."""

import pathlib
import subprocess
import sys

import contract_cases
import pytest
import tenon
import tenon.torch
import torch
from contract_cases import (
    FORMS,
    FUNCTIONAL,
    IN_PLACE,
    LEAD,
    NUMBERS,
    TENSORS,
    WITH_OUT,
    call,
    cases,
)
from tenon import _calls, _functions
from torch._subclasses.fake_tensor import FakeTensorMode

OPS = torch.ops.tenon
STORAGES = [torch.float32, torch.bfloat16]
# Batch and stride invariance are promised only by the products that say so in their names.
PRODUCTS = {
    "batch_matmul_transpose",
    "conv3d",
    "gated_mlp",
    "linear",
    "linear_act",
    "linear_act_and_mul",
    "linear_add",
    "matmul",
    "merged_linear",
    "norm_gated_mlp",
    "qkv_linear",
    "qwen2_decoder_layer",
}
PRODUCTS |= {name for name in FUNCTIONAL if name.endswith("_parallel_linear")}
PRODUCTS |= {"all_gather_linear", "dsv4_o_proj", "linear_all_reduce_add_rms_norm", "lm_head_logits"}
CHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
every_functional = pytest.mark.parametrize("name", TENSORS)
every_with_out = pytest.mark.parametrize("name", WITH_OUT)
every_in_place = pytest.mark.parametrize("name", IN_PLACE)
every_storage = pytest.mark.parametrize("storage", STORAGES, ids=str)


def results(returned):
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def run(name, values):
    args, kwargs = call(values, FORMS[name][0])
    return results(getattr(OPS, name)(*args, **kwargs))


def same(got, expected):
    """Equal bits, NaN included, and equal types and shapes."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[got.element_size()]
    assert torch.equal(got.contiguous().view(width), expected.contiguous().view(width))


def through_c_abi(name, values, out=None):
    args, kwargs = call(values, FORMS[name][0])
    prepared = _calls.Call(name, args, kwargs, out)
    prepared()
    # Without a tensor among the arguments the results are NumPy's.
    return [torch.as_tensor(result) for result in prepared.results]


def outs_like(name, expected):
    made = [torch.full_like(r.float(), torch.nan).to(r.dtype) for r in expected]
    return dict(zip(FORMS[name][0].out_arguments, made))


def clone(values):
    return {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()}


@every_functional
@every_storage
def test_equals_the_c_abi(name, storage):
    for case in cases(name, storage):
        values = case.values()
        for got, expected in zip(run(name, values), through_c_abi(name, values), strict=True):
            same(got, expected)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    for case in cases(name):
        args, kwargs = call(case.values(), FORMS[name][0])
        got = getattr(OPS, name)(*args, **kwargs)
        assert type(got) in (float, list)
        assert got == _functions.given_back(FORMS[name][0], through_c_abi(name, case.values()))

        def function(x, args=args, kwargs=kwargs):
            number = getattr(tenon.ops, name)(*args, **kwargs)
            return x + (number if isinstance(number, float) else sum(number))

        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        same(compiled(torch.ones(2)), function(torch.ones(2)))
        with pytest.raises(TypeError, match=f"{name}: has no form that writes"):
            getattr(tenon.ops, name)(*args, **kwargs, out=torch.ones(2))


def checks_for(tensors):
    """PyTorch's own check of the schema multiplies what it is given, and has no product of fp8."""
    if any(t.dtype == torch.float8_e4m3fn for t in tensors if isinstance(t, torch.Tensor)):
        return [check for check in CHECKS if check != "test_schema"]
    return CHECKS


@every_functional
def test_opcheck(name):
    for case in cases(name):
        values = case.values()
        args, kwargs = call(values, FORMS[name][0])
        checks = checks_for(values.values())
        torch.library.opcheck(getattr(OPS, name).default, args, kwargs, test_utils=checks)


@every_with_out
def test_out_writes_into_the_callers_tensors(name):
    contract, _ = FORMS[name]
    for case in cases(name, torch.bfloat16):
        values = case.values()
        expected = run(name, values)
        args, kwargs = call(values, contract)
        outs = outs_like(name, expected)
        checks = checks_for([*values.values(), *outs.values()])
        if any(param.name == "mode" for param in contract.params):
            # PyTorch passes arguments of `.out` by name to a function of its own that has a `mode`.
            checks = ["test_schema", "test_faketensor"]
        torch.library.opcheck(getattr(OPS, name).out, args, {**kwargs, **outs}, test_utils=checks)
        assert getattr(OPS, name).out(*args, **kwargs, **outs) is None
        for got, want in zip(outs.values(), expected):
            same(got, want)


@every_with_out
def test_out_rows_may_be_strided(name):
    contract, _ = FORMS[name]
    case = cases(name)[1]
    values = case.values()
    expected = run(name, values)
    wide = [
        torch.full([*r.shape[:-1], r.shape[-1] + 3] if r.dim() else [], 7.0).to(r.dtype)
        for r in expected
    ]
    outs = [w[..., : r.shape[-1]] if r.dim() else w for w, r in zip(wide, expected)]
    args, kwargs = call(values, contract)
    given = outs[0] if len(outs) == 1 else tuple(outs)
    assert getattr(tenon.ops, name)(*args, **kwargs, out=given) is given
    for got, want, around in zip(outs, expected, wide):
        same(got, want)
        assert (around[..., want.shape[-1] :].float() == 7.0).all()  # nothing else was written


@every_in_place
@every_storage
def test_in_place_equals_functional(name, storage):
    contract, form = FORMS[name]
    for case in cases(contract.name, storage):
        values = case.values()
        args, kwargs = call(clone(values), contract)
        torch.library.opcheck(getattr(OPS, name).default, args, kwargs, test_utils=CHECKS)
        if form.name == contract.name:
            continue  # there is no functional form
        expected = dict(zip((o.name for o in contract.outs), run(contract.name, values)))
        written = clone(values)
        assert run(name, written) == [None]
        for argument, result in form.writes.items():
            if written[argument] is not None:
                same(written[argument], expected[result])


@every_functional
@every_storage
def test_strided_and_expanded_inputs(name, storage):
    contract, _ = FORMS[name]
    for case in cases(name, storage):
        values = case.values()
        expected = run(name, values)
        strided = dict(values)
        for param in contract.params:
            value = values[param.name]
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                apart = torch.zeros([*value.shape[:-1], 2 * value.shape[-1] + 3]).to(value.dtype)
                strided[param.name] = apart[..., 1 : 2 * value.shape[-1] + 1 : 2]
                strided[param.name].copy_(value)
        for got, want in zip(run(name, strided), expected):
            if name in PRODUCTS:  # another kernel, another order of the sum
                bound = 1e-4 if storage == torch.float32 else 1.6e-2
                torch.testing.assert_close(got, want, rtol=bound, atol=bound)
            else:
                same(got, want)
        rows = [p for p in contract.params if p.shapes and p.shapes[0].lead]
        expanded, repeated = dict(values), dict(values)
        for param in rows:
            if values[param.name] is not None:
                count, *rest = values[param.name].shape
                expanded[param.name] = values[param.name][:1].expand(count, *rest)
                repeated[param.name] = expanded[param.name].contiguous()
        for got, want in zip(run(name, expanded), run(name, repeated)):
            same(got, want)


@every_functional
def test_no_rows_and_meta_tensors(name):
    for case in cases(name):
        for lead in ((0,), (3, 0), LEAD, (1,)):
            made = run(name, case.values(lead))
            meta = run(name, case.values(lead, device="meta"))
            for got, described in zip(made, meta, strict=True):
                assert described.device.type == ("meta" if case.given else "cpu")
                assert got.shape == described.shape and got.dtype == described.dtype
                assert got.stride() == described.stride()


@pytest.mark.parametrize("name", TENSORS + IN_PLACE)
def test_one_compilation_serves_every_batch(name):
    contract, in_place = FORMS[name]
    for case in cases(contract.name, torch.bfloat16):

        def function(values):
            args, kwargs = call(values, contract)
            written = {} if not in_place else {a: values[a] for a in in_place.writes}
            return getattr(tenon.ops, name)(*args, **kwargs), written

        torch._dynamo.reset()
        compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
        with torch._dynamo.config.patch(error_on_recompile=True):
            for tokens in (5, 8, 3, 17):
                values = case.values((tokens,), seed=tokens)
                got = torch.utils._pytree.tree_leaves(compiled(clone(values)))
                expected = torch.utils._pytree.tree_leaves(function(clone(values)))
                for g, e in zip(got, expected, strict=True):
                    assert (g is None) == (e is None)
                    if g is not None:
                        same(g, e)


def test_inductor_runs_every_operator_in_one_graph():
    chosen = {name: cases(name, torch.bfloat16)[1].values((4,)) for name in TENSORS}

    def function(chosen):
        return {name: run(name, values) for name, values in chosen.items()}

    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, dynamic=True)(chosen)
    for name, expected in function(chosen).items():
        for got, want in zip(compiled[name], expected, strict=True):
            same(got, want)


def test_in_place_stays_in_place_under_inductor():
    """The generated code calls the operator on the buffer itself, without a copy of it."""
    from torch._inductor.utils import run_and_get_code

    name = next(n for n in IN_PLACE if "x" in FORMS[n][1].writes)
    values = cases(FORMS[name][0].name)[0].values((4,))

    def function(values):
        values = {**values, "x": values["x"] * 2}
        run(name, values)
        return values["x"]

    torch._dynamo.reset()
    _, code = run_and_get_code(torch.compile(function, fullgraph=True), values)
    lines = [line for line in code[0].splitlines() if "tenon" in line]
    assert lines and not any("clone" in line for line in lines)


def test_export_keeps_the_operator_with_a_dynamic_batch():
    class Module(torch.nn.Module):
        def forward(self, x):
            return OPS.silu_and_mul(x)

    tokens = torch.export.Dim("tokens", min=2, max=64)
    program = torch.export.export(Module(), (torch.randn(4, 64),), dynamic_shapes=({0: tokens},))
    assert any("tenon.silu_and_mul" in str(node.target) for node in program.graph.nodes)
    assert program.module()(torch.randn(7, 64)).shape == (7, 32)


def refusal(function, *args, **kwargs):
    with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def wrong_calls(case):
    """(argument, values): each is refused because of that argument."""
    values = case.values()
    first = next((n for n, v in values.items() if isinstance(v, torch.Tensor)), None)
    for param in case.contract.params:
        value = values[param.name]
        if not isinstance(value, torch.Tensor):
            continue
        yield param.name, {**values, param.name: value.to(torch.float64)}
        if not param.shapes[0].lead and len(param.shapes) == 1:
            yield param.name, {**values, param.name: value[None]}
        if param.name != first:
            yield param.name, {**values, param.name: value.to(torch.complex64)}


@every_functional
def test_a_refused_call_says_the_same_sentence_everywhere(name):
    contract, _ = FORMS[name]
    for argument, values in wrong_calls(cases(name)[1]):
        eager = refusal(run, name, values)
        assert eager.startswith(f"{name}: {argument} must be "), eager
        assert refusal(through_c_abi, name, values) == eager
        with FakeTensorMode() as mode:
            fake = {
                n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v
                for n, v in values.items()
            }
            assert refusal(run, name, fake) == eager


def test_a_bad_shape_is_refused_while_compiling():
    function = torch.compile(
        lambda x, w: OPS.rms_norm(x, w), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    text = refusal(function, torch.ones(2, 64), torch.ones(63))
    assert "rms_norm: weight must be [64] like x's last axis, got [63]" in text


def test_refused_results_and_devices():
    x, weight = torch.ones(2, 64), torch.ones(64)
    text = refusal(OPS.rms_norm.out, x, weight, out=torch.empty(2, 63))
    assert text == "rms_norm: y must be [2, 64], got [2, 63]"
    text = refusal(OPS.rms_norm.out, x, weight, out=x)
    assert text == "rms_norm: y is written, but shares memory with x"
    text = refusal(OPS.rms_norm, x, weight.to("meta"))
    assert text == "rms_norm: weight must be on cpu like x, got meta:0"
    assert "out must be 2 tensors" in refusal(
        tenon.ops.fused_add_rms_norm, x, x.clone(), weight, out=x
    )
    with FakeTensorMode():
        on_gpu = torch.empty(2, 64, device="cuda")
        text = refusal(OPS.rms_norm.default, on_gpu, torch.empty(64))
    assert text == "rms_norm: weight must be on cuda:0 like x, got cpu"


def test_wrong_kinds_are_refused():
    x = torch.ones(2, 64)
    refusal(OPS.rms_norm, x, None, "much")
    refusal(OPS.rms_norm, x)
    refusal(OPS.rms_norm, x, None, 1e-6, 3)
    assert refusal(OPS.rms_norm, torch.ones([1] * 9), None) == (
        "rms_norm: x must have at most 8 axes, got 9"
    )


def test_gradients_are_not_offered():
    x = torch.ones(2, 64, requires_grad=True)
    y = OPS.rms_norm(x, None)
    same(y.detach(), OPS.rms_norm(x.detach(), None))


THREADS = """
import os, torch, tenon.torch
torch.set_num_threads({threads})
x = torch.empty(4096, 2048)
tasks = set(os.listdir("/proc/self/task"))
torch.ops.tenon.rms_norm(x, None)
print(len(set(os.listdir("/proc/self/task")) - tasks))
"""


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_torch_decides_on_the_threads(threads):
    """The first large call starts the threads that torch was told to use, and no more."""
    ran = subprocess.run(
        [sys.executable, "-c", THREADS.format(threads=threads)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(ran.stdout.split()[-1]) == threads - 1


def test_cases_cover_the_registry():
    assert sorted(contract_cases.FORMS) == tenon.names()
    for name in FORMS:
        assert getattr(OPS, name).default._schema.name == f"tenon::{name}"


def test_every_line_of_the_specification_can_be_called():
    lines = (pathlib.Path(__file__).parents[1] / "ops" / "schemas.txt").read_text().splitlines()
    assert len(lines) == 99
    for line in lines:
        registered = getattr(OPS, line.split("::")[1].split("(")[0]).default._schema
        assert registered == torch._C.parse_schema(line)


def test_functions_carry_signatures_and_documentation():
    import inspect

    for name, (contract, in_place) in FORMS.items():
        function = getattr(tenon.ops, name)
        parameters = list(inspect.signature(function).parameters)
        out = [] if in_place or not contract.out_schema else ["out"]
        assert parameters == [p.name for p in contract.params] + out
        assert function.__name__ == name and contract.formula in function.__doc__
