#include "fuse/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/dtype.h"
#include "base/error.h"

namespace tenon::fuse {
namespace {

// SplitMix64: a few lines, the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // Sum of uniforms: near enough to normal, bounded by 6.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

double RowValue(Random& random, InputKind kind, int64_t row, int64_t i) {
  switch (kind) {
    case InputKind::kNormal:
      return random.Normal();
    case InputKind::kWide:
      return random.Normal() * std::pow(10.0, 16 * random.Uniform() - 12);
    case InputKind::kZeros:
      return i % 2 == 0 ? 0.0 : -0.0;
    case InputKind::kSpecial: {
      const double value = random.Normal();
      if (row % 2 == 0 || i % 37 != 5) return value;
      if (row % 3 == 0) return std::numeric_limits<double>::quiet_NaN();
      return row % 4 == 1 ? std::numeric_limits<double>::infinity()
                          : -std::numeric_limits<double>::infinity();
    }
  }
  return 0;
}

bool HasRows(const ir::Type& type) { return !type.axes.empty() && type.axes[0].name == "tokens"; }

// Rows of the smallest table that `index` reads.
int64_t IndexLimit(const ir::Graph& graph, ir::NodeId index, const ir::Bindings& sizes) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  for (const ir::Node& node : graph.nodes()) {
    const bool gathers = node.op == ir::Op::kGatherRow || node.op == ir::Op::kScatterRow;
    if (!gathers || node.args[1] != index) continue;
    limit = std::min(limit, graph.node(node.args[0]).type.axes[0].size.Eval(sizes));
  }
  return limit == std::numeric_limits<int64_t>::max() ? 1 : limit;
}

void Fill(const Tensor& tensor, bool rows, InputKind kind, Random& random) {
  const int64_t count = tensor.numel();
  const int64_t width =
      std::max<int64_t>(tensor.rank > 0 && tensor.size(0) > 0 ? count / tensor.size(0) : count, 1);
  for (int64_t i = 0; i < count; ++i) {
    // Weights and tables are near 1: a fused kernel must not hide behind small factors.
    const double value =
        rows ? RowValue(random, kind, i / width, i % width) : 1 + 0.25 * random.Normal();
    StoreElement(tensor.data, tensor.dtype, i, value);
  }
}

}  // namespace

std::string_view InputKindName(InputKind kind) {
  constexpr std::string_view kNames[] = {"normal", "wide", "zeros", "special"};
  return kNames[static_cast<int>(kind)];
}

ir::Bindings CompleteSizes(const ir::Graph& graph, const ir::Bindings& given) {
  constexpr int64_t kTableRows = 512;
  constexpr int64_t kWidth = 1024;
  ir::Bindings sizes = given;
  for (const ir::NodeId id : graph.inputs()) {
    const ir::Type& type = graph.node(id).type;
    for (size_t i = 0; i < type.axes.size(); ++i) {
      const bool table = i == 0 && !HasRows(type) && type.axes.size() > 1;
      for (const std::string& name : type.axes[i].size.symbols()) {
        sizes.insert({name, table ? kTableRows : kWidth});
      }
    }
  }
  return sizes;
}

std::map<std::string, HostTensor> MakeInputs(const ir::Graph& graph, DType storage,
                                             const ir::Bindings& sizes, InputKind kind) {
  std::map<std::string, HostTensor> inputs;
  uint64_t seed = 1;
  for (const ir::NodeId id : graph.inputs()) {
    const ir::Node& node = graph.node(id);
    HostTensor tensor = MakeFor(node.type, storage, sizes);
    Random random(seed++);
    if (node.type.elem.is_float()) {
      Fill(tensor.view(), HasRows(node.type), kind, random);
    } else {
      const auto limit = static_cast<uint64_t>(IndexLimit(graph, id, sizes));
      for (int64_t i = 0; i < tensor.view().numel(); ++i) {
        StoreElement(tensor.view().data, tensor.view().dtype, i,
                     static_cast<double>(random.Next() % limit));
      }
    }
    inputs[node.name] = std::move(tensor);
  }
  return inputs;
}

ScalarMap CompleteScalars(const ir::Graph& graph, const ScalarMap& given) {
  ScalarMap scalars = given;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kAttr) scalars.insert({node.name, 0.5});
  }
  return scalars;
}

TensorMap Views(const std::map<std::string, HostTensor>& tensors) {
  TensorMap views;
  for (const auto& [name, tensor] : tensors) views[name] = tensor.view();
  return views;
}

}  // namespace tenon::fuse
