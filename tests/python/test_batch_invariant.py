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
    "mean": lambda x, w, b: x.mean(-1, keepdim=True),
    "mean.out": lambda x, w, b: out_form(torch.mean)(x, [-1])[:, None],
    "mean of columns": lambda x, w, b: x.t().contiguous().mean(0)[:, None],
    "mean of matrices": lambda x, w, b: x.view(-1, 10, 20).mean((1, 2))[:, None],
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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [[], [0], [1], [2], [-1, 0], [0, 1], [2, 1], [2, 0, 1]])
def test_means_are_those_of_pytorch(dim, dtype):
    mean = torch.ops.tenon.mean_batch_invariant
    x = tensor(5, 131, 70, dtype=dtype)
    dense = mean(x, dim)
    tolerance = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    expected = x.double().mean(dim or None)
    torch.testing.assert_close(dense.double(), expected, rtol=tolerance, atol=1e-5)
    assert torch.equal(mean(x, dim, True), x.mean(dim or (0, 1, 2), True).copy_(mean(x, dim, True)))
    for turned in (x.transpose(0, 1).contiguous().transpose(0, 1), x.mT.contiguous().mT):
        assert torch.equal(mean(turned, dim), dense)
    wide = torch.zeros(5, 131, 143, dtype=dtype)[..., 1:141:2].copy_(x)
    assert torch.equal(mean(wide, dim), dense)
    in_float = mean(x, dim, dtype=torch.float32)
    assert in_float.dtype == torch.float32 and torch.equal(in_float.to(dtype), dense)


def test_means_of_integers_of_nothing_and_of_a_number():
    mean = torch.ops.tenon.mean_batch_invariant
    for dtype in (torch.int8, torch.int32, torch.int64, torch.bool):
        x = torch.arange(24).view(4, 6).remainder(5).to(dtype)
        expected = x.double().mean(0)
        assert torch.equal(mean(x, [0]), expected.float())
        assert torch.equal(mean(x, [0], dtype=torch.bfloat16), expected.bfloat16())
    assert mean(torch.ones(3, 0), [1]).isnan().all()
    assert mean(torch.ones(3, 0), [0]).shape == (0,)
    assert mean(torch.ones(0), []).isnan()
    assert torch.equal(mean(torch.tensor(2.5), [0]), torch.tensor(2.5))
    assert torch.equal(mean(torch.full((49,), 0.3), [0]), torch.tensor(0.3))
    for dim, text in (
        [[2], "dim must be in [-2, 1] for 2 axes, got 2"],
        [[0, -2], "dim must name each axis once, got [0, -2]"],
    ):
        with pytest.raises(RuntimeError) as refused:
            mean(torch.ones(2, 3), dim)
        assert str(refused.value) == f"mean_batch_invariant: {text}"


def test_other_types_are_left_to_pytorch(mode):
    a = torch.arange(6).view(2, 3)
    assert torch.equal(torch.mm(a, a.t()), torch.tensor([[5, 14], [14, 50]]))
    b = tensor(3, 4).double()
    assert torch.matmul(b, b.t()).dtype == torch.float64
    assert torch.mean(b, 0).dtype == torch.float64
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        torch.mean(a, 0)


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
