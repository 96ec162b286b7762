// The Python module of an artefact: the operator's signature over a small ctypes runner.
#include <fmt/format.h>

#include "fuse/artefact.h"

namespace tenon::fuse {
namespace {

constexpr std::string_view kRunner = R"py(
import concurrent.futures
import ctypes
import os
import pathlib

import numpy as np


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_uint8), ("strides", ctypes.c_int64 * 4)]


class _Call(ctypes.Structure):
    _fields_ = [
        ("tensors", ctypes.POINTER(_Tensor)),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("scalars", ctypes.POINTER(ctypes.c_float)),
        ("stream", ctypes.c_bool),
    ]


class _TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("role", ctypes.c_uint8),
        ("is_output", ctypes.c_bool),
        ("per_row", ctypes.c_bool),
    ]


class _TableInfo(ctypes.Structure):
    _fields_ = [("table", ctypes.c_int), ("index", ctypes.c_int)]


_Fn = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Call), ctypes.c_int64, ctypes.c_int64)


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_char_p),
        ("variant", ctypes.c_char_p),
        ("tensors", ctypes.POINTER(_TensorInfo)),
        ("num_tensors", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_char_p)),
        ("num_sizes", ctypes.c_int),
        ("scalars", ctypes.POINTER(ctypes.c_char_p)),
        ("num_scalars", ctypes.c_int),
        ("tables", ctypes.POINTER(_TableInfo)),
        ("num_tables", ctypes.c_int),
        ("fns", (ctypes.c_void_p * 3) * 4),
    ]


_ROW, _PARAM, _TABLE, _INDEX = range(4)
_DTYPES = ["float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "int32", "int64", "bool"]
# bfloat16 is held as its bits: numpy has no such type.
_NUMPY = [np.float32, np.float16, np.uint16, np.uint8, np.int8, np.int32, np.int64, np.bool_]

_library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "kernel.so"))
_library.tenon_row_kernel.restype = ctypes.POINTER(_Kernel)
_kernel = _library.tenon_row_kernel().contents
_fn = ctypes.cast(_kernel.fns[0][_STORAGE], _Fn)
_pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())


def _to_numpy(name, value):
    """(array, dtype name); torch tensors share their memory, bfloat16 becomes its bits."""
    if hasattr(value, "data_ptr"):
        import torch

        if value.device.type != "cpu":
            raise ValueError(f"{_NAME}: {name} must be on the CPU, got {value.device}")
        if value.dtype is torch.bfloat16:
            return value.detach().view(torch.int16).numpy().view(np.uint16), "bfloat16"
        return value.detach().numpy(), str(value.dtype).removeprefix("torch.")
    array = np.asarray(value)
    if array.dtype.name in ("uint16", "bfloat16"):
        return array.view(np.uint16), "bfloat16"
    return array, array.dtype.name


def _widen(array, dtype):
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(array, dtype=np.float32)


def _eval(expression, sizes):
    return eval(expression, {"ceil": lambda a, b: -(-a // b), **sizes})


def _solve(shapes):
    """Sizes from the shapes of the inputs; every other axis is checked against them."""
    sizes = {}
    for pass_number in range(2):
        for name, shape, axes in shapes:
            if len(shape) != len(axes):
                raise ValueError(f"{_NAME}: {name} must have {len(axes)} axes {axes}, got {list(shape)}")
            for size, axis in zip(shape, axes):
                try:
                    expected = _eval(axis, sizes)
                except NameError as error:
                    unknown = error.name
                    try:
                        at_zero = _eval(axis, {**sizes, unknown: 0})
                        slope = _eval(axis, {**sizes, unknown: 1}) - at_zero
                    except NameError:
                        continue
                    if slope:
                        sizes[unknown] = (size - at_zero) // slope
                    expected = _eval(axis, sizes)
                if size != expected:
                    raise ValueError(f"{_NAME}: {name} must be {axes} with {sizes}, got {list(shape)}")
    return sizes


def _prepare(info, value, expected):
    """The array as the kernel reads it, and its dtype's number."""
    name = info.name.decode()
    array, dtype = value
    if expected == "index":
        if dtype not in ("int32", "int64"):
            raise TypeError(f"{_NAME}: {name} must be int32 or int64, got {dtype}")
    elif expected == "param":
        if dtype not in (_DTYPES[_STORAGE], "float32"):
            raise TypeError(f"{_NAME}: {name} must be {_DTYPES[_STORAGE]} or float32, got {dtype}")
    elif dtype != expected:
        raise TypeError(f"{_NAME}: {name} must be {expected}, got {dtype}")
    if info.role == _PARAM:
        return np.ascontiguousarray(_widen(array, dtype)), 0
    if array.ndim > 1 and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array, _DTYPES.index(dtype)


def _run(inputs, scalars):
    values = {name: _to_numpy(name, value) for name, value in inputs.items()}
    sizes = _solve([(name, array.shape, _INPUTS[name][1]) for name, (array, _) in values.items()])
    rows = sizes["tokens"]
    outputs = {}
    for name, (dtype, axes) in _OUTPUTS.items():
        outputs[name] = np.empty([_eval(axis, sizes) for axis in axes], _NUMPY[_DTYPES.index(dtype)])
    tensors = (_Tensor * _kernel.num_tensors)()
    held = []
    for i in range(_kernel.num_tensors):
        info = _kernel.tensors[i]
        name = info.name.decode()
        if info.is_output:
            array, dtype = outputs[name], _DTYPES.index(_OUTPUTS[name][0])
        else:
            array, dtype = _prepare(info, values[name], _INPUTS[name][0])
        held.append(array)
        tensors[i].data = array.ctypes.data
        tensors[i].dtype = dtype
        first = 0 if info.per_row else 1
        strides = [stride // array.itemsize for stride in array.strides]
        if info.role == _TABLE or info.per_row:
            first = 0
        for axis, stride in enumerate(strides):
            tensors[i].strides[axis + first] = stride
    for k in range(_kernel.num_tables):
        table, index = _kernel.tables[k].table, _kernel.tables[k].index
        count = held[table].shape[0]
        if rows and (held[index].min() < 0 or held[index].max() >= count):
            name = _kernel.tensors[index].name.decode()
            raise IndexError(f"{_NAME}: {name} must be in [0, {count})")
    size_values = [sizes[_kernel.sizes[i].decode()] for i in range(_kernel.num_sizes)]
    scalar_values = [scalars[_kernel.scalars[i].decode()] for i in range(_kernel.num_scalars)]
    call = _Call(
        tensors,
        (ctypes.c_int64 * max(len(size_values), 1))(*size_values),
        (ctypes.c_float * max(len(scalar_values), 1))(*scalar_values),
        False,
    )
    parts = max(1, min(os.cpu_count() or 1, rows // 16))
    bounds = [rows * part // parts for part in range(parts + 1)]
    jobs = [
        _pool.submit(_fn, ctypes.byref(call), begin, end) for begin, end in zip(bounds, bounds[1:])
    ]
    for job in jobs:
        job.result()
    return outputs, any(hasattr(value, "data_ptr") for value in inputs.values())


def _result(array, dtype, as_torch):
    if not as_torch:
        return array
    import torch

    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
)py";

std::string AxesText(const ir::Type& type) {
  std::string text;
  for (const ir::Axis& axis : type.axes) text += fmt::format("\"{}\", ", axis.size.text());
  return "[" + text.substr(0, text.empty() ? 0 : text.size() - 2) + "]";
}

std::string TypeWord(const ir::Elem& elem, DType storage) {
  if (elem == ir::Elem::Index()) return "index";
  if (elem == ir::Elem::Param()) return "param";
  return std::string(TorchName(BoundType(elem, storage)));
}

std::string ScalarNames(const ir::Graph& graph, std::string_view form) {
  std::string text;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kAttr) text += fmt::format(fmt::runtime(form), node.name);
  }
  return text;
}

std::string Signature(const ArtefactParts& parts) {
  const ir::Graph& graph = *parts.flat;
  const DType storage = parts.fused->storage;
  std::string arguments;
  std::string pairs;
  std::string shapes;
  for (const ir::NodeId id : graph.inputs()) {
    const ir::Node& node = graph.node(id);
    arguments += (arguments.empty() ? "" : ", ") + node.name;
    pairs += fmt::format("\"{0}\": {0}, ", node.name);
    shapes += fmt::format("    {}: {} {}\n", node.name, AxesText(node.type),
                          TypeWord(node.type.elem, storage));
  }
  std::string results;
  std::string returned;
  for (const ir::Output& output : graph.outputs()) {
    const ir::Type& type = graph.node(output.value).type;
    const std::string dtype(TorchName(BoundType(type.elem, storage)));
    results += fmt::format("    {}: {} {}\n", output.name, AxesText(type), dtype);
    returned +=
        fmt::format("        _result(outputs[\"{}\"], \"{}\", as_torch),\n", output.name, dtype);
  }
  for (const ViewOutput& view : *parts.views) {
    results += fmt::format("    {}: view of {}, channels {} to {}\n", view.name, view.input,
                           view.offset, view.offset + view.size);
    returned +=
        fmt::format("        {}[..., {}:{}],\n", view.input, view.offset, view.offset + view.size);
  }
  return fmt::format(
      "def {0}({1}{2}):\n"
      "    \"\"\"Arrays of numpy or tensors of torch on the CPU.\n\n{3}\n    Returns\n{4}    "
      "\"\"\"\n"
      "    outputs, as_torch = _run({{{5}}}, {{{6}}})\n"
      "    return (\n{7}    )\n",
      graph.name(), arguments, ScalarNames(graph, ", {0}"), shapes, results,
      pairs.substr(0, pairs.empty() ? 0 : pairs.size() - 2), ScalarNames(graph, "\"{0}\": {0}, "),
      returned);
}

}  // namespace

std::string InterfacePy(const ArtefactParts& parts) {
  const ir::Graph& graph = *parts.flat;
  const DType storage = parts.fused->storage;
  std::string text = fmt::format(
      "\"\"\"{}: made by tenon fuse; calls kernel.so beside this file.\"\"\"\n", graph.name());
  std::string tables = fmt::format("\n_NAME = \"{}\"\n_STORAGE = {}  # {}\n_INPUTS = {{\n",
                                   graph.name(), static_cast<int>(storage), TorchName(storage));
  for (const ir::NodeId id : graph.inputs()) {
    const ir::Node& node = graph.node(id);
    tables += fmt::format("    \"{}\": (\"{}\", {}),\n", node.name,
                          TypeWord(node.type.elem, storage), AxesText(node.type));
  }
  tables += "}\n_OUTPUTS = {\n";
  for (const ir::Output& output : graph.outputs()) {
    const ir::Type& type = graph.node(output.value).type;
    tables += fmt::format("    \"{}\": (\"{}\", {}),\n", output.name,
                          TorchName(BoundType(type.elem, storage)), AxesText(type));
  }
  tables += "}\n";
  return text + tables + std::string(kRunner) + "\n\n" + Signature(parts);
}

}  // namespace tenon::fuse
