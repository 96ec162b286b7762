"""The public functions `tenon.ops.<name>`, one per operator form, made from its contract."""

import inspect
import struct

from tenon import _arrays, _calls, _contracts

_KINDS = {
    "tensor": "Tensor",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "dtype": "dtype",
    "int_list": "Sequence[int]",
}


_RESULTS = {"tensor_list": "list[Tensor]", "float": "float", "int_list": "list[int]"}


def _annotation(param):
    return _KINDS[param.kind] + (" | None" if param.optional else "")


def _signature(contract, in_place):
    parameters = []
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    for param in contract.params:
        default = inspect.Parameter.empty
        if param.default is not _contracts.REQUIRED:
            default = param.default
        parameters.append(
            inspect.Parameter(
                param.name,
                kinds[param.keyword_only],
                default=default,
                annotation=_annotation(param),
            )
        )
    if in_place:
        return inspect.Signature(parameters, return_annotation=None)
    result = _RESULTS.get(contract.results) or (
        "Tensor"
        if len(contract.outs) == 1
        else f"tuple[{', '.join(['Tensor'] * len(contract.outs))}]"
    )
    if contract.results in _RESULTS:
        return inspect.Signature(parameters, return_annotation=result)
    parameters.append(
        inspect.Parameter("out", kinds[1], default=None, annotation=f"{result} | None")
    )
    return inspect.Signature(parameters, return_annotation=result)


_ELEMS = {
    "T": "float32, float16 or bfloat16",
    "W": "float32, or the type of the call",
    "I": "int32 or int64",
}


def _argument_line(param):
    if param.kind == "tensor":
        shapes = " or ".join(map(str, param.shapes))
        return f"{param.name}: {shapes}, {_ELEMS.get(param.elem, param.elem)}"
    choices = f": {', '.join(map(str, param.choices))}" if param.choices else ""
    return f"{param.name}: {_annotation(param)}{choices}"


def _doc(contract, in_place):
    lines = [contract.formula, "", "Arguments:"]
    lines += [f"    {_argument_line(p)}" for p in contract.params]
    if in_place:
        lines += ["", "Writes:"]
        lines += [f"    {result} over {over}" for over, result in in_place.writes.items()]
    else:
        lines += ["", "Returns:"]
        for out in contract.outs:
            shape = f"like {out.like}" if out.like else str(out.shape)
            lines.append(
                f"    {out.name}: {shape}, {out.dtype_from or _ELEMS.get(out.elem, out.elem)}"
            )
        if contract.out_schema:
            lines += ["", "out: write there instead; rows may be strided."]
    lines += ["", in_place.schema if in_place else contract.schema]
    return "\n".join(lines)


# Set by tenon.torch: torch.Tensor, and {name: its overloads in torch.ops.tenon}.
torch_tensor = ()
overloads = {}
_without_torch = False  # this build has no extension


def _import_torch():
    global _without_torch
    try:
        import tenon.torch  # noqa: F401
    except ImportError:
        _without_torch = True


def _takes_torch(args, kwargs):
    return any(map(_arrays.is_torch, args)) or any(map(_arrays.is_torch, kwargs.values()))


def _into(contract, packet, args, kwargs, out):
    """`packet` has the overloads of one torch operator."""
    outs = out if isinstance(out, (list, tuple)) else [out]
    if len(outs) != len(contract.out_arguments):
        raise TypeError(
            f"{contract.name}: out must be {len(contract.out_arguments)} tensors, got {len(outs)}"
        )
    packet.out(*args, **kwargs, **dict(zip(contract.out_arguments, outs)))
    return out


def given_back(contract, results):
    """What a call returns, of the tensors that the library has filled."""
    if contract.results == "tensor_list":
        return results
    if contract.results == "int_list":
        return results[0].tolist()
    if contract.results == "float":
        return struct.unpack("d", struct.pack("q", results[0].tolist()[0]))[0]
    return results[0] if len(results) == 1 else tuple(results)


def make(name):
    contract, in_place = _calls.form(name)
    has_tensors = any(p.kind == "tensor" for p in contract.params)

    def run(*args, out=None, **kwargs):
        if out is not None and not (in_place or contract.out_schema):
            raise TypeError(f"{name}: has no form that writes into given tensors")
        if (args and isinstance(args[0], torch_tensor)) or _takes_torch(args, kwargs):
            if not overloads and not _without_torch:
                _import_torch()
            through_torch = bool(overloads)
        else:  # without tensors there is nothing to tell by: PyTorch's where it is in use
            through_torch = bool(overloads) and not has_tensors
        if through_torch:
            packet = overloads[name]
            if out is None:
                return packet.default(*args, **kwargs)
            return _into(contract, packet, args, kwargs, out)
        call = _calls.Call(name, args, kwargs, out)
        call()
        if in_place:
            return None
        if out is not None:
            return out
        return given_back(contract, call.results)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "tenon.ops"
    run.__signature__ = _signature(contract, in_place)
    run.__doc__ = _doc(contract, in_place)
    return run


class Ops:
    """tenon.ops.rms_norm(x, weight, 1e-6, bias=b)"""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        run = make(name)
        setattr(self, name, run)
        return run

    def __dir__(self):
        return _calls.names()


ops = Ops()
