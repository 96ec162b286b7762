"""Calls by name: Python arguments in schema order, results allocated here."""

import ctypes
import functools

from tenon import _arrays, _library
from tenon._library import Argument, Spec, Tensor

_lib = _library.load()


def version():
    return _lib.tenon_version().decode()


def names():
    """Every operator, in-place forms included."""
    return [_lib.tenon_op_name(i).decode() for i in range(_lib.tenon_num_ops())]


def _error():
    return RuntimeError(_lib.tenon_last_error().decode())


@functools.cache
def _find(name):
    op = _lib.tenon_find(name.encode())
    if not op:
        raise AttributeError(_lib.tenon_last_error().decode())
    return op


def schema(name):
    """The operator's schema in torch's syntax."""
    return _lib.tenon_schema(_find(name)).decode()


@functools.cache
def _parameters(name):
    """[(argument name, its type)] in schema order, and the number of positional ones."""
    text = schema(name)
    inside = text[text.index("(") + 1 : text.rindex(") ->")]
    parameters, positional = [], None
    for part in filter(None, (p.strip() for p in inside.split(", "))):
        if part == "*":
            positional = len(parameters)
            continue
        words = part.split("=")[0].split()
        parameters.append((words[-1], words[0]))
    return parameters, len(parameters) if positional is None else positional


def _argument(value, kind, keep):
    argument = Argument()
    if value is None:
        return argument
    if _arrays.is_array(value):
        tensor = _arrays.describe(value)
        keep += [value, tensor]
        argument.kind, argument.value.tensor = _library.TENSOR, ctypes.pointer(tensor)
    elif kind.startswith("ScalarType"):
        text = _arrays.dtype_name(value).encode()
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
    return argument


class Call:
    """A call whose arguments are in place: run it again with `call()`, results in `results`."""

    def __init__(self, name, args, kwargs):
        parameters, positional = _parameters(name)
        if len(args) > positional:
            raise TypeError(f"{name}: takes {positional} positional arguments, got {len(args)}")
        values = dict(zip((p for p, _ in parameters), args))
        for key, value in kwargs.items():
            if key in values or key not in (p for p, _ in parameters):
                known = ", ".join(p for p, _ in parameters)
                raise TypeError(f"{name}: unexpected argument {key}; it takes {known}")
            values[key] = value
        self._op = _find(name)
        self._keep = []
        self._count = len(parameters)
        self._arguments = (Argument * max(self._count, 1))(
            *(_argument(values.get(p), kind, self._keep) for p, kind in parameters)
        )
        specs = (Spec * 8)()
        count = _lib.tenon_infer(self._op, self._arguments, self._count, specs, 8)
        if count < 0:
            raise _error()
        first = next((v for v in values.values() if v is not None and _arrays.is_array(v)), None)
        self.results = [
            _arrays.empty_like_kind(
                first, list(s.sizes[: s.rank]), _arrays.NAMES[(s.dtype_code, s.dtype_bits)]
            )
            for s in specs[:count]
        ]
        self._tensors = (Tensor * max(count, 1))(*(_arrays.describe(r) for r in self.results))

    def __call__(self):
        status = _lib.tenon_call(
            self._op, self._arguments, self._count, self._tensors, len(self.results)
        )
        if status != 0:
            raise _error()


def prepare(name, *args, **kwargs):
    """The call of an operator, checked and with fresh results, without running it: for timing."""
    return Call(name, args, kwargs)


class _Ops:
    """tenon.ops.rms_norm(x, weight, 1e-6, bias=b)"""

    def __getattr__(self, name):
        _find(name)

        def run(*args, **kwargs):
            call = Call(name, args, kwargs)
            call()
            if not call.results:
                return None
            return call.results[0] if len(call.results) == 1 else tuple(call.results)

        run.__name__ = run.__qualname__ = name
        run.__doc__ = schema(name)
        setattr(self, name, run)
        return run

    def __dir__(self):
        return names()


ops = _Ops()
