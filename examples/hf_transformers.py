"""Hugging Face models with Tenon's norms, rotary embedding and MLP in place of their own.

    python examples/hf_transformers.py [--tokens 256] [--models llama] [--no-times]

Llama, Qwen3 and Gemma-3 are built from a small configuration with random weights; nothing is
downloaded. For each, the greatest difference of the logits and the times of a prefill and of a
decoded token: eager, torch.compile, Tenon. Needs `transformers`.
"""

import argparse
import statistics
import sys
import time

import tenon.nn
import tenon.torch
import torch
from torch import nn
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

SIZES = {
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 1024,
}
MODELS = {
    "llama": (LlamaForCausalLM, LlamaConfig),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config),
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig),
}
ACTS = {"silu": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
# float32, logits below 1 or so: both sum the same products in another order.
TOLERANCE = 1e-5


class GatedMLP(nn.Module):
    """[..., hidden] -> [..., hidden]: gate and up as one product with the activation in it."""

    def __init__(self, mlp: nn.Module, act: str) -> None:
        super().__init__()
        both = torch.cat((mlp.gate_proj.weight, mlp.up_proj.weight)).detach()
        self.gate_up_weight = nn.Parameter(both, requires_grad=False)
        self.down_weight = mlp.down_proj.weight
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ops = torch.ops.tenon
        y = ops.linear_act_and_mul(x, self.gate_up_weight, None, self.act)
        return ops.linear(y, self.down_weight)


def rotate(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    """apply_rotary_pos_emb of transformers: q, k [batch, heads, tokens, head_dim]; cos, sin [batch,
    tokens, head_dim], both halves equal."""
    half = cos.shape[-1] // 2
    cos, sin = (t[..., :half].expand(q.shape[0], -1, -1) for t in (cos, sin))
    op = torch.ops.tenon.apply_rotary_emb
    return tuple(op(x.transpose(1, 2), cos, sin).transpose(1, 2) for x in (q, k))


def norm_of(module: nn.Module) -> nn.Module:
    if type(module).__name__ == "Gemma3RMSNorm":
        norm = tenon.nn.GemmaRMSNorm(module.weight.numel(), module.eps)
    else:
        norm = tenon.nn.RMSNorm(module.weight.numel(), module.variance_epsilon)
    norm.weight = module.weight
    return norm


def replace(model: nn.Module) -> None:
    """Puts Tenon's modules into the model. The rotation is a function of the model's file: it is
    replaced for every model of that kind."""
    config = model.config
    act = ACTS[getattr(config, "hidden_activation", None) or config.hidden_act]
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__.endswith("RMSNorm"):
                setattr(parent, name, norm_of(child))
            elif name == "mlp":
                setattr(parent, name, GatedMLP(child, act))
    sys.modules[type(model).__module__].apply_rotary_pos_emb = rotate


def build(name: str) -> nn.Module:
    kind, config = MODELS[name]
    torch.manual_seed(0)
    return kind(config(**SIZES)).eval().requires_grad_(False)


def median_ms(call, repeats: int = 9) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def times(model, ids, forward) -> tuple[float, float]:
    """Milliseconds of a prefill and of one more token behind it."""
    past = model(ids, use_cache=True).past_key_values

    def decode():
        forward(ids[:, -1:], past_key_values=past, use_cache=True)
        past.crop(ids.shape[1])

    return median_ms(lambda: forward(ids, use_cache=False)), median_ms(decode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--no-times", action="store_true", help="compare the logits only")
    arguments = parser.parse_args()
    for name in arguments.models:
        model = build(name)
        ids = torch.randint(0, SIZES["vocab_size"], (1, arguments.tokens))
        with torch.inference_mode():
            expected = model(ids).logits
            rows = {}
            if not arguments.no_times:
                rows["eager"] = times(model, ids, model)
                rows["torch.compile"] = times(model, ids, torch.compile(model, dynamic=True))
                torch._dynamo.reset()
            replace(model)
            difference = (model(ids).logits - expected).abs().max().item()
            if not arguments.no_times:
                rows["Tenon"] = times(model, ids, model)
        print(f"{name}: logits differ by at most {difference:.1e} (allowed {TOLERANCE:.0e})")
        for what, (prefill, decode) in rows.items():
            print(f"  {what:14} prefill {prefill:8.2f} ms   token {decode:7.2f} ms", flush=True)
        if not difference <= TOLERANCE:
            raise SystemExit(f"{name}: the logits differ by {difference}")


if __name__ == "__main__":
    main()
