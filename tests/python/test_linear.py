"""Linear layers and vocabularies of tenon.nn against plain PyTorch, on one rank and on several."""

import os
import pathlib
import subprocess
import sys

import pytest
import tenon.nn as tnn
import torch
import torch.distributed as dist
import torch.nn.functional as F


def sample(*shape, seed=0):
    """Few bits, so that sums are exact in every order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-8, 8, shape, generator=generator) / 8


def equal(got, expected):
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


def load(layer, weight, bias=None, *shard):
    layer.weight_loader(layer.weight, weight, *shard)
    if bias is not None:
        layer.weight_loader(layer.bias, bias, *shard)


def check_linears(rank, size, group):
    x, weight, bias = sample(2, 3, 16), sample(24, 16, seed=1), sample(24, seed=2)
    full = F.linear(x, weight, bias)
    column = tnn.ColumnParallelLinear(16, 24, group=group)
    load(column, weight, bias)
    equal(column(x)[0], full.chunk(size, -1)[rank])
    gathered = tnn.ColumnParallelLinear(16, 24, gather_output=True, return_bias=False, group=group)
    load(gathered, weight, bias)
    equal(gathered(x), full)
    row = tnn.RowParallelLinear(16, 24, group=group)
    load(row, weight, bias)
    equal(row(x.chunk(size, -1)[rank])[0], full)
    whole = tnn.RowParallelLinear(16, 24, input_is_parallel=False, skip_bias_add=True, group=group)
    load(whole, weight, bias)
    y, left = whole(x)
    equal(y + left, full)
    part = tnn.RowParallelLinear(16, 24, bias=False, reduce_results=False, group=group)
    load(part, weight)
    mine = x.chunk(size, -1)[rank]
    equal(part(mine)[0], F.linear(mine, weight.chunk(size, -1)[rank]))


def check_merged(rank, size, group):
    x, weight, bias = sample(5, 16), sample(24, 16, seed=1), sample(24, seed=2)
    parts = F.linear(x, weight, bias).split([16, 8], -1)
    expected = torch.cat([p.chunk(size, -1)[rank] for p in parts], -1)
    merged = tnn.MergedColumnParallelLinear(16, [16, 8], group=group)
    load(merged, weight, bias)
    equal(merged(x)[0], expected)
    merged.weight.zero_()
    for shard, part in enumerate(weight.split([16, 8])):
        merged.weight_loader(merged.weight, part, shard)
    equal(merged(x)[0], expected)
    # 4 query heads and 2 key heads of 4, values of 2: on 4 ranks two have the same key head.
    qkv = tnn.QKVParallelLinear(16, 4, 4, 2, bias=False, v_head_size=2, group=group)
    weight = sample(28, 16, seed=3)
    load(qkv, weight)
    q, k, v = F.linear(x, weight).split([16, 8, 4], -1)
    heads = max(2 // size, 1)
    first = rank * 2 // size
    k, v = k[:, first * 4 : (first + heads) * 4], v[:, first * 2 : (first + heads) * 2]
    equal(qkv(x)[0], torch.cat([q.chunk(size, -1)[rank], k, v], -1))


def check_vocabulary(_rank, size, group):
    table = sample(21, 8, seed=4)  # 19 original words and 2 added ones
    embedding = tnn.VocabParallelEmbedding(21, 8, None, 19, 8, group=group)
    load(embedding, table)
    ids = torch.tensor([[0, 18, 19], [20, 7, 8]])
    equal(embedding(ids), table[ids])
    bias, x = sample(21, seed=5), sample(2, 3, 8, seed=6)
    words = 21 if size == 1 else 19
    head = tnn.ParallelLMHead(words, 8, True, None, 19, 8, group=group)
    load(head, table[:words], bias[:words])
    expected = F.linear(x, table[:19], bias[:19])
    equal(head(x), expected)
    tied = tnn.VocabParallelEmbedding(words, 8, None, 19, 8, group=group)
    load(tied, table[:words])
    equal(head.tie_weights(tied)(x), expected)
    if size > 1:
        with pytest.raises(ValueError, match="org_num_embeddings must be num_embeddings, 21"):
            tnn.ParallelLMHead(21, 8, org_num_embeddings=19, padding_size=8, group=group)
        with pytest.raises(ValueError, match="the same words"):
            head.tie_weights(embedding)


CHECKS = [check_linears, check_merged, check_vocabulary]


@pytest.mark.parametrize("check", CHECKS)
def test_one_rank(check):
    check(0, 1, None)


def test_replicated():
    x, weight, bias = sample(2, 3, 16), sample(24, 16, seed=1), sample(24, seed=2)
    layer = tnn.ReplicatedLinear(16, 24, skip_bias_add=True)
    load(layer, weight, bias)
    y, left = layer(x)
    equal(y, F.linear(x, weight))
    equal(left, bias)
    with pytest.raises(ValueError, match="ReplicatedLinear: quant_config must be None"):
        tnn.ReplicatedLinear(16, 24, quant_config="int8")


@pytest.mark.parametrize("size", [2, 4])
def test_ranks(size):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={size}", str(pathlib.Path(__file__))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("is done") == size, done.stdout + done.stderr


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for run in CHECKS:
        run(dist.get_rank(), dist.get_world_size(), dist.group.WORLD)
    name, rank = dist.group.WORLD.group_name, dist.get_rank()
    dist.destroy_process_group()
    with pytest.raises(RuntimeError, match="has been destroyed"):
        torch.ops.tenon.all_reduce(torch.ones(2), name)
    print(f"rank {rank} is done")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "shape, kernel, arguments",
    [
        ((5, 3, 2, 14, 14), (8, 3, 2, 14, 14), dict(stride=[2, 14, 14])),  # patches of a tower
        ((2, 3, 5, 9, 8), (6, 3, 2, 4, 3), dict(stride=[2, 4, 3])),
        ((3, 4, 4, 5), (4, 3, 2, 2, 2), {}),
        (
            (2, 4, 7, 6, 9),
            (6, 2, 2, 3, 2),
            dict(stride=2, padding=[2, 0, 1], dilation=[2, 1, 3], groups=2),
        ),
    ],
)
def test_conv3d_is_that_of_torch(shape, kernel, arguments, dtype):
    x, weight, bias = (
        sample(*shape).to(dtype),
        sample(*kernel, seed=1).to(dtype),
        sample(kernel[0], seed=2),
    )
    got = torch.ops.tenon.conv3d(x, weight, bias, **arguments)
    expected = F.conv3d(x.float(), weight.float(), bias, **arguments)
    equal(got, expected.to(dtype))
    turned = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    equal(torch.ops.tenon.conv3d(turned, weight, bias, **arguments), got)


def test_merged_linear_is_several_linears():
    x, weight, bias = sample(2, 3, 16), sample(24, 16, seed=1), sample(24, seed=2)
    parts = torch.ops.tenon.merged_linear(x, weight, bias, [16, 0, 8])
    for got, expected in zip(parts, F.linear(x, weight, bias).split([16, 0, 8], -1)):
        assert got.is_contiguous()
        equal(got, expected)
    with pytest.raises(
        RuntimeError, match="the sum of output_sizes must be weight's rows, got 23 and 24"
    ):
        torch.ops.tenon.merged_linear(x, weight, None, [16, 7])


def test_a_prefetch_changes_nothing():
    x, weight = sample(4, 8), sample(64, 64, seed=1).to(torch.int8)
    before = x.clone()
    torch.ops.tenon.weight_prefetch_(x, weight)
    torch.ops.tenon.weight_prefetch_(x, weight.view(8, 8, 64), 1 << 40, 100)
    torch.ops.tenon.weight_prefetch_(x, weight[:0], 0, 7)
    torch.ops.tenon.weight_prefetch_wait_(x)
    equal(x, before)
    for dtype in (torch.int8, torch.float8_e4m3fn):  # quantised activations, a convolution's weight
        quantised = x.to(dtype)
        torch.ops.tenon.weight_prefetch_(quantised, weight.view(4, 4, 4, 8, 8))
        torch.ops.tenon.weight_prefetch_wait_(quantised)
        equal(quantised.float(), x.to(dtype).float())
    with pytest.raises(RuntimeError, match="offset must be in .*, got -1"):
        torch.ops.tenon.weight_prefetch_(x, weight, 0, -1)


@pytest.mark.parametrize(
    "a, b", [((1, 4, 5), (3, 5, 6)), ((3, 4, 5), (1, 5, 6)), ((2, 1, 4, 5), (1, 3, 5, 6))]
)
def test_matmul_repeats_a_batch_of_one(a, b):
    x, y = sample(*a), sample(*b, seed=1)
    equal(torch.ops.tenon.matmul(x, y), x @ y)
