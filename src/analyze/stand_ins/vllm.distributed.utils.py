def get_pp_indices(num_hidden_layers, pp_rank, pp_size):
    return 0, num_hidden_layers


def divide(numerator, denominator):
    return numerator // denominator


def split_tensor_along_last_dim(tensor, num_partitions, contiguous_split_chunks=False):
    return tensor.chunk(num_partitions, dim=-1)
