"""Every operator against plain PyTorch: an implementation that shares no line with Tenon's."""

import pytest
import tenon
import torch
import torch.nn.functional as F

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {
    torch.float32: (2e-5, 2e-5),
    torch.float16: (2e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 8e-3),
}


def tensor(*shape, dtype, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * scale).to(dtype)


def close(got, expected, dtype):
    rtol, atol = TOLERANCE[dtype]
    torch.testing.assert_close(got.float(), expected.float(), rtol=rtol, atol=atol)


def rms(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def rotate(x, cos, sin, is_neox):
    """x [tokens, heads, dim], cos and sin [tokens, half]; the leading 2*half of dim turn."""
    half = cos.shape[-1]
    cos, sin = cos[:, None].float(), sin[:, None].float()
    turned, rest = x[..., : 2 * half].float(), x[..., 2 * half :].float()
    if is_neox:
        a, b = turned[..., :half], turned[..., half:]
        turned = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    else:
        a, b = turned[..., 0::2], turned[..., 1::2]
        turned = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    return torch.cat([turned, rest], -1)


def table(rows, rotary, dtype):
    angle = torch.arange(rows)[:, None] * 10000.0 ** (-torch.arange(0, rotary, 2) / rotary)
    return torch.cat([angle.cos(), angle.sin()], -1).to(dtype)


ACTIVATIONS = {
    "silu_and_mul": lambda g, u: F.silu(g) * u,
    "gelu_and_mul": lambda g, u: F.gelu(g) * u,
    "gelu_tanh_and_mul": lambda g, u: F.gelu(g, approximate="tanh") * u,
    "swiglustep_and_mul": lambda g, u: F.silu(g).clamp(max=7.0) * u.clamp(-7.0, 7.0),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 3, 64, 100, 3072])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gated_activations(name, width, dtype):
    x = tensor(5, 2 * width, dtype=dtype, scale=4.0)
    gate, up = x.float().chunk(2, -1)
    close(getattr(tenon.ops, name)(x), ACTIVATIONS[name](gate, up), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_swigluoai_reads_interleaved_pairs(dtype):
    x = tensor(5, 200, dtype=dtype, scale=6.0)
    gate, up = x[..., 0::2].float().clamp(max=7.0), x[..., 1::2].float().clamp(-7.0, 7.0)
    expected = (up + 1) * gate * torch.sigmoid(1.702 * gate)
    close(tenon.ops.swigluoai_and_mul(x), expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu_quick(dtype):
    x = tensor(3, 77, dtype=dtype, scale=5.0)
    close(tenon.ops.gelu_quick(x), x.float() * torch.sigmoid(1.702 * x.float()), dtype)


ACTS = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("act", ACTS)
def test_act_and_mul(act, dtype):
    gate, up = tensor(5, 77, dtype=dtype, scale=3.0), tensor(77, 5, dtype=dtype, seed=1).t()
    close(tenon.ops.act_and_mul(gate, up, act), ACTS[act](gate.float()) * up.float(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_silu_and_mul_with_clamp(dtype):
    x = tensor(5, 200, dtype=dtype, scale=6.0)
    gate, up = x.float().chunk(2, -1)
    gate, up = gate.clamp(max=7.0), up.clamp(-7.0, 7.0)
    expected = gate * torch.sigmoid(1.5 * gate) * (up + 0.5)
    close(tenon.ops.silu_and_mul_with_clamp(x, 7.0, 1.5, 0.5), expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("b", [(5, 77), (77,), (5, 1), (1,), ()])
@pytest.mark.parametrize("c", [(5, 77), (1, 77), (5, 1)])
def test_mul_add_broadcasts(b, c, dtype):
    x, m, a = (tensor(*s, dtype=dtype, seed=i) for i, s in enumerate([(5, 77), b, c]))
    close(tenon.ops.mul_add(x, m, a), x.float() * m.float() + a.float(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_muls_add(dtype):
    x, y = tensor(5, 77, dtype=dtype), tensor(5, 77, dtype=dtype, seed=1)
    close(tenon.ops.muls_add(x, y, 2.5), x.float() * 2.5 + y.float(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemma_fused_add_rms_norm(dtype):
    x, r, w = (tensor(*s, dtype=dtype, seed=i) for i, s in enumerate([(7, 65), (7, 65), (65,)]))
    y, total = tenon.ops.gemma_fused_add_rms_norm(x, r, w)
    assert torch.equal(total, x + r)
    close(y, rms(total.float(), 1e-6) * (1 + w.float()), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hidden", [1, 65, 128, 4096])
def test_norms(hidden, dtype):
    x, w, b = (
        tensor(*s, dtype=dtype, seed=i) for i, s in enumerate([(7, hidden), (hidden,), (hidden,)])
    )
    close(tenon.ops.rms_norm(x, w, 1e-6), rms(x.float(), 1e-6) * w.float(), dtype)
    close(tenon.ops.gemma_rms_norm(x, w), rms(x.float(), 1e-6) * (1 + w.float()), dtype)
    close(
        tenon.ops.layer_norm(x, w, b),
        F.layer_norm(x.float(), (hidden,), w.float(), b.float()),
        dtype,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_add_rms_norm_functional_and_in_place(dtype):
    x, residual, w = (
        tensor(4, 96, dtype=dtype),
        tensor(4, 96, dtype=dtype, seed=1),
        tensor(96, dtype=dtype, seed=2),
    )
    total = x + residual
    y, s = tenon.ops.fused_add_rms_norm(x, residual, w)
    assert torch.equal(s, total)
    close(y, rms(total.float(), 1e-6) * w.float(), dtype)
    tenon.ops.fused_add_rms_norm_(x, residual, w)
    assert torch.equal(x, y) and torch.equal(residual, s)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("before", [True, False])
def test_rms_norm_gated(before, dtype):
    x, z, w = (
        tensor(6, 256, dtype=dtype),
        tensor(6, 256, dtype=dtype, seed=1),
        tensor(256, dtype=dtype, seed=2),
    )
    g = x.float().view(6, 2, 128)
    a = F.silu(z.float())
    if before:
        expected = rms(g, 1e-5).view(6, 256) * w.float() * a
    else:
        expected = rms(g * a.view(6, 2, 128), 1e-5).view(6, 256) * w.float()
    got = tenon.ops.rms_norm_gated(x, w, z, group_size=128, norm_before_gate=before)
    close(got, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("before", [True, False])
def test_layer_norm_gated(before, dtype):
    x, z = tensor(6, 256, dtype=dtype), tensor(6, 256, dtype=dtype, seed=1)
    w, b = tensor(256, dtype=dtype, seed=2), tensor(256, dtype=dtype, seed=3)

    def norm(u):
        return F.layer_norm(u.view(6, 2, 128), (128,)).view(6, 256) * w.float() + b.float()

    a = F.silu(z.float())
    expected = norm(x.float()) * a if before else norm(x.float() * a)
    got = tenon.ops.layer_norm_gated(x, w, b, z, group_size=128, norm_before_gate=before)
    close(got, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_int8_quantisation(dtype):
    x = tensor(9, 300, dtype=dtype, scale=3.0)
    q, scale = tenon.ops.dynamic_scaled_int8_quant(x)
    expected_scale = x.float().abs().amax(-1, keepdim=True) / 127
    torch.testing.assert_close(scale, expected_scale, rtol=1e-6, atol=0)
    assert torch.equal(q, torch.round(x.float() / scale).clamp(-128, 127).to(torch.int8))
    fixed = torch.tensor([0.05])
    assert torch.equal(
        tenon.ops.static_scaled_int8_quant(x, fixed),
        torch.round(x.float() / fixed).clamp(-128, 127).to(torch.int8),
    )


F8 = torch.float8_e4m3fn


def to_f8(x):
    return x.clamp(-448, 448).to(F8)


def same_f8(got, expected):
    assert got.dtype == F8
    assert torch.equal(got.float(), expected.float())


@pytest.mark.parametrize("dtype", DTYPES)
def test_fp8_quantisation(dtype):
    x = tensor(9, 300, dtype=dtype, scale=3.0)
    q, scale = tenon.ops.dynamic_per_token_scaled_fp8_quant(x)
    expected = x.float().abs().amax(-1, keepdim=True) / 448
    torch.testing.assert_close(scale, expected, rtol=0, atol=0)
    same_f8(q, to_f8(x.float() / scale))
    cap = torch.tensor([1.5])
    q, scale = tenon.ops.dynamic_per_token_scaled_fp8_quant(x, cap)
    assert torch.equal(scale, (x.float().abs().amax(-1, keepdim=True).clamp(max=1.5)) / 448)
    same_f8(q, to_f8(x.float() / scale))
    q, scale = tenon.ops.dynamic_scaled_fp8_quant(x)
    assert torch.equal(scale, x.float().abs().amax().reshape(1) / 448)
    same_f8(q, to_f8(x.float() / scale))
    fixed = torch.rand(300) + 0.01
    same_f8(tenon.ops.static_scaled_fp8_quant(x, fixed), to_f8(x.float() / fixed))
    same_f8(tenon.ops.quantize(x, fixed, dtype=F8), to_f8(x.float() / fixed))
    offset = torch.randint(-20, 20, (300,), dtype=torch.int32)
    assert torch.equal(
        tenon.ops.quantize(x, fixed, offset, dtype=torch.int8),
        (torch.round(x.float() / fixed) + offset).clamp(-128, 127).to(torch.int8),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ue8m0", [True, False])
@pytest.mark.parametrize("columns", [True, False])
def test_group_quantisation(columns, ue8m0, dtype):
    x = tensor(9, 512, dtype=dtype, scale=3.0)
    q, scale = tenon.ops.per_token_group_quant_fp8(
        x, scale_ue8m0=ue8m0, column_major_scales=columns
    )
    groups = x.float().view(9, 4, 128)
    expected = groups.abs().amax(-1) / 448
    if ue8m0:
        expected = torch.exp2(torch.ceil(torch.log2(expected)))
    assert torch.equal(scale, expected)
    assert scale.stride() == ((1, 12) if columns else (4, 1))
    same_f8(q.view(9, 4, 128), to_f8(groups / scale[..., None]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("quantised", [torch.int8, F8])
def test_fused_quantisation_equals_its_parts(quantised, dtype):
    x, r, w = (tensor(*s, dtype=dtype, seed=i) for i, s in enumerate([(9, 320), (9, 320), (320,)]))
    ops, scale = tenon.ops, torch.rand(320) + 0.01
    per_token = {
        torch.int8: ops.dynamic_scaled_int8_quant,
        F8: ops.dynamic_per_token_scaled_fp8_quant,
    }[quantised]

    def same(got, expected):
        for a, b in zip(got, expected):
            assert torch.equal(a.float(), b.float())

    n, total = ops.fused_add_rms_norm(x, r, w)
    fused = ops.fused_add_rms_norm_dynamic_per_token_quant(x, r, w, dtype=quantised)
    same(fused, (*per_token(n), total))
    fused = ops.fused_add_rms_norm_static_quant(x, r, w, scale, dtype=quantised)
    same(fused, (ops.quantize(n, scale, dtype=quantised), total))
    fused = ops.rms_norm_static_quant(x, w, scale, dtype=quantised)
    same([fused], [ops.quantize(ops.rms_norm(x, w), scale, dtype=quantised)])
    h = ops.silu_and_mul(x)
    same(
        [ops.silu_and_mul_quant(x, scale[:160], dtype=quantised)],
        [ops.quantize(h, scale[:160], dtype=quantised)],
    )
    q, s = ops.swiglu_quant(x, torch.tensor([2, 0, 5]), dtype=quantised)
    expected_q, expected_s = per_token(h)
    same((q[:7], s[:7]), (expected_q[:7], expected_s[:7, 0]))
    same(
        ops.fused_add_rms_norm_per_block_quant(x, r, w, group_size=64),
        (*ops.per_token_group_quant_fp8(n, 64), total),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_norm_then_quant_equals_the_fused_operator(dtype):
    x, w = tensor(9, 320, dtype=dtype), tensor(320, dtype=dtype, seed=1)
    q, scale = tenon.ops.rms_norm_dynamic_per_token_quant(x, w, dtype=torch.int8)
    q2, scale2 = tenon.ops.dynamic_scaled_int8_quant(tenon.ops.rms_norm(x, w))
    assert torch.equal(q, q2) and torch.equal(scale, scale2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_neox", [True, False])
@pytest.mark.parametrize("dim,rotary", [(128, 128), (96, 96), (64, 32), (256, 64)])
def test_rotary_embedding(dim, rotary, is_neox, dtype):
    q, k = tensor(5, 6, dim, dtype=dtype), tensor(5, 2, dim, dtype=dtype, seed=1)
    cache, positions = table(64, rotary, dtype), torch.tensor([0, 63, 7, 7, 1])
    cos, sin = cache[positions].chunk(2, -1)
    got_q, got_k = tenon.ops.rotary_embedding(
        positions, q.reshape(5, -1), k.reshape(5, -1), dim, cache, is_neox
    )
    close(got_q.view_as(q), rotate(q, cos, sin, is_neox), dtype)
    close(got_k.view_as(k), rotate(k, cos, sin, is_neox), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_neox", [True, False])
def test_split_qkv_rmsnorm_rope(is_neox, dtype):
    heads, kv_heads, dim = 4, 2, 64
    qkv = tensor(7, (heads + 2 * kv_heads) * dim, dtype=dtype)
    qw, kw = tensor(dim, dtype=dtype, seed=1), tensor(dim, dtype=dtype, seed=2)
    cache, positions = table(32, dim, dtype), torch.arange(7)
    cos, sin = cache[positions].chunk(2, -1)
    q, k, v = qkv.split([heads * dim, kv_heads * dim, kv_heads * dim], -1)
    got = tenon.ops.split_qkv_rmsnorm_rope(
        qkv, cache, positions, qw, kw, heads, kv_heads, dim, is_neox=is_neox
    )
    for part, weight, out in ((q, qw, got[0]), (k, kw, got[1])):
        x = part.view(7, -1, dim)
        normed = (rms(x.float(), 1e-6) * weight.float()).to(dtype)
        close(out.view_as(x), rotate(normed, cos, sin, is_neox), dtype)
    assert torch.equal(got[2], v)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_neox", [True, False])
def test_apply_rotary_emb(is_neox, dtype):
    x, cos, sin = tensor(5, 6, 80, dtype=dtype), *table(5, 80, torch.float32).chunk(2, -1)
    expected = rotate(x, cos, sin, is_neox)
    close(tenon.ops.apply_rotary_emb(x, cos, sin, is_neox), expected, dtype)
    tenon.ops.apply_rotary_emb_(x, cos, sin, is_neox)
    close(x, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interleaved", [True, False])
def test_mrope(interleaved, dtype):
    """The selection of angles as transformers writes it for Qwen2.5-VL and Qwen3-VL."""
    sections, dim = [24, 20, 20], 128
    q, k = tensor(7, 6, dim, dtype=dtype), tensor(7, 2, dim, dtype=dtype, seed=1)
    cache = table(50, dim, torch.float32)
    positions = torch.randint(0, 50, (3, 7), generator=torch.Generator().manual_seed(0))
    cos, sin = cache[positions].chunk(2, -1)
    if interleaved:
        chosen = []
        for values in (cos, sin):
            merged = values[0].clone()
            for axis, offset in ((1, 1), (2, 2)):
                merged[:, offset : 3 * sections[axis] : 3] = values[
                    axis, :, offset : 3 * sections[axis] : 3
                ]
            chosen.append(merged)
    else:
        chosen = [
            torch.cat([part[i] for i, part in enumerate(values.split(sections, -1))], -1)
            for values in (cos, sin)
        ]
    got = tenon.ops.mrope(
        positions, q, k, dim, cache, sections, True, mrope_interleaved=interleaved
    )
    close(got[0], rotate(q, *chosen, True), dtype)
    close(got[1], rotate(k, *chosen, True), dtype)


def test_frequency_tables():
    base, dim = 500000.0, 128
    power = base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    got = torch.as_tensor(tenon.ops.rope_inv_freq(dim, base))
    torch.testing.assert_close(got, (1 / power).float(), rtol=1e-6, atol=0)
    inv, low, high, factor, context = 1 / power, 1.0, 4.0, 8.0, 8192
    wave = 2 * torch.pi / inv
    share = (context / wave - low) / (high - low)
    mixed = (1 - share) * inv / factor + share * inv
    expected = torch.where(wave < context / high, inv, mixed)
    expected = torch.where(wave > context / low, inv / factor, expected).float()
    got = torch.as_tensor(tenon.ops.llama3_inv_freq(dim, base, factor, low, high, context))
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_log_softmax(dim, dtype):
    x = tensor(4, 9, 33, dtype=dtype, scale=4.0)
    close(tenon.ops.log_softmax_batch_invariant(x, dim), torch.log_softmax(x.float(), dim), dtype)


def test_vocab_parallel_embedding():
    weight = tensor(8, 5, dtype=torch.bfloat16)
    ids = torch.tensor([[4, 7, 20], [0, -1, 21]])
    shards = [(0, 4, 0, 20, 21), (4, 8, 0, 21, 22)]
    parts = [weight[:4], weight[4:]]
    whole = torch.cat([weight, tensor(2, 5, dtype=torch.bfloat16, seed=1)])
    parts = [torch.cat([part, whole[8 + i : 9 + i]]) for i, part in enumerate(parts)]
    total = sum(tenon.ops.vocab_parallel_embedding(ids, w, *s) for w, s in zip(parts, shards))
    rows = torch.tensor([[4, 7, 8], [0, 0, 9]])
    expected = whole[rows]
    expected[1, 1] = 0
    assert torch.equal(total, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_softmax(dim, dtype):
    x = tensor(4, 9, 33, dtype=dtype, scale=4.0)
    close(tenon.ops.softmax_batch_invariant(x, dim), torch.softmax(x.float(), dim), dtype)


def test_a_refused_call_names_operator_and_argument():
    with pytest.raises(
        RuntimeError, match=r"rms_norm: weight must be \[64\] like x's last axis, got \[63\]"
    ):
        tenon.ops.rms_norm(torch.ones(2, 64), torch.ones(63))
    with pytest.raises(AttributeError, match="rms_norm"):
        tenon.ops.rms_nrom  # noqa: B018


LINEAR_ACTS = {
    "none": lambda x: x,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "sigmoid": torch.sigmoid,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [0, 1, 2, 15, 16, 17, 64, 255])
def test_linear(rows, dtype):
    n, k = 100, 67
    x = tensor(rows, k, dtype=dtype)
    weight = tensor(n, k, dtype=dtype, seed=1, scale=k**-0.5)
    bias = tensor(n, dtype=torch.float32, seed=2)
    residual = tensor(rows, n, dtype=dtype, seed=3)
    plain = x.double() @ weight.double().T
    turned = weight.t().contiguous().t()
    for w in (weight, turned, torch.cat([weight, weight], 1)[:, :k]):
        close(tenon.ops.linear(x, w), plain, dtype)
        close(tenon.ops.linear(x, w, bias), plain + bias.double(), dtype)
    close(tenon.ops.linear(x[:, :0], weight[:, :0], bias), bias.expand(rows, n), dtype)
    added = plain + bias.double() + residual.double()
    close(tenon.ops.linear_add(x, weight, residual, bias), added, dtype)
    for act, function in LINEAR_ACTS.items():
        close(tenon.ops.linear_act(x, weight, bias, act), function(plain + bias.double()), dtype)
    gate, up = (plain + bias.double()).chunk(2, -1)
    close(tenon.ops.linear_act_and_mul(x, weight, bias), F.silu(gate) * up, dtype)
    pairs = (plain + bias.double()).unflatten(-1, (n // 2, 2))
    gate, up = pairs[..., 0].clamp(max=7), pairs[..., 1].clamp(-7, 7)
    expected = (up + 1) * gate * torch.sigmoid(1.702 * gate)
    close(tenon.ops.linear_act_and_mul(x, weight, bias, "swigluoai"), expected, dtype)
