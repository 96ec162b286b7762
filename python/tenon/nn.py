"""Modules of Tenon's operators with the names and constructor arguments that users of vLLM know.

For inference: parameters do not ask for gradients. Leading axes are free wherever a shape begins
with "...". Where a norm is given a residual, it returns (normed, x + residual), both fresh.
"""

import torch
from torch import Tensor, nn

import tenon.torch  # registers the operators
from tenon._linear import (
    ColumnParallelLinear,
    MergedColumnParallelLinear,
    QKVParallelLinear,
    ReplicatedLinear,
    RowParallelLinear,
)
from tenon._rotary import (
    DeepseekScalingRotaryEmbedding,
    Llama3RotaryEmbedding,
    MRotaryEmbedding,
    RotaryEmbedding,
    YaRNScalingRotaryEmbedding,
)
from tenon._vocabulary import ParallelLMHead, VocabParallelEmbedding

__all__ = [
    "ColumnParallelLinear",
    "DeepseekScalingRotaryEmbedding",
    "GeluAndMul",
    "GemmaRMSNorm",
    "LayerNorm",
    "Llama3RotaryEmbedding",
    "MRotaryEmbedding",
    "MergedColumnParallelLinear",
    "ParallelLMHead",
    "QKVParallelLinear",
    "QuickGELU",
    "RMSNorm",
    "RMSNormGated",
    "ReplicatedLinear",
    "RotaryEmbedding",
    "RowParallelLinear",
    "SiluAndMul",
    "SiluAndMulWithClamp",
    "SwigluOAIAndMul",
    "SwigluStepAndMul",
    "VocabParallelEmbedding",
    "YaRNScalingRotaryEmbedding",
]

_ops = tenon.torch.ops


def _parameter(size: int, value: float, dtype=None, device=None) -> nn.Parameter:
    return nn.Parameter(torch.full((size,), value, dtype=dtype, device=device), requires_grad=False)


class SiluAndMul(nn.Module):
    """[..., 2*d] -> [..., d]: silu(x[..., :d]) * x[..., d:]."""

    def forward(self, x: Tensor) -> Tensor:
        return _ops.silu_and_mul(x)


class GeluAndMul(nn.Module):
    """[..., 2*d] -> [..., d]: gelu(x[..., :d]) * x[..., d:].

    approximate: "none" (erf) or "tanh".
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GeluAndMul: approximate must be none or tanh, got {approximate}")
        self.approximate = approximate
        self._op = _ops.gelu_and_mul if approximate == "none" else _ops.gelu_tanh_and_mul

    def forward(self, x: Tensor) -> Tensor:
        return self._op(x)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class QuickGELU(nn.Module):
    """[..., width] -> [..., width]: x * sigmoid(1.702 * x)."""

    def forward(self, x: Tensor) -> Tensor:
        return _ops.gelu_quick(x)


class SiluAndMulWithClamp(nn.Module):
    """[..., 2*d] -> [..., d]: with g = min(x[..., :d], swiglu_limit) and u = clamp(x[..., d:],
    -swiglu_limit, swiglu_limit), g * sigmoid(alpha * g) * (u + beta)."""

    def __init__(self, swiglu_limit: float, alpha: float = 1.0, beta: float = 0.0) -> None:
        super().__init__()
        self.swiglu_limit = float(swiglu_limit)
        self.alpha = float(alpha)
        self.beta = float(beta)

    def forward(self, x: Tensor) -> Tensor:
        return _ops.silu_and_mul_with_clamp(x, self.swiglu_limit, self.alpha, self.beta)

    def extra_repr(self) -> str:
        return f"swiglu_limit={self.swiglu_limit}, alpha={self.alpha}, beta={self.beta}"


class SwigluOAIAndMul(nn.Module):
    """[..., 2*d] -> [..., d], gate and up interleaved: with g = x[..., 0::2], u = x[..., 1::2],
    (clamp(u, -limit, limit) + 1) * g * sigmoid(alpha * g), g at most limit."""

    def __init__(self, alpha: float = 1.702, limit: float = 7.0) -> None:
        super().__init__()
        self.alpha = alpha
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        return _ops.swigluoai_and_mul(x, self.alpha, self.limit)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}, limit={self.limit}"


class SwigluStepAndMul(nn.Module):
    """[..., 2*d] -> [..., d]: min(silu(x[..., :d]), limit) * clamp(x[..., d:], -limit, limit)."""

    def __init__(self, limit: float = 7.0) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        return _ops.swiglustep_and_mul(x, self.limit)

    def extra_repr(self) -> str:
        return f"limit={self.limit}"


class RMSNorm(nn.Module):
    """[..., hidden_size] -> the same: x / sqrt(mean(x^2) + eps) * weight.

    weight: [hidden_size], or none with has_weight=False. var_hidden_size: the mean is taken over so
    many leading channels.
    """

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-6,
        var_hidden_size: int | None = None,
        has_weight: bool = True,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.variance_epsilon = eps
        self.variance_size_override = None if var_hidden_size == hidden_size else var_hidden_size
        self.has_weight = has_weight
        self.weight = _parameter(hidden_size, 1.0, dtype) if has_weight else None

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        size = self.variance_size_override
        if residual is None:
            return _ops.rms_norm(x, self.weight, self.variance_epsilon, variance_size=size)
        if size is None:
            return _ops.fused_add_rms_norm(x, residual, self.weight, self.variance_epsilon)
        total = x + residual
        return _ops.rms_norm(total, self.weight, self.variance_epsilon, variance_size=size), total

    def extra_repr(self) -> str:
        return f"hidden_size={self.hidden_size}, eps={self.variance_epsilon}"


class GemmaRMSNorm(nn.Module):
    """[..., hidden_size] -> the same: x / sqrt(mean(x^2) + eps) * (1 + weight).

    weight: [hidden_size]. 1 is added in float32.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = _parameter(hidden_size, 0.0)
        self.variance_epsilon = eps

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        if residual is None:
            return _ops.gemma_rms_norm(x, self.weight, self.variance_epsilon)
        return _ops.gemma_fused_add_rms_norm(x, residual, self.weight, self.variance_epsilon)

    def extra_repr(self) -> str:
        return f"hidden_size={self.weight.numel()}, eps={self.variance_epsilon}"


class LayerNorm(nn.Module):
    """[..., hidden_size] -> the same: (x - mean(x)) / sqrt(var(x) + eps) * weight + bias.

    weight, bias: [hidden_size], each there or not.
    """

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (hidden_size,)
        self.eps = eps
        self.weight = _parameter(hidden_size, 1.0, dtype) if elementwise_affine else None
        self.bias = _parameter(hidden_size, 0.0, dtype) if elementwise_affine and bias else None

    def forward(self, x: Tensor) -> Tensor:
        return _ops.layer_norm(x, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"hidden_size={self.normalized_shape[0]}, eps={self.eps}"


class RMSNormGated(nn.Module):
    """[..., hidden_size] -> the same, by groups of group_size channels (default: all): with a gate z
    of x's shape, norm(x) * act(z) when norm_before_gate, else norm(x * act(z)).

    weight: [hidden_size]. activation: "swish", "silu" or "sigmoid".
    """

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        group_size: int | None = None,
        norm_before_gate: bool = False,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
        activation: str = "swish",
    ) -> None:
        super().__init__()
        self.eps = eps
        self.activation = activation
        self.weight = _parameter(hidden_size, 1.0, dtype, device)
        self.register_parameter("bias", None)
        self.group_size = group_size
        self.norm_before_gate = norm_before_gate

    def forward(self, x: Tensor, z: Tensor | None = None) -> Tensor:
        return _ops.rms_norm_gated(
            x,
            self.weight,
            z,
            self.eps,
            group_size=self.group_size,
            norm_before_gate=self.norm_before_gate,
            act=self.activation,
        )

    def extra_repr(self) -> str:
        return f"hidden_size={self.weight.numel()}, eps={self.eps}, group_size={self.group_size}"
