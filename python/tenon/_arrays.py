"""NumPy arrays and PyTorch tensors as the C ABI's tensors, without copying."""

import ctypes
import sys

from tenon._library import Tensor

# torch's name -> DLPack code and bits.
DTYPES = {
    "float32": (2, 32),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8),
    "int8": (0, 8),
    "int32": (0, 32),
    "int64": (0, 64),
    "bool": (6, 8),
}
NAMES = {code: name for name, code in DTYPES.items()}


def is_array(value):
    return hasattr(value, "__array_interface__") or _is_torch(value)


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def dtype_name(dtype):
    """ "float32" for np.float32, np.dtype("float32"), torch.float32 and "float32"."""
    name = str(getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or dtype)
    return name.removeprefix("torch.")


def describe(array):
    """The Tensor of an array; keep the array and the Tensor alive during the call."""
    if _is_torch(array):
        if array.device.type != "cpu":
            raise RuntimeError(f"tenon: expected a tensor on the CPU, got one on {array.device}")
        data, strides = array.data_ptr(), array.stride()
    else:
        data = array.__array_interface__["data"][0]
        item = array.itemsize
        if any(s % item for s in array.strides):
            raise RuntimeError("tenon: strides must be multiples of the element size")
        strides = [s // item for s in array.strides]
    name = dtype_name(array.dtype)
    if name not in DTYPES:
        raise RuntimeError(f"tenon: unsupported dtype {name}; supported: {', '.join(DTYPES)}")
    code, bits = DTYPES[name]
    rank = len(array.shape)
    sizes = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    steps = (ctypes.c_int64 * max(rank, 1))(*strides)
    return Tensor(data, 1, 0, rank, code, bits, 1, sizes, steps, 0)


def empty_like_kind(array, shape, name):
    """A fresh array of the same library as `array`."""
    if _is_torch(array):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, name))
    import numpy

    try:
        return numpy.empty(shape, numpy.dtype(name))
    except TypeError:
        import ml_dtypes  # NumPy's bfloat16 and float8 live there

        return numpy.empty(shape, getattr(ml_dtypes, name))
