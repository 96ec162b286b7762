"""PyTorch's own calls in the batch-invariant mode, and quantised products against PyTorch."""

import pytest
import tenon
import tenon.torch
import torch
import torch.nn.functional as F

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
ROWS = [1, 2, 63, 64, 65, 255, 256, 257, 1025]


def tensor(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype)


@pytest.fixture
def mode():
    tenon.torch.enable_batch_invariant_mode()
    yield
    tenon.torch.disable_batch_invariant_mode()


def out_form(operator):
    def call(x, *args):
        out = torch.empty(0, dtype=x.dtype)
        operator(x, *args, out=out)
        return out

    return call


CALLS = {
    "mm": lambda x, w, b: torch.mm(x, w.t()),
    "mm.out": lambda x, w, b: out_form(torch.mm)(x, w.t()),
    "addmm": lambda x, w, b: torch.addmm(b, x, w.t(), beta=0.5, alpha=2),
    "bmm": lambda x, w, b: torch.bmm(x[None], w.t()[None])[0],
    "matmul": lambda x, w, b: torch.matmul(x, w.t()),
    "matmul.out": lambda x, w, b: out_form(torch.matmul)(x, w.t()),
    "matmul 1-D": lambda x, w, b: torch.matmul(x, w[0])[:, None],
    "linear": lambda x, w, b: F.linear(x, w, b),
    "softmax": lambda x, w, b: F.softmax(x, -1),
    "log_softmax": lambda x, w, b: F.log_softmax(x, -1),
    "softmax in float32": lambda x, w, b: F.softmax(x, -1, dtype=torch.float32),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_rows_do_not_depend_on_their_number(mode, call, dtype):
    x, w, b = tensor(1025, 200, dtype=dtype), tensor(33, 200, dtype=dtype), tensor(33, dtype=dtype)
    everything = call(x, w, b)
    for rows in ROWS:
        assert torch.equal(call(x[:rows], w, b), everything[:rows])
    order = torch.randperm(1025, generator=torch.Generator().manual_seed(1))
    assert torch.equal(call(x[order], w, b), everything[order])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_are_those_of_pytorch(call, dtype):
    x, w, b = tensor(5, 200, dtype=dtype), tensor(33, 200, dtype=dtype), tensor(33, dtype=dtype)
    tenon.torch.enable_batch_invariant_mode()
    try:
        got = call(x, w, b)
    finally:
        tenon.torch.disable_batch_invariant_mode()
    expected = call(x.double(), w.double(), b.double())
    tolerance = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    torch.testing.assert_close(got.double(), expected.double(), rtol=tolerance, atol=1e-4)


def test_other_types_are_left_to_pytorch(mode):
    a = torch.arange(6).view(2, 3)
    assert torch.equal(torch.mm(a, a.t()), torch.tensor([[5, 14], [14, 50]]))
    b = tensor(3, 4).double()
    assert torch.matmul(b, b.t()).dtype == torch.float64


def test_the_mode_ends():
    x = tensor(3, 100)
    before = torch.mm(x, x.t())
    tenon.torch.enable_batch_invariant_mode()
    tenon.torch.enable_batch_invariant_mode()
    inside = torch.mm(x, x.t())
    assert torch.equal(inside, torch.ops.tenon.matmul_batch_invariant(x, x.t()))
    tenon.torch.disable_batch_invariant_mode()
    tenon.torch.disable_batch_invariant_mode()
    assert torch.equal(torch.mm(x, x.t()), before)


def int8(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-128, 128, shape, dtype=torch.int8, generator=generator)


@pytest.mark.parametrize("m,n,k", [(1, 1, 1), (1, 50, 777), (33, 64, 4096), (18, 7, 64)])
def test_int8_products_are_exact(m, n, k):
    x, w = int8(m, k), int8(n, k, seed=1)
    scale = torch.rand(m, 1) + 0.5, torch.rand(n) + 0.5
    sums = x.long() @ w.long().t()
    expected = sums.float() * (scale[0] * scale[1])
    assert torch.equal(tenon.ops.int8_scaled_mm(x, w, *scale, out_dtype=torch.float32), expected)
    offset = torch.randint(-128, 128, (m, 1), dtype=torch.int32)
    for weight_sum in (None, w.sum(1, dtype=torch.int32)):
        got = tenon.ops.int8_scaled_mm(
            x, w, *scale, out_dtype=torch.bfloat16, x_offset=offset, weight_sum=weight_sum
        )
        exact = (sums - offset * w.long().sum(1)).float() * (scale[0] * scale[1])
        assert torch.equal(got, exact.bfloat16())


def test_w8a8_is_the_chain_of_its_parts():
    for dtype in DTYPES:
        x, w, scale = tensor(2, 9, 300, dtype=dtype), int8(40, 300), torch.rand(40, 1)
        q, s = tenon.ops.dynamic_scaled_int8_quant(x)
        bias = tensor(40)
        expected = tenon.ops.int8_scaled_mm(q, w, s.view(-1, 1), scale, bias, out_dtype=dtype)
        assert torch.equal(tenon.ops.w8a8_dynamic_linear(x, w, scale, bias), expected)
        none = tenon.ops.w8a8_dynamic_linear(x[..., :0], w[:, :0], scale, bias)
        assert torch.equal(none, bias.to(dtype).expand(2, 9, 40))


@pytest.mark.parametrize("out_dtype", DTYPES)
def test_fp8_products(out_dtype):
    x = tensor(17, 256).to(torch.float8_e4m3fn)
    w = tensor(130, 256, seed=1).to(torch.float8_e4m3fn)
    scale = torch.rand(17, 1), torch.rand(130, 1)
    expected = (x.double() @ w.double().t()) * scale[0] * scale[1].t()
    got = tenon.ops.fp8_scaled_mm(x, w, *scale, out_dtype=out_dtype)
    tolerance = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 8e-3}[out_dtype]
    torch.testing.assert_close(got.double(), expected, rtol=tolerance, atol=1e-4)
    x_scale, w_scale = torch.rand(2, 17).t(), torch.rand(2, 2)
    wide = x.double() * x_scale.repeat_interleave(128, 1)
    weight = w.double() * w_scale.repeat_interleave(128, 0)[:130].repeat_interleave(128, 1)
    got = tenon.ops.fp8_blockwise_scaled_mm(x, w, x_scale, w_scale, out_dtype=out_dtype)
    torch.testing.assert_close(got.double(), wide @ weight.t(), rtol=tolerance, atol=1e-4)
