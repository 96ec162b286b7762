"""Calls of every operator, made from its contract alone: sizes are drawn until the library takes
them."""

import itertools
import math
import random
import re

import torch
from tenon import _contracts, _shapes
from tenon.torch import _infer

FORMS = _contracts.forms()
FUNCTIONAL = [name for name, (_, in_place) in FORMS.items() if in_place is None]
# Those that return tensors, those of them that can write into given ones, and the others.
TENSORS = [name for name in FUNCTIONAL if "tensor" in FORMS[name][0].results]
WITH_OUT = [name for name in FUNCTIONAL if FORMS[name][0].out_schema]
NUMBERS = [name for name in FUNCTIONAL if name not in TENSORS]
IN_PLACE = [name for name, (_, in_place) in FORMS.items() if in_place is not None]
LEAD = (3, 5)
# The group of one rank; any axis; one shard that has all rows.
FIXED = {
    "group_name": "",
    "world_size": 1,
    "rank": 0,
    "dim": -1,
    "shard_sizes": [4],
    "padded_size": 8,
}


class Case:
    """The arguments of one call by name; `lead` are the axes that "..." stands for."""

    def __init__(self, contract, sizes, attributes, given, storage):
        self.contract, self.sizes, self.attributes = contract, sizes, attributes
        self.given, self.storage = given, storage

    def shape(self, param, lead, alternative=0):
        shape = param.shapes[alternative]
        sizes = {**self.sizes, "tokens": math.prod(lead)}
        axes = [_shapes._expression(text).value(sizes) for text in shape.sizes]
        axes = (list(lead) if shape.lead else []) + axes
        return axes[-1:] + axes[:-1] if param.sections or param.first_last else axes

    def values(self, lead=LEAD, device="cpu", seed=0):
        generator = torch.Generator().manual_seed(seed)
        values = {}
        for param in self.contract.params:
            if param.kind != "tensor":
                values[param.name] = self.attributes[param.name]
            elif param.name not in self.given:
                values[param.name] = None
            else:
                tensor = self._tensor(param, self.shape(param, lead), generator)
                if param.limits_rows:  # all of them: what is left out is unspecified
                    tensor[:] = torch.tensor([math.prod(lead)] + [0] * (len(tensor) - 1))
                values[param.name] = tensor.to(device)
        return values

    def _tensor(self, param, shape, generator):
        if param.elem in ("T", "W"):
            return torch.randn(shape, generator=generator).to(self.storage)
        if param.elem == "I":  # every table of these cases has at least two rows
            return torch.randint(0, 2, shape, generator=generator)
        dtype = getattr(torch, param.elem)
        if dtype.is_floating_point:
            return (torch.rand(shape, generator=generator) + 0.5).to(dtype)
        return torch.randint(0, 2, shape, generator=generator).to(dtype)

    def __str__(self):
        return f"{self.contract.name}, sizes {self.sizes}, with {sorted(self.given)}"


def call(values, contract):
    """Positional and keyword arguments."""
    args = [values[p.name] for p in contract.params if not p.keyword_only]
    return args, {p.name: values[p.name] for p in contract.params if p.keyword_only}


def _attribute(param, everything):
    if param.name in FIXED:
        fixed = FIXED[param.name]
        return [fixed] if param.kind == "int_list" and isinstance(fixed, int) else fixed
    if param.kind == "bool":
        default = False if param.default is _contracts.REQUIRED else param.default
        return (not default) if everything else default
    if param.kind == "dtype" and not (param.optional and not everything):
        return getattr(torch, param.choices[0])
    if param.default is not _contracts.REQUIRED:
        return param.default
    return param.choices[0] if param.choices else None


def _sizes_of(param, value):
    if param.kind == "int_list":
        return _shapes.list_sizes(param, value, FIXED)
    if param.size:
        return {param.size: param.choice_sizes[(param.choices or (False, True)).index(value)]}
    return {param.name: value} if param.kind == "int" and value is not None else {}


def _symbols(contract):
    texts = itertools.chain.from_iterable(s.sizes for p in contract.params for s in p.shapes[:1])
    return sorted({n for text in texts for n in re.findall(r"[a-z_]\w*", text)} - {"ceil"})


def _find(name, everything, storage):
    contract, _ = FORMS[name]
    draw = random.Random(name)
    refusal = ""
    for attempt in range(2000):
        numbers = (2, 4, 6, 8, 16, 32) if attempt < 1000 else (2, 8, 128)  # blocks of scales
        sizes = {symbol: draw.choice(numbers) for symbol in _symbols(contract)}
        attributes = {}
        for param in contract.params:
            if param.kind == "tensor":
                continue
            value = _attribute(param, everything)
            if value is None and not param.optional:
                value = sizes.get(param.name, draw.choice((2, 4, 8)))
            if param.kind == "int_list" and not isinstance(value, list):
                count = param.length if param.length > 0 else 3
                value = [draw.choice((2, 4, 8)) for _ in range(count)]
            attributes[param.name] = value
            sizes.update(_sizes_of(param, value))
        given = {p.name for p in contract.params if p.kind == "tensor"}
        if not everything:
            given -= {p.name for p in contract.params if p.optional}
        for param in contract.params:
            if param.name not in given:
                sizes.update(param.absent_sizes)
            if param.absent_size and attributes[param.name] is None:
                sizes[param.name] = sizes.get(param.absent_size, 1)
        case = Case(contract, sizes, attributes, given, storage)
        try:
            _infer(name, contract, case.values(device="meta"))
            return case
        except RuntimeError as error:
            refusal = str(error)
    raise AssertionError(f"no sizes were found that {name} takes; the last refusal: {refusal}")


_found = {}


def cases(name, storage=torch.float32):
    """One without and one with everything that is optional."""
    key = name, storage
    if key not in _found:
        _found[key] = [_find(name, everything, storage) for everything in (False, True)]
    return _found[key]
