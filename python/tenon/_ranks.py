"""Modules whose weights are spread over the ranks of a process group."""

import torch.distributed as dist
from torch import nn


class OnRanks(nn.Module):
    """Knows this rank (tp_rank of tp_size) and the group by the name that operators take."""

    def __init__(self, quant_config: None, prefix: str, group: dist.ProcessGroup | None) -> None:
        super().__init__()
        if quant_config is not None:
            raise ValueError(f"{type(self).__name__}: quant_config must be None")
        self.prefix = prefix
        self.tp_rank = dist.get_rank(group) if group is not None else 0
        self.tp_size = dist.get_world_size(group) if group is not None else 1
        self.group_name = group.group_name if group is not None else ""
