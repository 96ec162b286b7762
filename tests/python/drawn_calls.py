"""Calls whose sizes, types, options and strides hypothesis draws, from the operators' contracts."""

import math

import contract_cases
import torch
from contract_cases import FORMS, Case, cases
from hypothesis import strategies as st
from tenon.torch import _infer

STORAGES = (torch.float32, torch.float16, torch.bfloat16)
# Edges first: hypothesis shrinks towards them.
SIZES = st.one_of(st.sampled_from((0, 1)), st.integers(2, 40), st.sampled_from((63, 64, 65, 130)))
LEADS = st.lists(st.integers(0, 5), max_size=3)
HUGE = 1 << 22  # a stride that an axis of one element may have
LARGEST = 1 << 18  # product of all sizes


class Call:
    """The arguments of one call: everything but the elements of its tensors."""

    def __init__(self, case, lead):
        self.case, self.lead = case, lead
        self.alternatives, self.cut, self.dtypes = {}, {}, {}

    def shape(self, param):
        shape = self.case.shape(param, self.lead, self.alternatives.get(param.name, 0))
        return shape[self.cut.get(param.name, 0) :]

    def tensors(self, make):
        """The arguments by name, tensors by make(param, shape, dtype)."""
        values = dict(self.case.attributes)
        for param in self.case.contract.params:
            if param.kind != "tensor":
                continue
            if param.name not in self.case.given:
                values[param.name] = None
                continue
            fixed = {"T": self.case.storage, "W": self.case.storage, "I": torch.int64}
            dtype = self.dtypes.get(param.name) or fixed.get(param.elem)
            dtype = dtype or getattr(torch, param.elem)
            values[param.name] = make(param, self.shape(param), dtype)
        return values

    def fits(self):
        """Whether the library takes the call. What it says otherwise begins with the operator."""
        symbols = contract_cases._symbols(self.case.contract)
        sizes = [self.case.sizes.get(symbol, 1) for symbol in symbols]
        if math.prod([max(size, 1) for size in [*sizes, *self.lead]]) > LARGEST:
            return False
        for param in self.case.contract.params:  # all rows: what is left out is unspecified
            if param.limits_rows and param.name in self.case.given and 0 in self.shape(param):
                return False
        try:
            values = self.tensors(
                lambda _, shape, dtype: torch.empty(shape, dtype=dtype).to("meta")
            )
            _infer(self.case.contract.name, self.case.contract, values)
        except RuntimeError as error:
            assert str(error).startswith(self.case.contract.name + ": "), error
            return False
        return True

    def __repr__(self):
        described = self.tensors(lambda _, shape, dtype: f"{str(dtype)[6:]}{list(shape)}")
        return f"{self.case.contract.name}({described})"


def _attribute(draw, param):
    """Another value of an attribute, or what it has now."""
    if param.name in ("group_name", "world_size", "rank"):
        return None
    if param.kind == "bool":
        return draw(st.booleans())
    if param.kind in ("str", "dtype") and param.choices:
        chosen = draw(st.sampled_from(param.choices))
        return getattr(torch, chosen) if param.kind == "dtype" else chosen
    if param.kind == "int":
        return draw(st.integers(-3, 3) if param.moves_last else SIZES)
    return None


def _with_sizes(case, sizes, attributes, given):
    """The case with some of its sizes and attributes changed."""
    sizes, attributes = {**case.sizes, **sizes}, {**case.attributes, **attributes}
    for param in case.contract.params:
        sizes.update(contract_cases._sizes_of(param, attributes.get(param.name)))
        if param.kind == "tensor" and param.name not in given:
            sizes.update(param.absent_sizes)
    return Case(case.contract, sizes, attributes, given, case.storage)


@st.composite
def calls(draw, name):
    """A call that the library takes: from one that it is known to take, changes are tried in turn."""
    contract, _ = FORMS[name]
    found = cases(name)[draw(st.booleans())]
    call = Call(Case(contract, found.sizes, found.attributes, found.given, None), [3, 5])
    call.case.storage = draw(st.sampled_from(STORAGES))

    def attempt(**changes):
        before = dict(vars(call))
        vars(call).update(changes)
        if not call.fits():
            vars(call).update(before)

    def change(sizes=(), attributes=(), given=None):
        given = call.case.given if given is None else given
        attempt(case=_with_sizes(call.case, dict(sizes), dict(attributes), given))

    attempt(lead=draw(LEADS))
    for param in contract.params:
        if param.kind == "tensor":
            if param.optional and draw(st.booleans()):
                change(given=call.case.given ^ {param.name})
            others = {"W": torch.float32, "I": torch.int32}
            if param.elem in others and draw(st.booleans()):
                attempt(dtypes={**call.dtypes, param.name: others[param.elem]})
            if len(param.shapes) > 1:
                chosen = draw(st.integers(0, len(param.shapes) - 1))
                attempt(alternatives={**call.alternatives, param.name: chosen})
            if param.broadcasts and call.lead:
                cut = draw(st.integers(0, len(call.lead)))
                attempt(cut={**call.cut, param.name: cut})
        elif (value := _attribute(draw, param)) is not None:
            change(attributes={param.name: value})
    for symbol in contract_cases._symbols(contract):
        attribute = {symbol: SIZES} if symbol in call.case.attributes else {}
        if not attribute:  # those that are attributes have been drawn
            change(sizes={symbol: draw(SIZES)})
    return call


def elements(param, shape, dtype, rows, contents):
    """A contiguous tensor. contents: (seed, scale, whether some elements are NaN, infinite, zero or
    as large as can be)."""
    seed, scale, specials = contents
    generator = torch.Generator().manual_seed(seed)
    if param.limits_rows:  # a count of each group, or cumulative: all rows either way
        return torch.tensor([0] * (shape[0] - 1) + [rows], dtype=dtype)
    if param.elem == "I":
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(-128, 128, shape, generator=generator).to(dtype)
    if param.elem not in ("T", "W"):  # scales and what has been quantised
        return (torch.rand(shape, generator=generator) + 0.5).to(dtype)
    values = (torch.randn(shape, generator=generator) * scale).to(dtype)
    if specials and values.numel():
        largest = torch.finfo(dtype).max
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, largest, -largest])
        where = torch.randint(0, values.numel(), (3,), generator=generator)
        which = torch.randint(0, len(odd), (3,), generator=generator)
        values.view(-1)[where] = odd[which].to(dtype)
    return values


@st.composite
def layouts(draw, rank):
    """(order of the axes in memory, gaps between their elements, offset, axes that repeat)."""
    order = draw(st.permutations(range(rank)))
    gaps = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    repeats = draw(st.sets(st.integers(0, rank - 1), max_size=1)) if rank else set()
    return order, gaps, draw(st.integers(0, 3)), repeats


def laid_out(tensor, layout, may_repeat):
    """(view, the memory around it). The view has the tensor's elements, or along axes that repeat
    the first of them everywhere; what lies between is NaN, or a number that is no index."""
    order, gaps, offset, repeats = layout
    kept = tensor
    for axis in repeats if may_repeat else ():
        kept = kept.narrow(axis, 0, min(1, kept.shape[axis]))
    strides, step = [0] * kept.dim(), 1
    for axis in reversed(order):
        strides[axis] = step * gaps[axis]
        if kept.shape[axis] == 1:
            strides[axis] = (0, 1, HUGE)[gaps[axis] - 1]
        else:
            step = max(strides[axis] * kept.shape[axis], 1)
    around = torch.full((offset + step,), torch.nan if tensor.is_floating_point() else 99)
    around = around.to(tensor.dtype)
    view = around.as_strided(kept.shape, strides, offset)
    view.copy_(kept)
    return view.expand(tensor.shape), around
