"""PyTorch's products, softmax and mean on the CPU with a fixed order of additions, so that a row of
a result does not depend on which other rows were computed with it.

The kernels of aten are replaced for as long as the mode lasts, with their `.out` overloads, which
compiled graphs call. What Tenon does not compute (integers, float64, complex numbers) goes to the
kernels that were there before.
"""

import functools

import torch

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_library = None  # while the mode is on


def _same_floats(*tensors):
    return tensors[0].dtype in _FLOATS and all(t.dtype == tensors[0].dtype for t in tensors)


def _mm(a, b):
    if _same_floats(a, b):
        return torch.ops.tenon.matmul_batch_invariant(a, b)
    return NotImplemented


def _bmm(a, b):
    if _same_floats(a, b):
        return torch.ops.tenon.bmm_batch_invariant(a, b)
    return NotImplemented


def _addmm(bias, a, b, *, beta=1, alpha=1):
    if not _same_floats(bias, a, b):
        return NotImplemented
    bias = bias.expand(a.shape[0], b.shape[1])
    return torch.ops.tenon.addmm_batch_invariant(bias, a, b, beta=float(beta), alpha=float(alpha))


def _matmul(a, b):
    if not _same_floats(a, b) or 0 in (a.dim(), b.dim()):
        return NotImplemented
    left = a.unsqueeze(0) if a.dim() == 1 else a
    right = b.unsqueeze(1) if b.dim() == 1 else b
    product = torch.ops.tenon.matmul_batch_invariant(left, right)
    if b.dim() == 1:
        product = product.squeeze(-1)
    if a.dim() == 1:
        product = product.squeeze(-1 if b.dim() == 1 else -2)
    return product


def _linear(x, weight, bias=None):
    given = (x, weight) if bias is None else (x, weight, bias)
    if not _same_floats(*given) or weight.dim() != 2:
        return NotImplemented
    if bias is not None and bias.dim() != 1:
        return NotImplemented
    return torch.ops.tenon.linear_batch_invariant(x, weight, bias)


def _softmax_of(operator, x, dim, dtype):
    known = dtype is None or dtype in _FLOATS
    if x.dtype not in _FLOATS or not known or x.dim() == 0 or x.numel() == 0:
        return NotImplemented
    return getattr(torch.ops.tenon, operator)(x, dim, dtype)


def _softmax(x, dim, half_to_float):
    return _softmax_of("softmax_batch_invariant", x, dim, torch.float32 if half_to_float else None)


def _log_softmax(x, dim, half_to_float):
    return _softmax_of(
        "log_softmax_batch_invariant", x, dim, torch.float32 if half_to_float else None
    )


def _softmax_int(x, dim, dtype=None):
    return _softmax_of("softmax_batch_invariant", x, dim, dtype)


def _mean(x, dim, keepdim=False, *, dtype=None):
    if x.dtype not in _FLOATS or (dtype is not None and dtype not in _FLOATS):
        return NotImplemented
    return torch.ops.tenon.mean_batch_invariant(x, dim or [], keepdim, dtype)


_OVERRIDES = {
    "mm": ("mm.out", _mm),
    "addmm": ("addmm.out", _addmm),
    "bmm": ("bmm.out", _bmm),
    "matmul": ("matmul.out", _matmul),
    "linear": ("linear.out", _linear),
    "_softmax": ("_softmax.out", _softmax),
    "_log_softmax": ("_log_softmax.out", _log_softmax),
    "softmax.int": ("softmax.int_out", _softmax_int),
    "mean.dim": ("mean.out", _mean),
}


def _functional(function, original):
    @functools.wraps(function)
    def kernel(keyset, *args, **kwargs):
        result = function(*args, **kwargs)
        if result is NotImplemented:
            return original.call_boxed(keyset, *args, **kwargs)
        return result

    return kernel


def _out(function, original):
    @functools.wraps(function)
    def kernel(keyset, *args, out, **kwargs):
        result = function(*args, **kwargs)
        if result is NotImplemented:
            return original.call_boxed(keyset, *args, **kwargs, out=out)
        if out.shape != result.shape:
            out.resize_(result.shape)
        return out.copy_(result)

    return kernel


def enable_batch_invariant_mode():
    """From now on aten's mm, addmm, bmm, matmul, linear, softmax, log_softmax and mean on the CPU
    add in an order that depends on the summed extent alone. For inference: there are no
    derivatives."""
    global _library
    if _library is not None:
        return
    library = torch.library.Library("aten", "IMPL")
    for name, (out_name, function) in _OVERRIDES.items():
        for overload, wrap in ((name, _functional), (out_name, _out)):
            original = torch.library.get_kernel(f"aten::{overload}", "CPU")
            library.impl(
                overload,
                wrap(function, original),
                "CPU",
                with_keyset=True,
                allow_override=True,
            )
    _library = library


def disable_batch_invariant_mode():
    """The kernels of before are back."""
    global _library
    if _library is not None:
        _library._destroy()
        _library = None
