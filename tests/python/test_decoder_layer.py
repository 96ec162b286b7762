"""The decoder layer of a visual encoder against Hugging Face's, with its mask and without one."""

import copy

import pytest
import tenon
import tenon.torch  # noqa: F401
import torch

qwen2 = pytest.importorskip("transformers.models.qwen2.modeling_qwen2")
configuration = pytest.importorskip("transformers").Qwen2Config

# Of DeepSeek-OCR-2's encoder: 896 channels, 14 heads on 2, heads of 64, 4864 wide.
SMALL = dict(hidden_size=96, intermediate_size=200, num_attention_heads=6, num_key_value_heads=2)
WHOLE = dict(hidden_size=896, intermediate_size=4864, num_attention_heads=14, num_key_value_heads=2)


def layer_of(sizes, dtype):
    torch.manual_seed(0)
    config = configuration(**sizes, num_hidden_layers=1, rope_theta=1e6, attn_implementation="sdpa")
    layer = qwen2.Qwen2DecoderLayer(config, 0).eval().requires_grad_(False)
    for name, parameter in layer.named_parameters():
        if "norm" in name:
            parameter.normal_(1, 0.2)
        elif "bias" in name:
            parameter.normal_(0, 0.5)
        else:
            parameter.normal_(0, parameter.shape[1] ** -0.5)
    return layer.to(dtype), qwen2.Qwen2RotaryEmbedding(config), config


def fused(layer, config, x, cos, sin, mask):
    attention, mlp = layer.self_attn, layer.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    return torch.ops.tenon.qwen2_decoder_layer(
        x,
        cos[..., : cos.shape[-1] // 2],
        sin[..., : sin.shape[-1] // 2],
        mask,
        layer.input_layernorm.weight,
        torch.cat([p.weight for p in projections]),
        torch.cat([p.bias for p in projections]),
        attention.o_proj.weight,
        layer.post_attention_layernorm.weight,
        torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]),
        mlp.down_proj.weight,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.rms_norm_eps,
    )


def prefix_mask(batch, length, dtype):
    """Images see each other, the text behind them sees what is before it; one key is padding."""
    types = (torch.arange(length) >= length // 2).long().expand(batch, length)
    keep = torch.ones(batch, length, dtype=torch.long)
    keep[-1, length // 4] = 0
    return tenon.ops.prefix_causal_mask(types, keep, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("sizes, length", [(SMALL, 1), (SMALL, 37), (WHOLE, 70)])
def test_the_layer_is_that_of_transformers(sizes, length, dtype):
    layer, rotary, config = layer_of(sizes, dtype)
    wide = copy.deepcopy(layer).float()
    x = torch.randn(2, length, config.hidden_size).to(dtype)
    positions = torch.arange(length)[None]
    cos, sin = (t.to(dtype) for t in rotary(x, positions))
    for mask in (None, prefix_mask(2, length, dtype)):
        got = fused(layer, config, x, cos[0], sin[0], mask)
        expected = wide(
            x.float(),
            attention_mask=torch.zeros(1, 1, length, length) if mask is None else mask.float(),
            position_embeddings=(cos.float(), sin.float()),
        )
        expected = expected[0] if isinstance(expected, tuple) else expected
        share = 1e-4 if dtype == torch.float32 else 3e-2
        bound = share * expected.abs().max().item()
        torch.testing.assert_close(got.float(), expected, rtol=share, atol=bound)
        tables = (cos.expand(2, -1, -1), sin.expand(2, -1, -1))
        assert torch.equal(fused(layer, config, x, *tables, mask), got)


def test_masks_and_heads_that_do_not_fit_are_refused():
    layer, rotary, config = layer_of(SMALL, torch.float32)
    x = torch.randn(2, 5, 96)
    cos, sin = rotary(x, torch.arange(5)[None])
    with pytest.raises(RuntimeError, match="qwen2_decoder_layer: attn_mask must be"):
        fused(layer, config, x, cos[0], sin[0], torch.zeros(3, 1, 5, 5))
    weights = torch.ones(96), torch.ones(14 * 16, 96), None, torch.ones(96, 96), torch.ones(96)
    with pytest.raises(RuntimeError, match="num_kv_heads must divide num_heads, got 4 and 6"):
        torch.ops.tenon.qwen2_decoder_layer(
            x,
            cos[0, :, :8],
            sin[0, :, :8],
            None,
            *weights,
            torch.ones(8, 96),
            torch.ones(96, 4),
            6,
            4,
        )
