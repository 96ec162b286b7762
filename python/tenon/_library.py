"""Finds libtenon and declares the functions of include/tenon/c.h."""

import ctypes
import functools
import os
import pathlib

MAX_RANK = 8


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dtype_code", ctypes.c_uint8),
        ("dtype_bits", ctypes.c_uint8),
        ("dtype_lanes", ctypes.c_uint16),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Value(ctypes.Union):
    _fields_ = [
        ("tensor", ctypes.POINTER(Tensor)),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("string", ctypes.c_char_p),
        ("list", ctypes.POINTER(ctypes.c_int64)),
    ]


class Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("length", ctypes.c_int32), ("value", _Value)]


class Spec(ctypes.Structure):
    _fields_ = [
        ("dtype_code", ctypes.c_uint8),
        ("dtype_bits", ctypes.c_uint8),
        ("dtype_lanes", ctypes.c_uint16),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
    ]


REASON_BYTES = 512
# context, in, out, bytes of a block, seconds, reason
TRANSFER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_double,
    ctypes.c_void_p,
)
FINDER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)


class Transport(ctypes.Structure):
    _fields_ = [
        ("rank", ctypes.c_int32),
        ("size", ctypes.c_int32),
        ("context", ctypes.c_void_p),
        ("gather", TRANSFER),
        ("exchange", TRANSFER),
    ]


NONE, TENSOR, BOOL, INT, FLOAT, STRING, DTYPE, INT_LIST = range(8)


def _candidates():
    """Where the library may be: $TENON_LIBRARY, within this package, a build of the checkout."""
    if path := os.environ.get("TENON_LIBRARY"):
        yield pathlib.Path(path)
        return
    here = pathlib.Path(__file__).resolve().parent
    yield here / "lib" / "libtenon.so.0"  # a wheel
    for build in ("release", "ci", "dev"):
        yield here.parents[1] / "build" / build / "lib" / "libtenon.so"


@functools.cache
def path():
    """Of libtenon."""
    tried = list(_candidates())
    found = next((p for p in tried if p.exists()), None)
    if found is None:
        raise ImportError(
            "libtenon.so was not found (tried "
            + ", ".join(str(p) for p in tried)
            + "): build it with `make`, or set TENON_LIBRARY to its path"
        )
    return found


@functools.cache
def load():
    lib = ctypes.CDLL(str(path()))
    op = ctypes.c_void_p
    arguments = ctypes.POINTER(Argument)
    for name, result, parameters in (
        ("tenon_version", ctypes.c_char_p, []),
        ("tenon_last_error", ctypes.c_char_p, []),
        ("tenon_contracts", ctypes.c_char_p, []),
        ("tenon_find", op, [ctypes.c_char_p]),
        (
            "tenon_infer",
            ctypes.c_int64,
            [op, arguments, ctypes.c_int64, ctypes.POINTER(Spec), ctypes.c_int64],
        ),
        (
            "tenon_call",
            ctypes.c_int,
            [op, arguments, ctypes.c_int64, ctypes.POINTER(Tensor), ctypes.c_int64],
        ),
        ("tenon_register_group", ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(Transport)]),
        ("tenon_group_rank", ctypes.c_int, [ctypes.c_char_p]),
        (
            "tenon_register_mpi_group",
            ctypes.c_int,
            [ctypes.c_char_p, ctypes.c_int32, *[ctypes.POINTER(ctypes.c_int32)] * 2],
        ),
        ("tenon_set_group_finder", None, [FINDER]),
    ):
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = parameters
    return lib


def error():
    """What the library said last."""
    return RuntimeError(load().tenon_last_error().decode())


@functools.cache
def find(name):
    op = load().tenon_find(name.encode())
    if not op:
        raise AttributeError(load().tenon_last_error().decode())
    return op


def group_rank(name):
    rank = load().tenon_group_rank(name.encode())
    if rank < 0:
        raise error()
    return rank


def tensor(address, device_type, device_index, dtype, shape, strides):
    """`dtype` is DLPack's code and width; strides count elements."""
    rank = len(shape)
    sizes = (ctypes.c_int64 * max(rank, 1))(*shape)
    steps = (ctypes.c_int64 * max(rank, 1))(*strides)
    return Tensor(address, device_type, device_index, rank, *dtype, 1, sizes, steps, 0)


def infer(name, arguments, count):
    """[(shape, DLPack's code and width, strides)] of a call's results; RuntimeError when it is refused."""
    specs = (Spec * 8)()
    found = load().tenon_infer(find(name), arguments, count, specs, len(specs))
    if found > len(specs):  # a list of results
        specs = (Spec * found)()
        found = load().tenon_infer(find(name), arguments, count, specs, found)
    if found < 0:
        raise error()
    return [
        (list(s.sizes[: s.rank]), (s.dtype_code, s.dtype_bits), list(s.strides[: s.rank]))
        for s in specs[:found]
    ]


def call(name, arguments, count, tensors, results):
    if load().tenon_call(find(name), arguments, count, tensors, results) != 0:
        raise error()
