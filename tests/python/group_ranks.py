"""One rank of test_groups.py: `torchrun group_ranks.py`. Every check compares with what one rank
that has everything gives; raises when a rank sees something else."""

import os
import sys
import time

import tenon.torch
import torch
import torch.distributed as dist

OPS = torch.ops.tenon
LIMIT = 20  # seconds within which every rank must have its error


def sample(*shape, seed):
    """Few bits, so that sums are exact."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-64, 64, shape, generator=generator) / 16


def equal(got, expected):
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


def refusal(call):
    start = time.monotonic()
    try:
        call()
    except RuntimeError as error:
        assert time.monotonic() - start < LIMIT
        return str(error)
    raise AssertionError("nothing was refused")


def collectives(rank, size, group):
    for dtype in (torch.float32, torch.bfloat16):
        parts = [sample(2 * size, 6, seed=r).to(dtype) for r in range(size)]
        total = sum(p.float() for p in parts).to(dtype)
        x = parts[rank]
        equal(OPS.all_reduce(x, group), total)
        equal(OPS.all_gather(x, 1, size, group), torch.cat(parts, 1))
        equal(OPS.reduce_scatter(x, 0, size, group), total.chunk(size)[rank])
        equal(OPS.all_to_all(x, size, group), torch.cat([p.chunk(size)[rank] for p in parts]))
        residual, weight = sample(2 * size, 6, seed=90).to(dtype), sample(6, seed=91)
        y, s = OPS.all_reduce_add_rms_norm(x, residual, weight, 1e-6, group)
        expected = OPS.fused_add_rms_norm(total, residual, weight, 1e-6)
        equal(y, expected[0])
        equal(s, expected[1])
    big = sample(300, 101, seed=rank)  # goes in blocks that do not divide evenly
    equal(OPS.all_reduce(big, group), sum(sample(300, 101, seed=r) for r in range(size)))


def ragged_tokens(rank, size, group):
    table = sample(8 * size, 5, seed=3)
    indices = [rank * 8, rank * 8 + 8, 0, 8 * size, 8 * size, 8]
    ids = torch.arange(3 - min(rank, 3)) * 2 + rank
    got = OPS.embedding_tp(ids, table.chunk(size)[rank], indices, 4, size, group)
    equal(got, table[ids])


def compiled(rank, size, group):
    def chain(x):
        return OPS.all_gather(OPS.all_reduce(x, group) * 2, 0, size, group)

    x = sample(3, 4, seed=rank)
    equal(torch.compile(chain, fullgraph=True, backend="aot_eager")(x), chain(x))


def refusals(rank, size, group):
    for call in (
        lambda: OPS.all_reduce(torch.ones(3 + rank), group),
        lambda: (
            OPS.all_reduce(torch.ones(3), group)
            if rank
            else OPS.all_gather(torch.ones(3), 0, size, group)
        ),
    ):
        assert "the ranks of the group do not agree" in refusal(call)
    wrong = refusal(lambda: OPS.all_gather(torch.ones(3), 0, size + 1, group))
    assert f"world_size must be {size}" in wrong
    assert "there is no group nobody" in refusal(lambda: OPS.all_reduce(torch.ones(3), "nobody"))
    equal(OPS.all_reduce(torch.ones(3), group), torch.full((3,), float(size)))  # still works


def one_does_not_come(rank, size):
    late = dist.new_group()
    tenon.torch.register_group("late", late)
    if rank == size - 1:
        time.sleep(3)  # longer than TENON_COMM_TIMEOUT
    said = refusal(lambda: [OPS.all_reduce(torch.ones(3), "late") for _ in range(2)])
    assert "the group" in said, said


def one_dies(rank, size, group):
    dist.barrier()
    if rank == size - 1:
        os._exit(0)
    first = refusal(lambda: OPS.all_reduce(torch.ones(3), group))
    assert "the group did not move its bytes" in first, first
    assert "cannot be used any more" in refusal(lambda: OPS.all_reduce(torch.ones(3), group))


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    tenon.torch.register_group("tp:0", dist.group.WORLD)
    for group in ("tp:0", dist.group.WORLD.group_name):
        collectives(rank, size, group)
    ragged_tokens(rank, size, "tp:0")
    compiled(rank, size, "tp:0")
    refusals(rank, size, "tp:0")
    one_does_not_come(rank, size)
    one_dies(rank, size, "tp:0")
    print(f"rank {rank} of {size} is done", flush=True)
    sys.stdout.flush()
    os._exit(0)  # the group is broken: PyTorch must not wait for it


main()
