"""One pipeline stage, rank 0 of a tensor-parallel group, everything else of size one."""


class ProcessGroup:
    """torch's: rank and size are methods."""

    def __init__(self, size):
        self.ranks = size

    def rank(self):
        return 0

    def size(self):
        return self.ranks


class Group:
    def __init__(self, size):
        self.world_size = size
        self.rank = 0
        self.rank_in_group = 0
        self.local_rank = 0
        self.first_rank = 0
        self.last_rank = size - 1
        self.ranks = list(range(size))
        self.is_first_rank = True
        self.is_last_rank = True
        self.device_group = ProcessGroup(size)
        self.cpu_group = self.device_group
        self.unique_name = "group"

    def size(self):
        return self.world_size

    def all_reduce(self, x):
        return collective("all_reduce", x, self.world_size)

    def all_gather(self, x, dim=-1):
        return collective("all_gather", x, self.world_size, dim)

    def reduce_scatter(self, x, dim=-1):
        return collective("reduce_scatter", x, self.world_size, dim)


def collective(op, x, size, dim=-1):
    if size == 1:
        return x
    shape = list(x.shape)
    if op == "all_gather":
        shape[dim] = shape[dim] * size
    if op == "reduce_scatter":
        shape[dim] = shape[dim] // size
    return __emit__(op, [x], shape=shape, size=size)


ONE = Group(1)
TENSOR = Group(__option__("tp"))


def get_world_group():
    return TENSOR


def get_tp_group():
    return TENSOR


def get_pp_group():
    return ONE


def get_dp_group():
    return ONE


def get_ep_group():
    return ONE


def get_eplb_group():
    return ONE


def get_dcp_group():
    return ONE


def get_pcp_group():
    return ONE


def get_etp_group():
    return ONE


def get_dcp_world_size_and_rank(enabled=True):
    return 1, 0


def get_tensor_model_parallel_world_size():
    return __option__("tp")


def get_tensor_model_parallel_rank():
    return 0


def get_pipeline_model_parallel_rank():
    return 0


def get_decode_context_model_parallel_world_size():
    return 1


def get_decode_context_model_parallel_rank():
    return 0


def model_parallel_is_initialized():
    return True
