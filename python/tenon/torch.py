"""Tenon's operators as PyTorch's: `import tenon.torch`, then `torch.ops.tenon.<name>`.

Every operator has its functional form, an `.out` overload that writes into tensors of the caller's,
and, where the contract has them, in-place forms. They work under torch.compile (symbolic sizes
included), torch.export, FakeTensorMode and on meta tensors, on the threads of
`torch.set_num_threads`. For inference: there are no derivatives.
"""

import ctypes

import torch

from tenon import _arrays, _calls, _contracts, _functions, _library, _shapes
from tenon._batch_invariant import disable_batch_invariant_mode, enable_batch_invariant_mode  # noqa: F401

MIN_VERSION = (2, 11)


def _load():
    version = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2])
    if version < MIN_VERSION:
        raise ImportError(f"tenon.torch needs PyTorch 2.11 or newer, found {torch.__version__}")
    path = _library.path().parent / "tenon_torch.so"
    if not path.exists():
        raise ImportError(
            f"{path} does not exist: this build of Tenon has no PyTorch extension; build it again "
            "with PyTorch 2.11 or newer in .venv"
        )
    _library.load()
    torch.ops.load_library(str(path))
    error = ctypes.CDLL(str(path)).tenon_torch_error
    error.restype = ctypes.c_char_p
    if text := error().decode():
        raise ImportError(f"{path}: {text}")
    return path


def _hint(value):
    """The number that a symbolic one was traced with, without tying the graph to it; None for one
    that only running will tell."""
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value
    return value.node.hint if value.node.has_hint() else None


def _device(tensor):
    device = tensor.device
    return f"{device.type}:{device.index or 0}" if device.type != "cpu" else "cpu"


def _check_devices(name, contract, values):
    tensors = [
        (p.name, values[p.name])
        for p in contract.params
        if isinstance(values[p.name], torch.Tensor)
    ]
    for argument, tensor in tensors[1:]:
        first, like = tensors[0]
        if _device(tensor) != _device(like):
            raise RuntimeError(
                f"{name}: {argument} must be on {_device(like)} like {first}, got {_device(tensor)}"
            )


def _describe(tensor, address):
    """The C ABI's description of a tensor that is never read, as if it lay at `address`, and the
    first address behind it; None when sizes are only known to the one who runs."""
    shape = [_hint(s) for s in tensor.shape]
    strides = [_hint(s) for s in tensor.stride()]
    if None in shape or None in strides:
        return None, address
    code, bits = _arrays.dlpack_type(tensor.dtype)
    described = _library.tensor(address, 1, 0, (code, bits), shape, strides)
    reach = sum((size - 1) * step for size, step in zip(shape, strides) if size)
    page = 4096
    return described, address + (max(reach, 0) * bits // 8 // page + 2) * page


def _infer(name, contract, values):
    """What the library says about a call: its results, or RuntimeError with the sentence that
    running it would give. None when there are sizes that only running will tell."""
    _check_devices(name, contract, values)
    address = 4096
    keep = []
    arguments = (_library.Argument * max(len(contract.params), 1))()
    for argument, param in zip(arguments, contract.params):
        value = values[param.name]
        if isinstance(value, torch.Tensor):
            tensor, address = _describe(value, address)
            if tensor is None:
                return None
            keep.append(tensor)
            argument.kind, argument.value.tensor = _library.TENSOR, ctypes.pointer(tensor)
            continue
        if isinstance(value, (list, tuple)):
            value = [_hint(v) for v in value]
        elif value is not None:
            value = _hint(value)
            if value is None:
                return None
        _arrays.set_argument(argument, value, param.kind, keep)
    return _library.infer(name, arguments, len(contract.params))


def _results(contract, values):
    tensors = {n: v for n, v in values.items() if isinstance(v, torch.Tensor)}
    specs = _shapes.results(contract, tensors, values, _arrays.dtype_name)
    like = next(iter(tensors.values()), None)
    fresh = like.new_empty if like is not None else torch.empty
    made = []
    for shape, dtype, strides in specs:
        result = fresh(shape, dtype=getattr(torch, dtype))
        made.append(result if strides is None else result.new_empty_strided(shape, strides))
    if contract.results == "tensor_list":
        return made
    return made[0] if len(made) == 1 else tuple(made)


def _check_out(contract, specs, outs):
    for out, argument, (shape, code, _) in zip(contract.outs, contract.out_arguments, specs):
        dtype = _arrays.NAMES[code]
        got = [_hint(s) for s in outs[argument].shape]
        if None not in got and got != shape:
            raise RuntimeError(f"{contract.name}: {out.name} must be {shape}, got {got}")
        name = _arrays.dtype_name(outs[argument].dtype)
        if name != dtype:
            raise RuntimeError(f"{contract.name}: {out.name} must be {dtype}, got {name}")


def _register_fake(name, contract, in_place):
    def functional(*args, **kwargs):
        if contract.results in ("float", "int_list"):  # numbers from numbers
            call = _calls.Call(name, args, kwargs)
            call()
            return _functions.given_back(contract, call.results)
        values = contract.bind(args, kwargs)
        _infer(name, contract, values)
        return None if in_place else _results(contract, values)

    torch.library.register_fake(f"tenon::{name}", functional)
    if in_place or not contract.out_schema:
        return

    def out_form(*args, **kwargs):
        outs = {a: kwargs.pop(a) for a in contract.out_arguments}
        specs = _infer(name, contract, contract.bind(args, kwargs))
        if specs is not None:
            _check_out(contract, specs, outs)

    torch.library.register_fake(f"tenon::{name}.out", out_form)


path = _load()
if torch.distributed.is_available():
    from tenon._groups import register_group  # noqa: F401
for _name, (_contract, _in_place) in _contracts.forms().items():
    _register_fake(_name, _contract, _in_place)
    getattr(_functions.ops, _name)  # made now: a compiler does not want to trace that
ops = torch.ops.tenon
_functions.torch_tensor = torch.Tensor
_functions.overloads.update((_name, getattr(ops, _name)) for _name in _contracts.forms())
