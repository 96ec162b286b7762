"""Linear layers whose weights are spread over the ranks of a process group.

Without a group, or with disable_tp, a layer has all of its weights. weight: [output, input] of this
rank; weight_loader copies this rank's part out of a whole one. A forward gives (y, bias to add or
None), or y alone with return_bias=False; the bias is handed back only with skip_bias_add.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn

import tenon.torch  # registers the operators
from tenon._ranks import OnRanks

_ops = tenon.torch.ops


def _divide(layer: str, what: str, size: int, parts: int) -> int:
    if size % parts != 0:
        raise ValueError(f"{layer}: {what} must be a multiple of {parts} ranks, got {size}")
    return size // parts


class _LinearBase(OnRanks):
    def __init__(
        self,
        input_size: int,
        output_size: int,
        skip_bias_add: bool,
        params_dtype: torch.dtype | None,
        quant_config: None,
        prefix: str,
        return_bias: bool,
        group: dist.ProcessGroup | None,
    ) -> None:
        super().__init__(quant_config, prefix, group)
        self.input_size = input_size
        self.output_size = output_size
        self.skip_bias_add = skip_bias_add
        self.params_dtype = params_dtype
        self.return_bias = return_bias

    def _create(self, rows: int, columns: int, bias: bool) -> None:
        weight = torch.empty(rows, columns, dtype=self.params_dtype)
        self.weight = nn.Parameter(weight, requires_grad=False)
        zeros = torch.zeros(rows, dtype=self.params_dtype)
        self.bias = nn.Parameter(zeros, requires_grad=False) if bias else None

    def _multiply(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor | None]:
        rows = x.reshape(-1, x.shape[-1])
        bias = None if self.skip_bias_add else self.bias
        if self.tp_size == 1:
            y = _ops.linear(rows, self.weight, bias)
        else:
            y = self._multiply_on_ranks(rows, bias)
        y = y.view(*x.shape[:-1], y.shape[-1])
        if not self.return_bias:
            return y
        return y, self.bias if self.skip_bias_add else None

    def extra_repr(self) -> str:
        return (
            f"in_features={self.input_size}, output_features={self.output_size}, "
            f"bias={self.bias is not None}, tp_size={self.tp_size}"
        )


class ReplicatedLinear(_LinearBase):
    """[..., input_size] -> [..., output_size]: x weight^T + bias, the same on every rank."""

    def __init__(
        self,
        input_size: int,
        output_size: int,
        bias: bool = True,
        skip_bias_add: bool = False,
        params_dtype: torch.dtype | None = None,
        quant_config: None = None,
        prefix: str = "",
        *,
        return_bias: bool = True,
        disable_tp: bool = False,
    ) -> None:
        super().__init__(
            input_size,
            output_size,
            skip_bias_add,
            params_dtype,
            quant_config,
            prefix,
            return_bias,
            None,
        )
        self._create(output_size, input_size, bias)

    def weight_loader(self, param: nn.Parameter, loaded_weight: Tensor) -> None:
        param.copy_(loaded_weight)

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor | None]:
        return self._multiply(x)


class ColumnParallelLinear(_LinearBase):
    """[..., input_size] -> [..., output_size/ranks], or of all ranks with gather_output.

    Every rank has output_size/ranks rows of the weight and of the bias.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        bias: bool = True,
        gather_output: bool = False,
        skip_bias_add: bool = False,
        params_dtype: torch.dtype | None = None,
        quant_config: None = None,
        prefix: str = "",
        *,
        return_bias: bool = True,
        disable_tp: bool = False,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            input_size,
            output_size,
            skip_bias_add,
            params_dtype,
            quant_config,
            prefix,
            return_bias,
            None if disable_tp else group,
        )
        self.gather_output = gather_output
        name = type(self).__name__
        self.output_size_per_partition = _divide(name, "output_size", output_size, self.tp_size)
        self._create(self.output_size_per_partition, input_size, bias)

    def weight_loader(self, param: nn.Parameter, loaded_weight: Tensor) -> None:
        """loaded_weight: [output_size, input_size], or [output_size] for the bias."""
        param.copy_(loaded_weight.chunk(self.tp_size)[self.tp_rank])

    def _multiply_on_ranks(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        return _ops.column_parallel_linear(
            rows, self.weight, bias, self.gather_output, self.tp_size, self.group_name
        )

    def forward(self, input_: Tensor) -> Tensor | tuple[Tensor, Tensor | None]:
        return self._multiply(input_)


class MergedColumnParallelLinear(ColumnParallelLinear):
    """[..., input_size] -> [..., sum(output_sizes)/ranks]: several column-parallel layers of one
    input, side by side. With gather_output the results stand rank by rank."""

    def __init__(
        self,
        input_size: int,
        output_sizes: list[int],
        bias: bool = True,
        gather_output: bool = False,
        skip_bias_add: bool = False,
        params_dtype: torch.dtype | None = None,
        quant_config: None = None,
        prefix: str = "",
        *,
        return_bias: bool = True,
        disable_tp: bool = False,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            input_size,
            sum(output_sizes),
            bias,
            gather_output,
            skip_bias_add,
            params_dtype,
            quant_config,
            prefix,
            return_bias=return_bias,
            disable_tp=disable_tp,
            group=group,
        )
        self.output_sizes = output_sizes
        name = type(self).__name__
        self._parts = [_divide(name, "output_sizes", n, self.tp_size) for n in output_sizes]

    def weight_loader(
        self, param: nn.Parameter, loaded_weight: Tensor, loaded_shard_id: int | None = None
    ) -> None:
        """loaded_weight: of the layer loaded_shard_id, or of all, one after the other."""
        if loaded_shard_id is None:
            for shard, part in enumerate(loaded_weight.split(self.output_sizes)):
                self.weight_loader(param, part, shard)
            return
        mine = loaded_weight.chunk(self.tp_size)[self.tp_rank]
        param.split(self._parts)[loaded_shard_id].copy_(mine)


class QKVParallelLinear(ColumnParallelLinear):
    """[..., hidden_size] -> [..., (num_heads + num_kv_heads)*head_size + num_kv_heads*v_head_size]:
    this rank's query heads, then its key heads, then its value heads. Fewer key heads than ranks
    are replicated."""

    def __init__(
        self,
        hidden_size: int,
        head_size: int,
        total_num_heads: int,
        total_num_kv_heads: int | None = None,
        bias: bool = True,
        skip_bias_add: bool = False,
        params_dtype: torch.dtype | None = None,
        quant_config: None = None,
        prefix: str = "",
        *,
        return_bias: bool = True,
        disable_tp: bool = False,
        v_head_size: int | None = None,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        ranks = 1 if disable_tp or group is None else dist.get_world_size(group)
        name = type(self).__name__
        kv_heads = total_num_heads if total_num_kv_heads is None else total_num_kv_heads
        num_heads = _divide(name, "total_num_heads", total_num_heads, ranks)
        replicas = 1
        if kv_heads < ranks:
            replicas = _divide(name, "ranks", ranks, kv_heads)
        num_kv_heads = _divide(name, "total_num_kv_heads", kv_heads * replicas, ranks)
        v_size = head_size if v_head_size is None else v_head_size
        parts = [num_heads * head_size, num_kv_heads * head_size, num_kv_heads * v_size]
        super().__init__(
            hidden_size,
            sum(parts) * ranks,
            bias,
            False,
            skip_bias_add,
            params_dtype,
            quant_config,
            prefix,
            return_bias=return_bias,
            disable_tp=disable_tp,
            group=group,
        )
        self.hidden_size = hidden_size
        self.head_size = head_size
        self.v_head_size = v_size
        self.total_num_heads = total_num_heads
        self.total_num_kv_heads = kv_heads
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.num_kv_head_replicas = replicas
        self._parts = parts

    def weight_loader(
        self, param: nn.Parameter, loaded_weight: Tensor, loaded_shard_id: str | None = None
    ) -> None:
        """loaded_weight: of "q", "k" or "v", or of all three, one after the other."""
        if loaded_shard_id is None:
            heads = self.total_num_kv_heads
            sizes = [self.total_num_heads * self.head_size, heads * self.head_size]
            for shard, part in zip(
                "qkv", loaded_weight.split([*sizes, heads * self.v_head_size]), strict=True
            ):
                self.weight_loader(param, part, shard)
            return
        replicas = 1 if loaded_shard_id == "q" else self.num_kv_head_replicas
        size = self._parts["qkv".index(loaded_shard_id)]
        start = self.tp_rank // replicas * size
        target = param.split(self._parts)["qkv".index(loaded_shard_id)]
        target.copy_(loaded_weight[start : start + size])


class RowParallelLinear(_LinearBase):
    """[..., input_size/ranks] -> [..., output_size], the sum over the ranks, or this rank's
    summand with reduce_results=False. Without input_is_parallel x is [..., input_size].

    Every rank has input_size/ranks columns of the weight; the bias is added once.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        bias: bool = True,
        input_is_parallel: bool = True,
        skip_bias_add: bool = False,
        params_dtype: torch.dtype | None = None,
        reduce_results: bool = True,
        quant_config: None = None,
        prefix: str = "",
        *,
        return_bias: bool = True,
        disable_tp: bool = False,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            input_size,
            output_size,
            skip_bias_add,
            params_dtype,
            quant_config,
            prefix,
            return_bias,
            None if disable_tp else group,
        )
        if not reduce_results and bias and not skip_bias_add and self.tp_size > 1:
            raise ValueError(
                "RowParallelLinear: reduce_results must be True for a bias that is added"
            )
        self.input_is_parallel = input_is_parallel
        self.reduce_results = reduce_results
        name = type(self).__name__
        self.input_size_per_partition = _divide(name, "input_size", input_size, self.tp_size)
        self._create(output_size, self.input_size_per_partition, bias)

    def weight_loader(self, param: nn.Parameter, loaded_weight: Tensor) -> None:
        """loaded_weight: [output_size, input_size], or [output_size] for the bias."""
        if param.dim() == 2:
            loaded_weight = loaded_weight.chunk(self.tp_size, 1)[self.tp_rank]
        param.copy_(loaded_weight)

    def _multiply_on_ranks(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        reduce = "all_reduce" if self.reduce_results else "none"
        return _ops.row_parallel_linear(
            rows, self.weight, bias, self.input_is_parallel, reduce, self.tp_size, self.group_name
        )

    def forward(self, input_: Tensor) -> Tensor | tuple[Tensor, Tensor | None]:
        return self._multiply(input_)
