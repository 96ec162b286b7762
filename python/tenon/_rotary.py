"""The rotary embeddings of tenon.nn."""

import math

import torch
from torch import Tensor, nn

import tenon.torch

_ops = tenon.torch.ops


class RotaryEmbedding(nn.Module):
    """Rotates the first rotary_dim channels of every head by the angle of its token's position.

    positions: [...], query: [..., heads*head_size] or [..., heads, head_size], key: likewise or
    None; returns fresh (query, key). cos_sin_cache: [max_position_embeddings, rotary_dim], cosines
    then sines, in dtype.
    """

    def __init__(
        self,
        head_size: int,
        rotary_dim: int,
        max_position_embeddings: int,
        base: float,
        is_neox_style: bool,
        dtype: torch.dtype,
        init_cache: bool = True,
    ) -> None:
        super().__init__()
        self.head_size = head_size
        self.rotary_dim = rotary_dim
        self.max_position_embeddings = max_position_embeddings
        self.base = base
        self.is_neox_style = is_neox_style
        self.dtype = dtype
        if init_cache:
            cache = self._compute_cos_sin_cache().to(dtype)
            self.register_buffer("cos_sin_cache", cache, persistent=False)

    def _compute_inv_freq(self, base: float) -> Tensor:
        """[rotary_dim/2] float32, rounded once from float64."""
        exponent = torch.arange(0, self.rotary_dim, 2, dtype=torch.float64) / self.rotary_dim
        return (1.0 / base**exponent).float()

    def _compute_cos_sin_cache(self) -> Tensor:
        """[max_position_embeddings, rotary_dim] float32."""
        positions = torch.arange(self.max_position_embeddings, dtype=torch.float32)
        angles = torch.outer(positions, self._compute_inv_freq(self.base))
        return torch.cat((angles.cos(), angles.sin()), -1)

    def _cache_for(self, query: Tensor) -> Tensor:
        cache = self.cos_sin_cache
        if cache.dtype != torch.float32 and cache.dtype != query.dtype:
            cache = cache.to(query.dtype)
        return cache

    def forward(
        self, positions: Tensor, query: Tensor, key: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        turned, turned_key = _ops.rotary_embedding(
            positions, query, key, self.head_size, self._cache_for(query), self.is_neox_style
        )
        return turned, turned_key if key is not None else None

    def extra_repr(self) -> str:
        return (
            f"head_size={self.head_size}, rotary_dim={self.rotary_dim}, "
            f"max_position_embeddings={self.max_position_embeddings}, base={self.base}, "
            f"is_neox_style={self.is_neox_style}"
        )


class Llama3RotaryEmbedding(RotaryEmbedding):
    """RotaryEmbedding whose long wavelengths are stretched by scaling_factor: those above
    orig_max_position / low_freq_factor wholly, those below orig_max_position / high_freq_factor
    not at all. Shapes as there."""

    def __init__(
        self,
        head_size: int,
        rotary_dim: int,
        max_position_embeddings: int,
        base: float,
        is_neox_style: bool,
        dtype: torch.dtype,
        scaling_factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        orig_max_position: int,
    ) -> None:
        self._scaling = (scaling_factor, low_freq_factor, high_freq_factor, orig_max_position)
        super().__init__(head_size, rotary_dim, max_position_embeddings, base, is_neox_style, dtype)

    def _compute_inv_freq(self, base: float) -> Tensor:
        return _ops.llama3_inv_freq(self.rotary_dim, base, *self._scaling)


def _attention_factor(
    scale: float, mscale: float | None, mscale_all_dim: float | None, given: float | None
) -> float:
    if given is not None:
        return float(given)
    if mscale and mscale_all_dim:
        return _ops.yarn_get_mscale(scale, mscale) / _ops.yarn_get_mscale(scale, mscale_all_dim)
    return _ops.yarn_get_mscale(scale, 1.0)


class YaRNScalingRotaryEmbedding(RotaryEmbedding):
    """RotaryEmbedding for scaling_factor times the context that the model was trained with.

    max_position_embeddings: the original context. cos_sin_cache: [scaling_factor *
    max_position_embeddings, rotary_dim], times attention_factor, which follows from scaling_factor,
    mscale and mscale_all_dim when it is not given. Other shapes as in RotaryEmbedding.
    """

    def __init__(
        self,
        head_size: int,
        rotary_dim: int,
        max_position_embeddings: int,
        base: float,
        is_neox_style: bool,
        scaling_factor: float,
        dtype: torch.dtype,
        *,
        beta_fast: int = 32,
        beta_slow: int = 1,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
        attention_factor: float | None = None,
        truncate: bool = True,
    ) -> None:
        self.scaling_factor = scaling_factor
        self.mscale = _attention_factor(scaling_factor, mscale, mscale_all_dim, attention_factor)
        self._betas = (float(beta_fast), float(beta_slow), truncate)
        super().__init__(head_size, rotary_dim, max_position_embeddings, base, is_neox_style, dtype)

    def _compute_cos_sin_cache(self) -> Tensor:
        return _yarn_cache(self)


def _yarn_cache(module: RotaryEmbedding) -> Tensor:
    """[scaling_factor * max_position_embeddings, rotary_dim] float32."""
    context, factor = module.max_position_embeddings, module.scaling_factor
    inv_freq = _ops.yarn_inv_freq(module.rotary_dim, module.base, factor, context, *module._betas)
    rows = math.ceil(context * factor)
    return _ops.cos_sin_cache(inv_freq, rows, module.mscale, dtype=torch.float32)


class DeepseekScalingRotaryEmbedding(RotaryEmbedding):
    """YaRNScalingRotaryEmbedding with the attention factor of mscale over that of mscale_all_dim."""

    def __init__(
        self,
        head_size: int,
        rotary_dim: int,
        max_position_embeddings: int,
        base: float,
        is_neox_style: bool,
        scaling_factor: float,
        dtype: torch.dtype,
        *,
        beta_fast: int = 32,
        beta_slow: int = 1,
        mscale: float = 1,
        mscale_all_dim: float = 0,
        init_cache: bool = True,
    ) -> None:
        self.scaling_factor = scaling_factor
        over = _ops.yarn_get_mscale(scaling_factor, mscale_all_dim)
        self.mscale = _ops.yarn_get_mscale(scaling_factor, mscale) / over
        self._betas = (float(beta_fast), float(beta_slow), True)
        super().__init__(
            head_size, rotary_dim, max_position_embeddings, base, is_neox_style, dtype, init_cache
        )

    def _compute_cos_sin_cache(self) -> Tensor:
        return _yarn_cache(self)


class MRotaryEmbedding(RotaryEmbedding):
    """RotaryEmbedding with three positions for each token, of time, height and width.

    positions: [3, tokens], or [tokens] for three times the same; query, key: [tokens,
    heads*head_size] or [tokens, heads, head_size]. mrope_section: how many pairs of channels turn by
    each position, in chunks or (mrope_interleaved) alternately. cos_sin_cache has positions_factor *
    max_position_embeddings rows, and scaling_factor times as many by YaRN when that is given.
    """

    def __init__(
        self,
        head_size: int,
        rotary_dim: int,
        max_position_embeddings: int,
        base: float,
        is_neox_style: bool,
        dtype: torch.dtype,
        mrope_section: list[int] | None = None,
        mrope_interleaved: bool = False,
        *,
        positions_factor: int = 4,
        scaling_factor: float | None = None,
        beta_fast: int = 32,
        beta_slow: int = 1,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
        attention_factor: float | None = None,
        truncate: bool = True,
    ) -> None:
        if mrope_section and sum(mrope_section) != rotary_dim // 2:
            raise ValueError(
                f"MRotaryEmbedding: the sum of mrope_section must be rotary_dim/2 = "
                f"{rotary_dim // 2}, got {mrope_section}"
            )
        self.scaling_factor = scaling_factor
        self.mscale = 1.0
        if scaling_factor is not None:
            self.mscale = _attention_factor(
                scaling_factor, mscale, mscale_all_dim, attention_factor
            )
        self._betas = (float(beta_fast), float(beta_slow), truncate)
        rows = max_position_embeddings * positions_factor
        super().__init__(head_size, rotary_dim, rows, base, is_neox_style, dtype)
        self.mrope_section = mrope_section
        self.mrope_interleaved = mrope_interleaved

    def _compute_cos_sin_cache(self) -> Tensor:
        if self.scaling_factor is None:
            return super()._compute_cos_sin_cache()
        return _yarn_cache(self)

    def forward(
        self, positions: Tensor, query: Tensor, key: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        if positions.dim() == 1:
            return super().forward(positions, query, key)
        if not self.mrope_section:
            raise ValueError("MRotaryEmbedding: positions of [3, tokens] need an mrope_section")
        turned, turned_key = _ops.mrope(
            positions,
            query,
            key,
            self.head_size,
            self._cache_for(query),
            self.mrope_section,
            self.is_neox_style,
            self.mrope_interleaved,
        )
        return turned, turned_key if key is not None else None
