"""Calls through the C ABI: Python arguments in schema order, results allocated here or given."""

from tenon import _arrays, _contracts, _library
from tenon._library import Argument, Tensor


def version():
    return _library.load().tenon_version().decode()


def names():
    """Every operator, in-place forms included."""
    return sorted(_contracts.forms())


def form(name):
    """(contract, in-place form or None); AttributeError with the nearest names."""
    if name not in _contracts.forms():
        _library.find(name)
    return _contracts.forms()[name]


def schema(name):
    """The operator's schema in torch's syntax."""
    contract, in_place = form(name)
    return in_place.schema if in_place else contract.schema


class Call:
    """A call whose arguments are in place: run it again with `call()`, results in `results`."""

    def __init__(self, name, args, kwargs, out=None):
        contract, in_place = form(name)
        values = _bind(name, contract, args, kwargs)
        self._name = name
        self._keep = []
        self._count = len(contract.params)
        self._arguments = (Argument * max(self._count, 1))()
        for argument, param in zip(self._arguments, contract.params):
            _arrays.set_argument(argument, values[param.name], param.kind, self._keep)
        specs = _library.infer(name, self._arguments, self._count)
        first = next((v for v in values.values() if v is not None and _arrays.is_array(v)), None)
        if out is not None:
            self.results = list(out) if isinstance(out, (list, tuple)) else [out]
        else:
            self.results = [
                _arrays.empty_like_kind(first, shape, _arrays.NAMES[dtype], strides)
                for shape, dtype, strides in specs
            ]
        count = len(self.results)
        self._tensors = (Tensor * max(count, 1))(*(_arrays.describe(r) for r in self.results))

    def __call__(self):
        _library.call(self._name, self._arguments, self._count, self._tensors, len(self.results))


def _bind(name, contract, args, kwargs):
    positional = sum(not p.keyword_only for p in contract.params)
    if len(args) > positional:
        raise TypeError(f"{name}: takes {positional} positional arguments, got {len(args)}")
    values = dict(zip((p.name for p in contract.params), args))
    for key, value in kwargs.items():
        if key in values or key not in (p.name for p in contract.params):
            known = ", ".join(p.name for p in contract.params)
            raise TypeError(f"{name}: unexpected argument {key}; it takes {known}")
        values[key] = value
    return {p.name: values.get(p.name) for p in contract.params}


def prepare(name, *args, **kwargs):
    """The call of an operator, checked and with fresh results, without running it: for timing."""
    return Call(name, args, kwargs)
