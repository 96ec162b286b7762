"""What holds for every operator whose results depend on the elements alone, whatever the sizes,
types, strides, offsets and expanded views that hypothesis comes up with."""

import math
import os

import pytest
import torch
import torch.nn.functional as F
from contract_cases import FORMS, IN_PLACE, TENSORS
from drawn_calls import calls, elements, laid_out, layouts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_against_torch import ACTIVATIONS, ACTS, close, rms
from test_torch_extension import PRODUCTS, run, same

settings.register_profile(
    "tenon",
    max_examples=int(os.environ.get("TENON_TEST_EXAMPLES", "16")),
    derandomize="CI" in os.environ,  # at home every run tries other calls
    deadline=None,  # of a machine that others use, too
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("tenon")


def exact(name):
    contract, _ = FORMS[name]
    return name not in PRODUCTS and any(p.kind == "tensor" for p in contract.params)


EXACT = [name for name in TENSORS if exact(name)]
# Those with a functional form to be compared with.
EXACT_IN_PLACE = [n for n in IN_PLACE if FORMS[n][0].name != n and exact(FORMS[n][0].name)]
CONTENTS = st.tuples(st.integers(0, 99), st.sampled_from((1e-3, 1.0, 4.0)), st.booleans())


def gated(function):
    return lambda v: function(*v["x"].chunk(2, -1))


def swigluoai(v):
    gate, up = v["x"][..., 0::2].clamp(max=v["limit"]), v["x"][..., 1::2]
    return (up.clamp(-v["limit"], v["limit"]) + 1) * gate * torch.sigmoid(v["alpha"] * gate)


def clamped(v):
    gate, up = v["x"].chunk(2, -1)
    gate, up = gate.clamp(max=v["limit"]), up.clamp(-v["limit"], v["limit"])
    return gate * torch.sigmoid(v["alpha"] * gate) * (up + v["beta"])


def rms_norm(v):
    x, size = v["x"], v.get("variance_size") or v["x"].shape[-1]
    y = x * torch.rsqrt(x[..., :size].pow(2).mean(-1, keepdim=True) + v["eps"])
    if v["weight"] is not None:
        y = y * (v["weight"] + v.get("weight_offset", 0.0))
    return y if v.get("bias") is None else y + v["bias"]


def layer_norm(v):
    x = v["x"]
    if x.numel() and (x.amax(-1) == x.amin(-1)).any():
        return None  # the rounding of the mean, over sqrt(eps), is all that is left
    return F.layer_norm(x, x.shape[-1:], v["weight"], v["bias"], v["eps"])


# By operator, of arguments whose float tensors are float32: as in test_against_torch.
REFERENCES = {
    **{name: gated(function) for name, function in ACTIVATIONS.items()},
    "act_and_mul": lambda v: ACTS[v["act"]](v["gate"]) * v["up"],
    "gelu_quick": lambda v: ACTS["gelu_quick"](v["x"]),
    "gemma_rms_norm": lambda v: rms(v["x"], v["eps"]) * (1 + v["weight"]),
    "layer_norm": layer_norm,
    "log_softmax_batch_invariant": lambda v: torch.log_softmax(v["x"], v["dim"]),
    "mul_add": lambda v: v["a"] * v["b"] + v["c"],
    "muls_add": lambda v: v["x"] * v["scale"] + v["y"],
    "rms_norm": rms_norm,
    "rms_norm_batch_invariant": rms_norm,
    "silu_and_mul_with_clamp": clamped,
    "softmax_batch_invariant": lambda v: torch.softmax(v["x"], v["dim"]),
    "swigluoai_and_mul": swigluoai,
}


def outcome(name, values):
    """The results, or the sentence of a refusal."""
    try:
        return run(name, values)
    except RuntimeError as error:
        assert str(error).startswith(name + ": "), error
        return str(error)


def widened(values):
    return {
        n: v.float() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for n, v in values.items()
    }


def drawn(data, name, in_place):
    """A call's arguments, each in strides of its own, the memory around them, and whether some of
    their elements are not finite."""
    call = data.draw(calls(name))
    seed, *contents = data.draw(CONTENTS)
    around = {}

    def make(param, shape, dtype):
        distinct = (seed + len(around), *contents)
        tensor = elements(param, shape, dtype, math.prod(call.lead), distinct)
        # An in-place form refuses to write into elements that are one in memory.
        repeats = not (in_place or param.limits_rows)
        view, around[param.name] = laid_out(tensor, data.draw(layouts(len(shape))), repeats)
        return view

    return call.tensors(make), around, contents[1]


@pytest.mark.parametrize("name", EXACT)
def test_results_depend_on_the_elements_alone(name):
    accepted = 0

    @given(st.data())
    def check(data):
        nonlocal accepted
        strided, _, specials = drawn(data, name, False)
        dense = {
            n: v.clone(memory_format=torch.contiguous_format) if isinstance(v, torch.Tensor) else v
            for n, v in strided.items()
        }
        expected = outcome(name, dense)
        got = outcome(name, strided)
        if isinstance(expected, str):  # an index that is out of range: it is so in both
            assert got == expected
            return
        accepted += 1
        for result, want in zip(got, expected, strict=True):
            assert result.stride() == want.stride()
            same(result, want)
        if name in REFERENCES and not specials:
            reference = REFERENCES[name](widened(dense))
            if reference is not None:
                close(expected[0], reference, expected[0].dtype)

    check()
    assert accepted > 0, "the library took none of the calls"


@pytest.mark.parametrize("name", EXACT_IN_PLACE)
def test_in_place_forms_write_their_results_and_nothing_else(name):
    contract, form = FORMS[name]

    @given(st.data())
    def check(data):
        values, around, _ = drawn(data, contract.name, True)
        expected = outcome(contract.name, values)
        if isinstance(expected, str):
            return
        expected = dict(zip((out.name for out in contract.outs), expected))
        for argument, result in form.writes.items():
            if values[argument] is None:
                continue
            # Memory as it has to be afterwards: the view has the same place in a copy of it.
            view, memory = values[argument], around[argument].clone()
            target = memory.as_strided(view.shape, view.stride(), view.storage_offset())
            target.copy_(expected[result])
            expected[result] = memory
        assert run(name, values) == [None]
        for argument, result in form.writes.items():
            if values[argument] is not None:
                same(around[argument], expected[result])

    check()
