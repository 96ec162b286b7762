"""NumPy arrays and PyTorch tensors as the C ABI's tensors, without copying."""

import ctypes
import sys

from tenon import _library

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
# Those that no operator takes: the library says so, with the argument's name.
_OTHERS = {
    "float64": (2, 64),
    "uint8": (1, 8),
    "int16": (0, 16),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "complex64": (5, 64),
    "complex128": (5, 128),
    "float8_e5m2": (12, 8),
}


def is_array(value):
    return hasattr(value, "__array_interface__") or is_torch(value)


def is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def dtype_name(dtype):
    """ "float32" for np.float32, np.dtype("float32"), torch.float32 and "float32"."""
    name = str(getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or dtype)
    return name.removeprefix("torch.")


def dlpack_type(dtype):
    name = dtype_name(dtype)
    known = DTYPES.get(name) or _OTHERS.get(name)
    if known is None:
        raise RuntimeError(f"tenon: unsupported dtype {name}; supported: {', '.join(DTYPES)}")
    return known


def describe(array):
    """The Tensor of an array; keep the array and the Tensor alive during the call."""
    if is_torch(array):
        if array.device.type != "cpu":
            raise RuntimeError(f"tenon: expected a tensor on the CPU, got one on {array.device}")
        address, strides = array.data_ptr(), array.stride()
    else:
        address = array.__array_interface__["data"][0]
        item = array.itemsize
        if any(s % item for s in array.strides):
            raise RuntimeError("tenon: strides must be multiples of the element size")
        strides = [s // item for s in array.strides]
    return _library.tensor(address, 1, 0, dlpack_type(array.dtype), array.shape, strides)


def set_argument(argument, value, kind, keep):
    """Writes a Python value into the C ABI's argument of that kind; `keep` holds what it points
    to."""
    if value is None:
        return
    if is_array(value):
        tensor = describe(value)
        keep += [value, tensor]
        argument.kind, argument.value.tensor = _library.TENSOR, ctypes.pointer(tensor)
    elif kind == "dtype":
        text = dtype_name(value).encode()
        keep.append(text)
        argument.kind, argument.value.string = _library.DTYPE, text
    elif isinstance(value, bool):
        argument.kind, argument.value.integer = _library.BOOL, value
    elif isinstance(value, int):
        argument.kind, argument.value.integer = _library.INT, value
    elif isinstance(value, float):
        argument.kind, argument.value.real = _library.FLOAT, value
    elif isinstance(value, str):
        text = value.encode()
        keep.append(text)
        argument.kind, argument.value.string = _library.STRING, text
    elif isinstance(value, (list, tuple)):
        items = (ctypes.c_int64 * len(value))(*value)
        keep.append(items)
        argument.kind, argument.length, argument.value.list = _library.INT_LIST, len(value), items
    else:
        raise TypeError(f"cannot pass a {type(value).__name__} to a Tenon operator")


def empty_like_kind(array, shape, name, strides):
    """A fresh array of the same library as `array`; strides in elements."""
    if is_torch(array):
        torch = sys.modules["torch"]
        return torch.empty_strided(shape, strides, dtype=getattr(torch, name))
    import numpy

    try:
        dtype = numpy.dtype(name)
    except TypeError:
        import ml_dtypes  # NumPy's bfloat16 and float8 live there

        dtype = numpy.dtype(getattr(ml_dtypes, name))
    elements = max((n * s for n, s in zip(shape, strides)), default=1)
    steps = [s * dtype.itemsize for s in strides]
    return numpy.ndarray(shape, dtype, numpy.empty(max(elements, 1), dtype), 0, steps)
