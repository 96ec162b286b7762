#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <set>

#include "base/error.h"
#include "ir/interpreter.h"
#include "ir/verifier.h"

namespace tenon::ir {
namespace {

// Sizes are drawn until the graph can be run: what a slice or a split asks of them is not known
// beforehand. Two runs, so that flags and optional inputs are tried both ways.
constexpr int kDraws = 64;
constexpr int kRuns = 2;
constexpr int64_t kSizes[] = {2, 3, 4, 6, 8, 12, 16};

// Both sides do the same in float64, save constants that one of them has folded in float32.
constexpr double kSame = 1e-6;

std::set<std::string> SizeNames(const Graph& graph) {
  std::set<std::string> names;
  const auto add = [&names](const Dim& dim) {
    for (std::string& name : dim.symbols()) names.insert(std::move(name));
  };
  for (const Node& node : graph.nodes()) {
    for (const Axis& axis : node.type.axes) add(axis.size);
    for (const Type& type : node.results) {
      for (const Axis& axis : type.axes) add(axis.size);
    }
    add(node.offset);
  }
  return names;
}

// True when no axis is negative and slices lie within what they are slices of.
bool Fits(const Graph& graph, const Bindings& sizes) {
  for (const Node& node : graph.nodes()) {
    for (const Axis& axis : node.type.axes) {
      if (axis.size.Eval(sizes) < 0) return false;
    }
    if (node.op != Op::kSlice && node.op != Op::kWriteSlice) continue;
    const Type& whole = graph.node(node.args[0]).type;
    const Type& part = node.op == Op::kSlice ? node.type : graph.node(node.args[1]).type;
    const auto dim = static_cast<size_t>(node.dim);
    const int64_t begin = node.offset.Eval(sizes);
    const int64_t end = begin + part.axes[dim].size.Eval(sizes);
    if (begin < 0 || end > whole.axes[dim].size.Eval(sizes)) return false;
  }
  return true;
}

// Rows of the smallest table that is read or written through an index.
int64_t SmallestTable(const Graph& graph, const Bindings& sizes) {
  int64_t rows = kSizes[0];
  bool first = true;
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::kGatherRow && node.op != Op::kScatterRow) continue;
    const int64_t own = graph.node(node.args[0]).type.axes[0].size.Eval(sizes);
    rows = first ? own : std::min(rows, own);
    first = false;
  }
  return std::max<int64_t>(rows, 1);
}

// A call that is not inlined: numbers that depend on every bit of its arguments.
void Uninterpreted(const std::map<std::string, AttrValue>& attributes, std::span<const Tensor> args,
                   std::span<const Tensor> results) {
  std::string text;
  for (const auto& [name, value] : attributes) text += name + "=" + AttrText(value) + ";";
  for (const Tensor& arg : args) {
    text.append(arg.ptr<char>(), static_cast<size_t>(arg.numel() * ItemSize(arg.dtype)));
  }
  std::seed_seq seed(text.begin(), text.end());
  std::mt19937 random(seed);
  for (const Tensor& result : results) {
    for (int64_t i = 0; i < result.numel(); ++i) {
      StoreElement(result.data, result.dtype, i, static_cast<double>(random() % 64) / 32 - 1);
    }
  }
}

// Random inputs of a graph, equal for equal seeds.
class Draw {
 public:
  Draw(const Graph& graph, uint32_t seed) : graph_(graph), random_(seed) {
    for (const std::string& name : SizeNames(graph)) {
      inputs_.sizes[name] = kSizes[random_() % std::size(kSizes)];
    }
    for (const Node& node : graph.nodes()) {
      if (node.op == Op::kCall) calls_[node.name] = Uninterpreted;
    }
    inputs_.calls = &calls_;
    fits_ = Fits(graph, inputs_.sizes);
    if (fits_) Fill();
  }
  Draw(const Draw&) = delete;
  Draw& operator=(const Draw&) = delete;

  bool fits() const { return fits_; }
  const RunInputs& inputs() const { return inputs_; }

 private:
  void Fill() {
    table_rows_ = SmallestTable(graph_, inputs_.sizes);
    for (const Node& node : graph_.nodes()) {
      if (node.op == Op::kAttr) inputs_.attributes[node.name] = Attribute(node);
      if (node.op != Op::kInput) continue;
      if (node.optional && random_() % 2 == 0) continue;
      inputs_.tensors[node.name] = Input(node.type);
    }
  }

  AttrValue Attribute(const Node& node) {
    const DType dtype = node.type.elem.dtype;
    if (dtype == DType::kBool) return random_() % 2 == 0;
    if (IsFloat(dtype)) return 0.5 + static_cast<double>(random_() % 64) / 64;
    const auto size = inputs_.sizes.find(node.name);
    return size != inputs_.sizes.end() ? size->second : int64_t{1};
  }

  Tensor Input(const Type& type) {
    const DType dtype = type.elem.concrete()         ? type.elem.dtype
                        : type.elem == Elem::Index() ? DType::kI64
                                                     : inputs_.storage;
    std::vector<int64_t> shape;
    for (const Axis& axis : type.axes) shape.push_back(axis.size.Eval(inputs_.sizes));
    const int64_t count = NumElements(shape);
    auto& memory = memory_.emplace_back(static_cast<size_t>(count * ItemSize(dtype) / 8 + 1));
    for (int64_t i = 0; i < count; ++i) {
      const double value = IsFloat(dtype) ? static_cast<double>(random_() % 1024) / 256 - 2
                                          : static_cast<double>(random_() % table_rows_);
      StoreElement(memory.data(), dtype, i, value);
    }
    return MakeTensor(memory.data(), dtype, shape);
  }

  const Graph& graph_;
  std::mt19937 random_;
  std::deque<std::vector<int64_t>> memory_;
  CallTable calls_;
  RunInputs inputs_;
  int64_t table_rows_ = 1;
  bool fits_ = false;
};

bool IsUnspecified(const HostArray& array, int64_t element) {
  if (array.limit_axis < 0) return false;
  int64_t inner = 1;
  const auto axis = static_cast<size_t>(array.limit_axis);
  for (size_t i = axis + 1; i < array.shape.size(); ++i) inner *= array.shape[i];
  return element / inner % array.shape[axis] >= array.limit;
}

std::optional<std::string> FirstDifference(const std::string& output, const HostArray& was,
                                           const HostArray& is) {
  if (was.shape != is.shape) return fmt::format("output {} has another shape", output);
  for (int64_t i = 0; i < was.numel(); ++i) {
    const double a = was.Value(i);
    const double b = is.Value(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                      std::abs(a - b) <= kSame * std::max(1.0, std::abs(a));
    if (same || IsUnspecified(was, i)) continue;
    return fmt::format("output {} is computed from other elements: element {} of {} was {}, is {}",
                       output, i, was.numel(), a, b);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindDifference(const Graph& before, const Graph& after) {
  int runs = 0;
  for (uint32_t seed = 0; seed < kDraws && runs < kRuns; ++seed) {
    const Draw draw(before, seed);
    if (!draw.fits()) continue;
    std::vector<HostArray> was;
    try {
      was = Interpret(before, draw.inputs());
    } catch (const UsageError&) {
      continue;  // sizes that do not go together
    }
    ++runs;
    std::vector<HostArray> is;
    try {
      is = Interpret(after, draw.inputs());
    } catch (const UsageError& e) {
      return fmt::format("it cannot be computed any more: {}", e.what());
    }
    for (size_t i = 0; i < was.size(); ++i) {
      if (auto difference = FirstDifference(before.outputs()[i].name, was[i], is[i])) {
        return difference;
      }
    }
  }
  return std::nullopt;
}

}  // namespace tenon::ir
