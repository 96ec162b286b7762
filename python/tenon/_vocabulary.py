"""Embedding and logits of a vocabulary whose rows are spread over the ranks of a process group."""

import torch
import torch.distributed as dist
from torch import Tensor, nn

import tenon.torch  # registers the operators
from tenon._ranks import OnRanks

_ops = tenon.torch.ops


class VocabParallelEmbedding(OnRanks):
    """[...] ids -> [..., embedding_dim]: the rows of the weight, which are spread over the ranks.

    weight: [rows of this rank, embedding_dim]: its original words, padding, its added words,
    padding; original and added words are each padded to a multiple of padding_size.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        params_dtype: torch.dtype | None = None,
        org_num_embeddings: int | None = None,
        padding_size: int = 64,
        quant_config: None = None,
        prefix: str = "",
        *,
        disable_tp: bool = False,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(quant_config, prefix, None if disable_tp else group)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.org_vocab_size = num_embeddings if org_num_embeddings is None else org_num_embeddings
        *self.shard_indices, rows = _ops.vocab_shard_indices(
            num_embeddings, self.org_vocab_size, padding_size, self.tp_rank, self.tp_size
        )
        weight = torch.zeros(rows, embedding_dim, dtype=params_dtype)
        self.weight = nn.Parameter(weight, requires_grad=False)

    def weight_loader(self, param: nn.Parameter, loaded_weight: Tensor) -> None:
        """loaded_weight: the original words, [org_num_embeddings, ...], or with the added ones,
        [num_embeddings, ...]."""
        start, end, padding, added_start, added_end = self.shard_indices
        param.zero_()
        param[: end - start].copy_(loaded_weight[start:end])
        if loaded_weight.shape[0] == self.num_embeddings:
            first = end - start + padding
            added = loaded_weight[added_start:added_end]
            param[first : first + added.shape[0]].copy_(added)

    def forward(self, input_: Tensor) -> Tensor:
        y = _ops.vocab_parallel_embedding(input_, self.weight, *self.shard_indices)
        return y if self.tp_size == 1 else _ops.all_reduce(y, self.group_name)

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"org_vocab_size={self.org_vocab_size}, tp_size={self.tp_size}"
        )


class ParallelLMHead(VocabParallelEmbedding):
    """[..., embedding_dim] -> [..., org_num_embeddings]: the logits of all original words, on every
    rank. weight as in VocabParallelEmbedding; bias: [rows of this rank].

    Several ranks' logits stand rank by rank, which is the order of words only if none are added.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        bias: bool = False,
        params_dtype: torch.dtype | None = None,
        org_num_embeddings: int | None = None,
        padding_size: int = 64,
        quant_config: None = None,
        prefix: str = "",
        *,
        disable_tp: bool = False,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            params_dtype,
            org_num_embeddings,
            padding_size,
            quant_config,
            prefix,
            disable_tp=disable_tp,
            group=group,
        )
        if self.tp_size > 1 and self.org_vocab_size != num_embeddings:
            raise ValueError(
                f"ParallelLMHead: org_num_embeddings must be num_embeddings, {num_embeddings}, on "
                f"several ranks, got {self.org_vocab_size}"
            )
        zeros = torch.zeros(self.weight.shape[0], dtype=params_dtype)
        self.bias = nn.Parameter(zeros, requires_grad=False) if bias else None

    def tie_weights(self, embed_tokens: VocabParallelEmbedding) -> "ParallelLMHead":
        if embed_tokens.shard_indices != self.shard_indices:
            raise ValueError("ParallelLMHead: embed_tokens must have the same words on this rank")
        self.weight = embed_tokens.weight
        return self

    def forward(self, input_: Tensor) -> Tensor:
        rows = input_.reshape(-1, input_.shape[-1])
        y = _ops.lm_head_logits(
            rows,
            self.weight,
            self.bias,
            self.org_vocab_size,
            "all_gather",
            self.tp_size,
            self.group_name,
        )
        return y.reshape(*input_.shape[:-1], y.shape[-1])
