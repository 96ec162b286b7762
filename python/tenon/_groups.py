"""Process groups of torch.distributed as the groups that Tenon's operators know by name."""

import ctypes
import datetime
import weakref

import torch
import torch.distributed as dist

from tenon import _library

_keep = []  # what the library calls lives as long as the process


def _bytes(address, count):
    return torch.frombuffer((ctypes.c_char * count).from_address(address), dtype=torch.uint8)


def _transfer(blocks_in, blocks_out, start):
    """A function of the C ABI that moves blocks of bytes by `start(out, in)`. PyTorch works on
    copies: after a timeout it may still be writing."""

    @_library.TRANSFER
    def transfer(_context, source, target, count, timeout, reason):
        try:
            sent = _bytes(source, count * blocks_in).clone()
            out = torch.empty(count * blocks_out, dtype=torch.uint8)
            work = start(out, sent)
            if not work.wait(datetime.timedelta(seconds=timeout)):
                raise RuntimeError(f"not every rank came within {timeout} seconds")
            _bytes(target, out.numel()).copy_(out)
            return 0
        except BaseException as error:  # nothing may pass through the library
            text = f"{type(error).__name__}: {error}".encode()[: _library.REASON_BYTES - 1]
            ctypes.memmove(reason, text + b"\0", len(text) + 1)
            return 1

    _keep.append(transfer)
    return transfer


def register_group(name, process_group):
    """Makes a process group known to the operators that take a `group_name`. A group of
    `torch.distributed` that is not registered is found by its own `group_name`."""
    rank, size = dist.get_rank(process_group), dist.get_world_size(process_group)
    if rank < 0:
        raise ValueError(f"this process is not in the group {name}")
    # What is kept here would outlive destroy_process_group, and the group's threads would then be
    # running when the process ends: "terminate called without an active exception".
    reference = weakref.ref(process_group)

    def group():
        if (alive := reference()) is None:
            raise RuntimeError(f"the process group {name} has been destroyed")
        return alive

    def gather(out, sent):
        return dist.all_gather(list(out.chunk(size)), sent, group=group(), async_op=True)

    def exchange(out, sent):
        return dist.all_to_all_single(out, sent, group=group(), async_op=True)

    transport = _library.Transport(
        rank,
        size,
        None,
        _transfer(1, size, gather),
        _transfer(size, size, exchange),
    )
    if _library.load().tenon_register_group(name.encode(), ctypes.byref(transport)) != 0:
        raise _library.error()


@_library.FINDER
def _find(name):
    try:
        register_group(name.decode(), dist.distributed_c10d._resolve_process_group(name.decode()))
    except Exception:  # not a group of PyTorch's either: the library says so
        return 1
    return 0


_library.load().tenon_set_group_finder(_find)
