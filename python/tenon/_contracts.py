"""The operators' contracts as libtenon exports them: what signatures, shape functions and tests are
derived from."""

import dataclasses
import functools
import json
from typing import Any

from tenon import _library

REQUIRED = object()  # stands for a default that does not exist


@dataclasses.dataclass(frozen=True)
class Shape:
    lead: bool  # begins with "...": any number of axes, the same ones wherever it stands
    sizes: tuple[str, ...]  # size expressions: "2*d", "(heads//2)", "ceil(n, 4)"

    def __str__(self):
        return "[" + ", ".join((["..."] if self.lead else []) + list(self.sizes)) + "]"


@dataclasses.dataclass(frozen=True)
class Param:
    """An argument. Element types are torch's names, or T (the storage type of the call), W (T or
    float32) and I (int32 or int64)."""

    name: str
    kind: str  # tensor bool int float str dtype int_list
    optional: bool
    keyword_only: bool
    default: Any = REQUIRED
    elem: str = ""
    shapes: tuple[Shape, ...] = ()  # alternatives
    broadcasts: bool = False  # its leading axes may be fewer, or 1
    sections: bool = False  # [3, ...] seen as [..., 3]; with one axis, that three times
    first_last: bool = False  # its first axis is the one that the contract sees last
    size: str = ""  # the size that a choice stands for: of a string in the order of its choices,
    choice_sizes: tuple[int, ...] = ()  # of a bool those of False and True
    length: int = 0  # of an int_list, whose numbers are sizes, too: name_0, name_1 ...; negative:
    # any, and its number of numbers, their sum ... are sizes: name_count, name_sum
    per_rank: bool = False  # a list that may have a number for each rank
    limits_rows: bool = False  # rows that it does not count are not computed
    absent_sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    choices: tuple[str, ...] = ()
    absent_size: str = ""  # None stands for this size
    moves_last: str = ""  # names the axis of this tensor that the contract sees last
    casts: str = ""  # this tensor is first rounded to the dtype given


@dataclasses.dataclass(frozen=True)
class Out:
    name: str
    elem: str
    shape: Shape
    like: str = ""  # has the shape of this argument; [0] when that is not there
    dtype_from: str = ""  # the argument that gives the element type
    reduces: str = ""  # the result lacks the axes of `like` that this int_list names, or
    keeps: str = ""  # has them as 1 when this bool is true
    each: str = ""  # one result for each number of this int_list, a size called <list>_each
    column_major_when: str = ""  # the argument that makes the last axis the outermost in memory
    column_multiple: int = 1  # its stride is a multiple of this


@dataclasses.dataclass(frozen=True)
class InPlace:
    name: str
    schema: str
    writes: dict[str, str]  # argument -> the result that is written over it


@dataclasses.dataclass(frozen=True)
class Contract:
    name: str
    family: str
    formula: str
    schema: str
    results: str  # tensors, tensor_list; float or int_list, carried as a tensor of int64
    out_schema: str  # "" when the results are no tensors or a list
    out_arguments: tuple[str, ...]
    params: tuple[Param, ...]
    outs: tuple[Out, ...]
    in_place: tuple[InPlace, ...]
    requirements: tuple[str, ...]

    def param(self, name):
        return next(p for p in self.params if p.name == name)

    def bind(self, args, kwargs):
        """Arguments by name in schema order, defaults filled in."""
        values = {p.name: p.default for p in self.params}
        values.update(zip(values, args))
        values.update(kwargs)
        return values


def _shape(json_shape):
    return Shape(json_shape["lead"], tuple(json_shape["sizes"]))


def _param(entry):
    entry = dict(entry)
    entry["shapes"] = tuple(_shape(s) for s in entry.get("shapes", ()))
    entry["choices"] = tuple(entry.get("choices", ()))
    return Param(**entry)


def _contract(entry):
    entry = dict(entry)
    entry["params"] = tuple(_param(p) for p in entry["params"])
    entry["outs"] = tuple(Out(**{**o, "shape": _shape(o["shape"])}) for o in entry["outs"])
    entry["in_place"] = tuple(InPlace(**form) for form in entry["in_place"])
    entry["out_arguments"] = tuple(entry["out_arguments"])
    entry["requirements"] = tuple(entry["requirements"])
    return Contract(**entry)


@functools.cache
def contracts():
    """{name: Contract} of the functional forms."""
    entries = json.loads(_library.load().tenon_contracts().decode())
    return {entry["name"]: _contract(entry) for entry in entries}


@functools.cache
def forms():
    """{name: (Contract, InPlace or None)} of all forms."""
    every = {name: (contract, None) for name, contract in contracts().items()}
    for contract in contracts().values():
        every.update({form.name: (contract, form) for form in contract.in_place})
    return every
