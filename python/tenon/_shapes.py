"""Shapes of results from the size expressions of the contracts, for integers and symbolic sizes.

The library checks calls; here a call is taken to be good, and a size is only compared where a
tensor has several shapes of one rank: a comparison would tie a compiled graph to what it found.
"""

import ast
import functools

from tenon import _library


class _Expression:
    """A size expression; `solve` finds the one size that is not known."""

    def __init__(self, text):
        tree = ast.parse(text, mode="eval")
        self.names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - {"ceil"}
        # Sizes within a division cannot be solved for.
        self._divided = {
            name.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv))
            for name in ast.walk(node)
            if isinstance(name, ast.Name)
        }
        self._code = compile(tree, text, "eval")

    def known(self, sizes):
        return self.names <= sizes.keys()

    def value(self, sizes):
        return eval(self._code, {"__builtins__": {}, "ceil": _ceil}, dict(sizes))

    def solve(self, value, sizes):
        """(name, its value), or None: the expression is linear in its only unknown."""
        unknown = self.names - sizes.keys()
        if len(unknown) != 1 or unknown & self._divided:
            return None
        (name,) = unknown
        constant = self.value({**sizes, name: 0})
        slope = self.value({**sizes, name: 1}) - constant
        if isinstance(slope, int) and slope == 1:
            return name, value - constant
        return name, (value - constant) // slope


def _ceil(a, b):
    return -(-a // b)


@functools.cache
def _expression(text):
    return _Expression(text)


class _Solver:
    def __init__(self, contract, shapes, values):
        self.contract = contract
        self.values = values
        self.shapes = dict(shapes)  # of the tensors that are there
        self.sizes = {}
        self.moved = None  # number of the axis that the contract sees last
        for param in contract.params:
            value = values[param.name]
            if value is None:
                self.sizes.update(param.absent_sizes)
            elif param.kind == "int":
                self.sizes[param.name] = value
            elif param.kind == "int_list":
                self.sizes.update(list_sizes(param, value, values))
            if param.size:
                choices = param.choices or (False, True)
                self.sizes[param.size] = param.choice_sizes[choices.index(value)]
            if param.sections:
                shape = list(self.shapes[param.name])
                self.shapes[param.name] = shape[1:] + shape[:1] if len(shape) > 1 else shape + [3]
            if param.moves_last and value is not None:
                self._move_last(param.moves_last, value)
            if param.first_last:
                self._move_last(param.name, 0)
        self.tensors = [p for p in contract.params if p.name in self.shapes]
        self.lead = self._find_lead()
        self._solve()
        for param in contract.params:
            if param.kind == "int" and values[param.name] is None and param.absent_size:
                self.sizes[param.name] = _expression(param.absent_size).value(self.sizes)

    def _move_last(self, name, axis):
        shape = list(self.shapes[name])
        self.moved = axis % len(shape)
        shape.append(shape.pop(axis))
        self.shapes[name] = shape

    def _find_lead(self):
        """ "..." is given by the tensor that has nothing else, or by the first that has it."""
        giver = None
        for param in self.tensors:
            if not param.shapes[0].lead:
                continue
            if giver is None or (not param.shapes[0].sizes and giver.shapes[0].sizes):
                giver = param
        if giver is None:
            return []
        shape = list(self.shapes[giver.name])
        lead = shape[: len(shape) - len(giver.shapes[0].sizes)]
        if giver.broadcasts:
            lead = self._join_leads(lead)
        self.sizes["tokens"] = _product(lead)
        return lead

    def _join_leads(self, lead):
        """Where the giver itself broadcasts, an axis that it lacks or has as 1 is another's."""
        for param in self.tensors:
            if not param.broadcasts:
                continue
            own = list(self.shapes[param.name])
            own = own[: len(own) - len(param.shapes[0].sizes)]
            lead = [1] * (len(own) - len(lead)) + lead
            own = [1] * (len(lead) - len(own)) + own
            lead = [b if isinstance(a, int) and a == 1 else a for a, b in zip(lead, own)]
        return lead

    def _rest(self, param, shape):
        """The axes after the leading ones, or None when the ranks differ."""
        axes = list(self.shapes[param.name])
        if param.broadcasts:
            axes = [1] * (len(self.lead) + len(shape.sizes) - len(axes)) + axes
        rest = axes[len(self.lead) if shape.lead else 0 :]
        return rest if len(rest) == len(shape.sizes) else None

    def _fits(self, shape, rest):
        return all(
            not _expression(text).known(self.sizes) or _expression(text).value(self.sizes) == size
            for text, size in zip(shape.sizes, rest)
        )

    def _alternative(self, param):
        found = [(s, r) for s in param.shapes if (r := self._rest(param, s)) is not None]
        if len(found) > 1:
            found = [(s, r) for s, r in found if self._fits(s, r)] or found
        return found[0] if found else (None, [])

    def _solve(self):
        progress = True
        while progress:  # a shape with two unknown sizes waits for another argument
            progress = False
            for param in self.tensors:
                shape, rest = self._alternative(param)
                for text, size in zip(shape.sizes if shape else (), rest):
                    solution = _expression(text).solve(size, self.sizes)
                    if solution:
                        self.sizes[solution[0]] = solution[1]
                        progress = True

    def _reduced(self, out, shape):
        named = {axis % max(len(shape), 1) for axis in self.values[out.reduces]}
        named = named or set(range(len(shape)))
        if self.values[out.keeps]:
            return [1 if axis in named else size for axis, size in enumerate(shape)]
        return [size for axis, size in enumerate(shape) if axis not in named]

    def result(self, out, given, each=None):
        if out.reduces:
            return self._reduced(out, list(given[out.like]))
        if out.like:
            return list(given[out.like]) if out.like in given else [0]
        lead = self.lead if out.shape.lead else []
        sizes = self.sizes if each is None else {**self.sizes, f"{out.each}_each": each}
        axes = lead + [_expression(text).value(sizes) for text in out.shape.sizes]
        if self.moved is not None:
            axes.insert(self.moved, axes.pop())
        return axes

    def strides(self, out, values):
        """None for a row-major result."""
        if not out.column_major_when or not values[out.column_major_when]:
            return None
        strides = []
        step = 1
        for size in reversed(self.lead):
            strides.insert(0, step)
            step = step * size
        columns = _ceil(step, out.column_multiple) * out.column_multiple
        return strides + [columns]


def list_sizes(param, numbers, values):
    """The sizes that a list stands for."""
    if param.length >= 0:
        return {f"{param.name}_{i}": number for i, number in enumerate(numbers)}
    sizes = {"count": len(numbers), "sum": sum(numbers), "max": max(numbers, default=0)}
    sizes["empty"] = int(not numbers)
    if param.per_rank:
        each = len(numbers) == values["world_size"]
        sizes["each"] = int(each)
        sizes["own"] = numbers[_library.group_rank(values["group_name"])] if each else 0
    return {f"{param.name}_{key}": size for key, size in sizes.items()}


def _product(sizes):
    product = 1
    for size in sizes:
        product = product * size
    return product


def storage_type(contract, dtypes, values, dtype_name):
    """T of a call: `dtypes` are those of the tensors that are there, by argument."""
    storage = next(
        (dtypes[p.name] for p in contract.params if p.elem == "T" and p.name in dtypes), "float32"
    )
    if storage.startswith(("int", "bool")):  # read as float32
        storage = "float32"
    for param in contract.params:
        if param.casts and values[param.name] is not None:
            storage = dtype_name(values[param.name])
    return storage


def results(contract, tensors, values, dtype_name):
    """[(shape, dtype's name, strides)] of a good call. `tensors` are those that are there, by argument;
    `values` has every argument; `dtype_name` names a dtype argument."""
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    dtypes = {name: dtype_name(tensor.dtype) for name, tensor in tensors.items()}
    storage = storage_type(contract, dtypes, values, dtype_name)
    solver = _Solver(contract, shapes, values)
    specs = []
    for out in contract.outs:
        if out.dtype_from:
            elem = dtype_name(values[out.dtype_from])
        else:
            elem = storage if out.elem == "T" else out.elem
        for each in values[out.each] if out.each else (None,):
            specs.append((solver.result(out, shapes, each), elem, solver.strides(out, values)))
    return specs
