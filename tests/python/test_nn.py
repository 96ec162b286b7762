"""tenon.nn against plain PyTorch, and its constructors against vLLM's."""

import ast
import inspect
import math
import os
import pathlib

import pytest
import tenon.nn
import torch
import torch.nn.functional as F

DTYPES = [torch.float32, torch.bfloat16]
TOLERANCE = {torch.float32: (2e-5, 2e-5), torch.bfloat16: (1.6e-2, 8e-3)}


def close(got, expected):
    rtol, atol = TOLERANCE[got.dtype]
    torch.testing.assert_close(got.float(), expected.float(), rtol=rtol, atol=atol)


def randn(*shape, dtype, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def rms(x, eps):
    return x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_activations(dtype):
    x = randn(3, 5, 64, dtype=dtype)
    gate, up = x.float().chunk(2, -1)
    close(tenon.nn.SiluAndMul()(x), F.silu(gate) * up)
    close(tenon.nn.GeluAndMul()(x), F.gelu(gate) * up)
    close(tenon.nn.GeluAndMul("tanh")(x), F.gelu(gate, approximate="tanh") * up)
    close(tenon.nn.QuickGELU()(x), x.float() * torch.sigmoid(1.702 * x.float()))
    step = F.silu(gate).clamp(max=0.5) * up.clamp(-0.5, 0.5)
    close(tenon.nn.SwigluStepAndMul(0.5)(x), step)
    g, u = gate.clamp(max=1.0), up.clamp(-1.0, 1.0)
    clamped = g * torch.sigmoid(1.5 * g) * (u + 0.5)
    close(tenon.nn.SiluAndMulWithClamp(1.0, 1.5, 0.5)(x), clamped)
    g, u = x[..., ::2].float().clamp(max=1.0), x[..., 1::2].float().clamp(-1.0, 1.0)
    close(tenon.nn.SwigluOAIAndMul(1.5, 1.0)(x), (u + 1) * g * torch.sigmoid(1.5 * g))
    with pytest.raises(ValueError, match="approximate must be none or tanh, got erf"):
        tenon.nn.GeluAndMul("erf")


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(dtype):
    x, residual = randn(4, 96, dtype=dtype), randn(4, 96, dtype=dtype, seed=1)
    total = x + residual
    for module, factor in (
        (tenon.nn.RMSNorm(96, dtype=dtype), lambda w: w),
        (tenon.nn.GemmaRMSNorm(96).to(dtype), lambda w: 1 + w),
        (tenon.nn.RMSNorm(96, has_weight=False), lambda w: 1.0),
    ):
        if module.weight is not None:
            module.weight.copy_(randn(96, dtype=dtype, seed=2))
        weight = factor(module.weight.float() if module.weight is not None else None)
        close(module(x), rms(x, 1e-6) * weight)
        y, kept = module(x, residual)
        assert torch.equal(kept, total)
        close(y, rms(total, 1e-6) * weight)
    part = tenon.nn.RMSNorm(96, var_hidden_size=32, dtype=dtype)
    expected = x.float() * torch.rsqrt(x.float()[:, :32].pow(2).mean(-1, keepdim=True) + 1e-6)
    close(part(x), expected)
    y, kept = part(x, residual)
    assert torch.equal(kept, total) and torch.equal(y, part(total))
    layer = tenon.nn.LayerNorm(96, dtype=dtype)
    layer.weight.copy_(randn(96, dtype=dtype, seed=3))
    expected = F.layer_norm(x.float(), (96,), layer.weight.float(), layer.bias.float())
    close(layer(x), expected)
    assert tenon.nn.LayerNorm(96, elementwise_affine=False).weight is None


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("group", [None, 32])
def test_rms_norm_gated(group, before):
    x, z = randn(4, 96, dtype=torch.float32), randn(4, 96, dtype=torch.float32, seed=1)
    module = tenon.nn.RMSNormGated(96, group_size=group, norm_before_gate=before)
    module.weight.copy_(randn(96, dtype=torch.float32, seed=2))

    def norm(u):
        return rms(u.unflatten(-1, (-1, group or 96)), 1e-5).flatten(-2) * module.weight

    close(module(x, z), norm(x) * F.silu(z) if before else norm(x * F.silu(z)))
    close(module(x), norm(x))


@pytest.mark.parametrize("is_neox", [True, False])
def test_rotary_embedding(is_neox):
    module = tenon.nn.RotaryEmbedding(64, 32, 128, 10000.0, is_neox, torch.float32)
    positions = torch.tensor([0, 127, 5])
    query, key = randn(3, 2 * 64, dtype=torch.float32), randn(3, 64, dtype=torch.float32, seed=1)
    angle = positions[:, None].double() * 10000.0 ** (-torch.arange(0, 32, 2).double() / 32)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]

    def turn(x):
        x = x.view(3, -1, 64).double()
        a, b = (x[..., :16], x[..., 16:32]) if is_neox else (x[..., :32:2], x[..., 1:32:2])
        pair = (a * cos - b * sin, b * cos + a * sin)
        turned = torch.cat(pair, -1) if is_neox else torch.stack(pair, -1).flatten(-2)
        return torch.cat((turned, x[..., 32:]), -1).flatten(1)

    got_query, got_key = module(positions, query, key)
    torch.testing.assert_close(got_query.double(), turn(query), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got_key.double(), turn(key), rtol=1e-5, atol=1e-5)
    alone, none = module(positions, query)
    assert none is None and torch.equal(alone, got_query)
    low = module(positions, query.bfloat16())[0]
    torch.testing.assert_close(low.float(), got_query, rtol=2e-2, atol=5e-2)


def yarn_table(rows, dim, base, factor, context, fast, slow, mscale):
    """[rows, dim] float64: the cosines and sines of YaRN, from its definition."""

    def pair(turns):
        return dim * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), dim - 1)
    ramp = ((torch.arange(dim // 2).double() - low) / (high - low)).clamp(0, 1)
    plain = base ** (-torch.arange(0, dim, 2).double() / dim)
    angle = torch.arange(rows)[:, None].double() * (plain / factor * ramp + plain * (1 - ramp))
    return torch.cat((angle.cos(), angle.sin()), -1) * mscale


def test_tables_of_scaled_rotary_embeddings():
    plain = (64, 64, 128, 10000.0, True)
    yarn = tenon.nn.YaRNScalingRotaryEmbedding(*plain, 4.0, torch.float32)
    expected = yarn_table(512, 64, 10000.0, 4.0, 128, 32, 1, 0.1 * math.log(4.0) + 1)
    torch.testing.assert_close(yarn.cos_sin_cache.double(), expected, rtol=0, atol=1e-4)
    for options, mscale in (
        ({"attention_factor": 0.5}, 0.5),
        ({"mscale": 0.707, "mscale_all_dim": 0.707}, 1.0),
        ({"mscale": 0.707}, 0.1 * math.log(4.0) + 1),
    ):
        module = tenon.nn.YaRNScalingRotaryEmbedding(*plain, 4.0, torch.float32, **options)
        assert module.cos_sin_cache[0, 0].item() == pytest.approx(mscale)
    # Of a context of 2.5 times 127 positions the last is not whole: 318 rows.
    odd = tenon.nn.YaRNScalingRotaryEmbedding(64, 64, 127, 1e4, True, 2.5, torch.float32)
    assert odd.cos_sin_cache.shape == (318, 64)
    deepseek = tenon.nn.DeepseekScalingRotaryEmbedding(
        *plain, 4.0, torch.float32, mscale=2.0, mscale_all_dim=1.0
    )
    mscale = (0.2 * math.log(4.0) + 1) / (0.1 * math.log(4.0) + 1)
    expected = yarn_table(512, 64, 10000.0, 4.0, 128, 32, 1, mscale)
    torch.testing.assert_close(deepseek.cos_sin_cache.double(), expected, rtol=0, atol=1e-4)

    llama = tenon.nn.Llama3RotaryEmbedding(*plain, torch.float32, 8.0, 1.0, 4.0, 64)
    inv_freq = 10000.0 ** (-torch.arange(0, 64, 2).double() / 64)
    share = ((64 * inv_freq / (2 * math.pi) - 1) / 3).clamp(0, 1)
    angle = torch.arange(128)[:, None].double() * inv_freq * (share + (1 - share) / 8)
    expected = torch.cat((angle.cos(), angle.sin()), -1)
    torch.testing.assert_close(llama.cos_sin_cache.double(), expected, rtol=0, atol=1e-4)
    assert 0 < share[share < 1].max() and share.min() == 0 and share.max() == 1


@pytest.mark.parametrize("interleaved", [True, False])
def test_mrotary_embedding(interleaved):
    section = [4, 6, 6]
    module = tenon.nn.MRotaryEmbedding(
        48, 32, 32, 10000.0, True, torch.float32, section, interleaved
    )
    assert module.cos_sin_cache.shape == (128, 32)
    positions = torch.tensor([[0, 3, 127, 9], [5, 1, 0, 9], [2, 2, 64, 9]])
    query, key = randn(4, 96, dtype=torch.float32), randn(4, 48, dtype=torch.float32, seed=1)
    if interleaved:
        axis = [j % 3 if j < 3 * section[j % 3] else 0 for j in range(16)]
    else:
        axis = [0] * 4 + [1] * 6 + [2] * 6
    inv_freq = 10000.0 ** (-torch.arange(0, 32, 2).double() / 32)
    angle = (positions[axis].T.double() * inv_freq)[:, None]

    def turn(x):
        a, b, rest = x.view(4, -1, 48).double().split((16, 16, 16), -1)
        cos, sin = angle.cos(), angle.sin()
        return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1).flatten(1)

    got_query, got_key = module(positions, query, key)
    torch.testing.assert_close(got_query.double(), turn(query), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(got_key.double(), turn(key), rtol=1e-4, atol=1e-4)
    assert module(positions, query)[1] is None
    # A token of text has one position: as without sections.
    text = positions[0]
    plain = tenon.nn.RotaryEmbedding(48, 32, 128, 10000.0, True, torch.float32)
    assert torch.equal(module(text, query)[0], plain(text, query)[0])
    assert torch.equal(module(text.expand(3, -1).clone(), query)[0], plain(text, query)[0])
    yarn = tenon.nn.MRotaryEmbedding(
        48, 32, 32, 10000.0, True, torch.float32, section, positions_factor=1, scaling_factor=4.0
    )
    expected = yarn_table(128, 32, 10000.0, 4.0, 32, 32, 1, 0.1 * math.log(4.0) + 1)
    torch.testing.assert_close(yarn.cos_sin_cache.double(), expected, rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match="sum of mrope_section must be rotary_dim/2 = 16, got"):
        tenon.nn.MRotaryEmbedding(48, 32, 32, 1e4, True, torch.float32, [4, 6, 5])
    bare = tenon.nn.MRotaryEmbedding(48, 32, 32, 1e4, True, torch.float32)
    with pytest.raises(ValueError, match="need an mrope_section"):
        bare(positions, query)


def test_a_model_of_modules_compiles_once_for_every_batch():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = tenon.nn.RMSNorm(64)
            self.up = torch.nn.Linear(64, 256)
            self.act = tenon.nn.SiluAndMul()
            self.down = torch.nn.Linear(128, 64)

        def forward(self, x, residual):
            x, residual = self.norm(x, residual)
            return self.down(self.act(self.up(x))), residual

    block = Block()
    torch._dynamo.reset()
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend="aot_eager")
    with torch.no_grad(), torch._dynamo.config.patch(error_on_recompile=True):
        for tokens in (3, 8, 5):
            x, residual = randn(2, tokens, 64, dtype=torch.float32).unbind()
            for got, want in zip(compiled(x, residual), block(x, residual)):
                torch.testing.assert_close(got, want)


# Whether vLLM has Inductor compile a module by itself: there is nothing here that it could choose.
OF_VLLM_ALONE = {"compile_native", "tp_rank", "tp_size", "quant_method", "parallel_group"}
NOT_OF_EMBEDDINGS = {"VocabParallelEmbedding": {"reduce_results"}}  # the sum is always made
OF_TENON_ALONE = {"group"}
CONSTANTS = {"DEFAULT_VOCAB_PADDING_SIZE": "64"}


def vllm_constructors():
    """{class: its __init__'s arguments with defaults} from vLLM's sources, which are only parsed."""
    root = pathlib.Path(os.environ.get("TENON_VLLM_PATH", ""))
    if not (root / "vllm").exists():
        pytest.skip("TENON_VLLM_PATH does not lead to vLLM's sources")
    found = {}
    for path in (root / "vllm/model_executor/layers").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.ClassDef) or node.name in found:
                continue
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    names = [a.arg for a in item.args.args[1:]]
                    defaults = [ast.unparse(d) for d in item.args.defaults]
                    defaults = [CONSTANTS.get(d, d) for d in defaults]
                    keywords = {
                        a.arg: ast.unparse(d)
                        for a, d in zip(item.args.kwonlyargs, item.args.kw_defaults)
                        if d is not None
                        and a.arg not in OF_VLLM_ALONE | NOT_OF_EMBEDDINGS.get(node.name, set())
                    }
                    found[node.name] = names, defaults, keywords
    return found


def test_constructors_are_those_of_vllm():
    theirs = vllm_constructors()
    for name in tenon.nn.__all__:
        signature = inspect.signature(getattr(tenon.nn, name)).parameters.values()
        ours = [p for p in signature if p.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
        names, defaults, keywords = theirs.get(name, ([], [], {}))
        assert [p.name for p in ours] == names, name
        given = [repr(p.default) for p in ours if p.default is not inspect.Parameter.empty]
        assert given == defaults, name
        only = {
            p.name: repr(p.default)
            for p in signature
            if p.kind == inspect.Parameter.KEYWORD_ONLY and p.name not in OF_TENON_ALONE
        }
        assert only == keywords, name
