from vllm.distributed.parallel_state import collective, get_tp_group


def tensor_model_parallel_all_reduce(input_):
    return collective("all_reduce", input_, get_tp_group().world_size)


def tensor_model_parallel_all_gather(input_, dim=-1):
    return collective("all_gather", input_, get_tp_group().world_size, dim)


def tensor_model_parallel_reduce_scatter(input_, dim=-1):
    return collective("reduce_scatter", input_, get_tp_group().world_size, dim)


def tensor_model_parallel_gather(input_, dst=0, dim=-1):
    return collective("all_gather", input_, get_tp_group().world_size, dim)
