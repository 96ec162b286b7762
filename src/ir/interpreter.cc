#include "ir/interpreter.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/eval.h"
#include "ir/op_table.h"

namespace tenon::ir {
namespace {

const Tensor* FindTensor(const RunInputs& inputs, const std::string& name) {
  const auto it = inputs.tensors.find(name);
  return it == inputs.tensors.end() || !it->second ? nullptr : &*it->second;
}

std::string InputText(const Graph& graph, const Node& input) {
  return fmt::format("{}: {} must be {}", graph.name(), input.name, TypeText(input.type));
}

void CheckInput(const Graph& graph, const Node& input, const Tensor& tensor, DType storage) {
  const auto fits = [&] {
    switch (input.type.elem.kind) {
      case Elem::Kind::kConcrete:
        return tensor.dtype == input.type.elem.dtype;
      case Elem::Kind::kStorage:
        return tensor.dtype == storage;
      case Elem::Kind::kParam:
        return IsFloat(tensor.dtype);
      case Elem::Kind::kIndex:
        return tensor.dtype == DType::kI32 || tensor.dtype == DType::kI64;
    }
    throw InternalError(__FILE__, __LINE__, "unknown element kind");
  };
  const bool is_storage = input.type.elem == Elem::Storage();
  TENON_CHECK(fits(), "{}{}, got {}", InputText(graph, input),
              is_storage ? fmt::format(" with T = {}", DTypeName(storage)) : "",
              DTypeName(tensor.dtype));
  TENON_CHECK(tensor.rank == static_cast<int32_t>(input.type.axes.size()), "{}, got {}",
              InputText(graph, input), ShapeText(tensor.shape()));
}

// One pass over the tensors' shapes; true when a size was found.
bool SolveSizes(const Graph& graph, const RunInputs& inputs, Bindings* sizes) {
  bool found = false;
  for (NodeId id : graph.inputs()) {
    const Node& input = graph.node(id);
    const Tensor* tensor = FindTensor(inputs, input.name);
    if (tensor == nullptr) continue;
    for (size_t i = 0; i < input.type.axes.size(); ++i) {
      const auto solved = input.type.axes[i].size.Solve(tensor->sizes[i], *sizes);
      if (!solved) continue;
      sizes->insert(*solved);
      found = true;
    }
  }
  return found;
}

DType StorageOf(const Elem& elem, const HostArray& value) {
  return elem.concrete() ? elem.dtype : value.dtype;
}

std::vector<int64_t> ShapeOf(const Type& type, const Bindings& sizes) {
  std::vector<int64_t> shape;
  for (const Axis& axis : type.axes) {
    shape.push_back(axis.size.Eval(sizes));
    TENON_CHECK(shape.back() >= 0, "{}: axis {} has size {}", TypeText(type), axis.name,
                shape.back());
  }
  return shape;
}

HostArray Filled(DType dtype, std::vector<int64_t> shape, double value) {
  HostArray array(dtype, std::move(shape));
  const Word word =
      IsFloat(dtype) ? Word{.f = value} : Word{.i = static_cast<int64_t>(RoundTo(value, dtype))};
  std::fill(array.words.begin(), array.words.end(), word);
  return array;
}

// A dense tensor that owns its memory, in storage precision: what an operator is called with.
struct StoredTensor {
  std::vector<char> bytes;
  Tensor tensor;

  StoredTensor(DType dtype, const std::vector<int64_t>& shape)
      : bytes(static_cast<size_t>(NumElements(shape) * ItemSize(dtype))),
        tensor(MakeTensor(bytes.data(), dtype, shape)) {}
};

class Interpreter {
 public:
  Interpreter(const Graph& graph, const RunInputs& inputs)
      : graph_(graph),
        inputs_(inputs),
        sizes_(BindSizes(graph, inputs)),
        values_(graph.nodes().size()),
        uses_(LiveUses()) {}

  std::vector<HostArray> Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (uses_[static_cast<size_t>(id)] == 0) continue;
      Evaluate(id);
      for (NodeId arg : graph_.node(id).args) Release(arg);
    }
    std::vector<HostArray> outputs;
    for (const Output& output : graph_.outputs()) {
      std::vector<HostArray>& results = values_[static_cast<size_t>(output.value)];
      if (--uses_[static_cast<size_t>(output.value)] == 0) {
        outputs.push_back(std::move(results[0]));
      } else {
        outputs.push_back(results[0]);
      }
    }
    return outputs;
  }

 private:
  // Uses by nodes that an output needs, and by outputs: 0 for dead nodes.
  std::vector<int> LiveUses() const {
    std::vector<int> uses(graph_.nodes().size(), 0);
    for (const Output& output : graph_.outputs()) ++uses[static_cast<size_t>(output.value)];
    for (size_t i = uses.size(); i-- > 0;) {
      if (uses[i] == 0) continue;
      for (NodeId arg : graph_.nodes()[i].args) ++uses[static_cast<size_t>(arg)];
    }
    return uses;
  }

  void Release(NodeId id) {
    if (--uses_[static_cast<size_t>(id)] == 0) values_[static_cast<size_t>(id)] = {};
  }

  const HostArray& ValueOf(NodeId id) const { return values_[static_cast<size_t>(id)][0]; }

  // What W and I are is known per value only: that of the argument which the result takes its
  // elements from, the wider one for integer arithmetic.
  DType ResolveDType(const Node& node) const {
    const Elem& elem = node.type.elem;
    if (elem.concrete()) return elem.dtype;
    if (elem.kind == Elem::Kind::kStorage) return inputs_.storage;
    TENON_CHECK(!node.args.empty() && node.op != Op::kRound && node.op != Op::kCast,
                "{}: {} does not say which type {} is", graph_.name(), OpName(node.op),
                ElemText(elem));
    if (elem.kind == Elem::Kind::kIndex && IsElementwise(node.op)) {
      const bool wide = std::any_of(node.args.begin(), node.args.end(),
                                    [&](NodeId a) { return ValueOf(a).dtype == DType::kI64; });
      return wide ? DType::kI64 : DType::kI32;
    }
    return ValueOf(node.args[node.op == Op::kSelect ? 1 : 0]).dtype;
  }

  void Evaluate(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<HostArray>& results = values_[static_cast<size_t>(id)];
    switch (node.op) {
      case Op::kInput:
        results = {Input(node)};
        return;
      case Op::kAttr:
        results = {Attribute(node)};
        return;
      case Op::kConst:
        results = {Filled(ResolveDType(node), {}, RoundTo(node.value, ResolveDType(node)))};
        return;
      case Op::kIota: {
        HostArray iota(ResolveDType(node), ShapeOf(node.type, sizes_));
        for (size_t i = 0; i < iota.words.size(); ++i) iota.words[i].i = static_cast<int64_t>(i);
        results = {std::move(iota)};
        return;
      }
      case Op::kPresent:
        results = {Filled(DType::kBool, {}, FindTensor(inputs_, node.name) != nullptr ? 1 : 0)};
        return;
      case Op::kCall:
        results = Call(node);
        return;
      case Op::kResult:
        results = {values_[static_cast<size_t>(node.args[0])][static_cast<size_t>(node.dim)]};
        return;
      case Op::kOpaque:
        throw UsageError(fmt::format("{}: node %{} is opaque and cannot be evaluated: {}{}",
                                     graph_.name(), id, node.name, SpanText(node.span)));
      default:
        results = {Compute(node)};
    }
  }

  HostArray Compute(const Node& node) const {
    Evaluation e{graph_, node, ResolveDType(node), ShapeOf(node.type, sizes_), {}, sizes_};
    for (NodeId arg : node.args) e.args.push_back(&ValueOf(arg));
    if (IsElementwise(node.op)) return EvalElementwise(e);
    if (node.op == Op::kReduce) return EvalReduce(e);
    if (node.op == Op::kMatmul) return EvalMatmul(e);
    if (node.op == Op::kGatherRow || node.op == Op::kScatterRow) return EvalRows(e);
    return EvalMovement(e);
  }

  HostArray Input(const Node& node) const {
    if (const Tensor* tensor = FindTensor(inputs_, node.name)) return LoadTensor(*tensor);
    const Elem& elem = node.type.elem;
    DType dtype = elem.dtype;
    if (elem == Elem::Storage()) dtype = inputs_.storage;
    if (elem == Elem::Param()) dtype = DType::kF32;
    if (elem == Elem::Index()) dtype = DType::kI64;
    return Filled(dtype, ShapeOf(node.type, sizes_), node.value);
  }

  HostArray Attribute(const Node& node) const {
    const auto it = inputs_.attributes.find(node.name);
    TENON_CHECK(it != inputs_.attributes.end(), "{}: attribute {} has no value", graph_.name(),
                node.name);
    const DType dtype = ResolveDType(node);
    const auto* real = std::get_if<double>(&it->second);
    const auto* integer = std::get_if<int64_t>(&it->second);
    const auto* flag = std::get_if<bool>(&it->second);
    TENON_CHECK(flag != nullptr || integer != nullptr || (real != nullptr && IsFloat(dtype)),
                "{}: attribute {} must be one {}", graph_.name(), node.name, DTypeName(dtype));
    HostArray scalar(dtype, {});
    if (IsFloat(dtype)) {
      const double value = real != nullptr      ? *real
                           : integer != nullptr ? static_cast<double>(*integer)
                                                : static_cast<double>(*flag);
      scalar.words[0].f = RoundTo(value, dtype);
    } else {
      scalar.words[0].i = flag != nullptr ? int64_t{*flag} : *integer;
    }
    return scalar;
  }

  std::vector<HostArray> Call(const Node& node) const {
    const CallFunction* function = nullptr;
    if (inputs_.calls != nullptr) {
      if (const auto it = inputs_.calls->find(node.name); it != inputs_.calls->end()) {
        function = &it->second;
      }
    }
    TENON_CHECK(function != nullptr, "{}: no reference of operator {} was given", graph_.name(),
                node.name);
    std::vector<std::unique_ptr<StoredTensor>> stored;
    std::vector<Tensor> args;
    for (NodeId arg : node.args) {
      const HostArray& value = ValueOf(arg);
      stored.push_back(std::make_unique<StoredTensor>(value.dtype, value.shape));
      StoreTensor(value, stored.back()->tensor);
      args.push_back(stored.back()->tensor);
    }
    std::vector<Tensor> results;
    for (const Type& type : node.results) {
      TENON_CHECK(type.elem.concrete() || type.elem.kind == Elem::Kind::kStorage,
                  "{}: the result of {} must have a known type, got {}", graph_.name(), node.name,
                  TypeText(type));
      const DType dtype = type.elem.concrete() ? type.elem.dtype : inputs_.storage;
      stored.push_back(std::make_unique<StoredTensor>(dtype, ShapeOf(type, sizes_)));
      results.push_back(stored.back()->tensor);
    }
    (*function)(node.call, args, results);
    std::vector<HostArray> values;
    values.reserve(results.size());
    for (const Tensor& result : results) values.push_back(LoadTensor(result));
    return values;
  }

  const Graph& graph_;
  const RunInputs& inputs_;
  const Bindings sizes_;
  std::vector<std::vector<HostArray>> values_;  // per node, one per result
  std::vector<int> uses_;                       // not yet served
};

}  // namespace

Bindings BindSizes(const Graph& graph, const RunInputs& inputs) {
  Bindings sizes = inputs.sizes;
  for (const auto& [name, value] : inputs.attributes) {
    if (const auto* integer = std::get_if<int64_t>(&value)) sizes.insert({name, *integer});
  }
  std::set<std::string> known;
  for (NodeId id : graph.inputs()) {
    const Node& input = graph.node(id);
    known.insert(input.name);
    const Tensor* tensor = FindTensor(inputs, input.name);
    if (tensor != nullptr) {
      CheckInput(graph, input, *tensor, inputs.storage);
    } else {
      TENON_CHECK(input.optional, "{}: input {} is missing", graph.name(), input.name);
    }
  }
  for (const auto& [name, tensor] : inputs.tensors) {
    TENON_CHECK(known.contains(name), "{}: has no input {}; its inputs are {}", graph.name(), name,
                fmt::join(known, ", "));
  }
  while (SolveSizes(graph, inputs, &sizes)) {
  }
  for (NodeId id : graph.inputs()) {
    const Node& input = graph.node(id);
    const Tensor* tensor = FindTensor(inputs, input.name);
    for (size_t i = 0; i < input.type.axes.size(); ++i) {
      const Dim& size = input.type.axes[i].size;
      if (tensor == nullptr) {
        for (const std::string& name : size.symbols()) sizes.insert({name, 1});
      } else {
        const int64_t expected = size.Eval(sizes);
        TENON_CHECK(tensor->sizes[i] == expected, "{} with {} = {}, got {}",
                    InputText(graph, input), input.type.axes[i].name, expected,
                    ShapeText(tensor->shape()));
      }
    }
  }
  return sizes;
}

std::vector<HostArray> Interpret(const Graph& graph, const RunInputs& inputs) {
  return Interpreter(graph, inputs).Run();
}

void Interpret(const Graph& graph, const RunInputs& inputs, std::span<const Tensor> outputs) {
  TENON_CHECK(outputs.size() == graph.outputs().size(), "{}: has {} outputs, got {} tensors",
              graph.name(), graph.outputs().size(), outputs.size());
  const std::vector<HostArray> results = Interpret(graph, inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    const Output& output = graph.outputs()[i];
    const DType expected = StorageOf(graph.node(output.value).type.elem, results[i]);
    TENON_CHECK(outputs[i].dtype == expected, "{}: output {} must be {}, got {}", graph.name(),
                output.name, DTypeName(expected), DTypeName(outputs[i].dtype));
    const auto shape = outputs[i].shape();
    TENON_CHECK(
        std::equal(shape.begin(), shape.end(), results[i].shape.begin(), results[i].shape.end()),
        "{}: output {} must be {}, got {}", graph.name(), output.name, ShapeText(results[i].shape),
        ShapeText(shape));
  }
  for (size_t i = 0; i < results.size(); ++i) StoreTensor(results[i], outputs[i]);
}

}  // namespace tenon::ir
