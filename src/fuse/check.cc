#include "fuse/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.h"
#include "base/error.h"
#include "ir/interpreter.h"

namespace tenon::fuse {
namespace {

struct Tolerance {
  double rtol;
  double atol;
};

// Documented tolerances of one and of two roundings; every further pair of roundings in a row may
// move a value once more.
Tolerance ToleranceOf(DType dtype, int roundings) {
  const bool one = roundings <= 1;
  const double more = std::max(1, roundings / 2);
  switch (dtype) {
    case DType::kF16:
      return one ? Tolerance{1e-3, 1e-4} : Tolerance{2e-3 * more, 1e-3 * more};
    case DType::kBF16:
      return one ? Tolerance{8e-3, 1e-3} : Tolerance{1.6e-2 * more, 8e-3 * more};
    default:
      return one ? Tolerance{1e-5, 1e-5} : Tolerance{2e-5 * more, 2e-5 * more};
  }
}

// Roundings on the longest path to `id`.
std::vector<int> RoundingDepths(const ir::Graph& graph) {
  std::vector<int> depth;
  for (const ir::Node& node : graph.nodes()) {
    int most = 0;
    for (const ir::NodeId arg : node.args) most = std::max(most, depth[static_cast<size_t>(arg)]);
    const bool rounds = node.op == ir::Op::kRound || node.op == ir::Op::kCast;
    depth.push_back(most + (rounds ? 1 : 0));
  }
  return depth;
}

// |got - want| as a share of what is allowed; infinite where one is NaN or infinite alone.
double Share(double got, double want, Tolerance tolerance, double scale) {
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) == std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (got == want) return 0;
  if (std::isinf(got) || std::isinf(want)) return std::numeric_limits<double>::infinity();
  return std::abs(got - want) / (tolerance.atol * scale + tolerance.rtol * std::abs(want));
}

// Sums of products cancel: the absolute part scales with the largest value of the row.
double RowScale(const Tensor& want, int64_t begin, int64_t end) {
  double largest = 1;
  for (int64_t i = begin; i < end; ++i) {
    const double value = std::abs(LoadElement(want.data, want.dtype, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

void Compare(CheckCase& result, const Tensor& got, const Tensor& want, const Tensor& chain,
             Tolerance tolerance) {
  const bool integer = !IsFloat(got.dtype);
  const int64_t width = got.numel() / std::max<int64_t>(got.size(0), 1);
  double scale = 1;
  int64_t off_by_one = 0;
  for (int64_t i = 0; i < got.numel(); ++i) {
    if (i % width == 0) scale = RowScale(want, i, i + width);
    const double a = LoadElement(got.data, got.dtype, i);
    const double b = LoadElement(want.data, want.dtype, i);
    if (integer) {
      off_by_one += a != b;
      result.beyond += std::abs(a - b) > 1;
      result.worst = std::max(result.worst, std::abs(a - b));
    } else {
      const double share = Share(a, b, tolerance, scale);
      result.worst = std::max(result.worst, share);
      result.beyond += share > 1;
    }
    const auto size = static_cast<size_t>(ItemSize(got.dtype));
    const auto* left = static_cast<const char*>(got.data) + static_cast<size_t>(i) * size;
    const auto* right = static_cast<const char*>(chain.data) + static_cast<size_t>(i) * size;
    result.bits_differ += std::memcmp(left, right, size) != 0 &&
                          !(std::isnan(a) && std::isnan(LoadElement(chain.data, chain.dtype, i)));
  }
  // At most 1 % of quantised elements may fall on the other side of a tie.
  if (integer && off_by_one * 100 > got.numel() + 100) result.beyond += off_by_one;
}

// Outputs are filled first with a pattern that no kernel writes by chance.
HostTensor MakeOutput(const ir::Type& type, DType storage, const ir::Bindings& sizes) {
  HostTensor tensor = MakeFor(type, storage, sizes);
  std::memset(tensor.view().data, 0x7B, tensor.bytes().size());
  return tensor;
}

class Checker {
 public:
  Checker(const Kernel& fused, const UnfusedKernels& chain, const ScalarMap& scalars)
      : fused_(fused), chain_(chain), scalars_(scalars), depths_(RoundingDepths(fused.graph)) {}

  void Run(const ir::Bindings& sizes, InputKind kind, CheckResult& result) const {
    const auto inputs = MakeInputs(fused_.graph, fused_.storage, sizes, kind);
    TensorMap tensors = Views(inputs);
    std::vector<HostTensor> outputs;
    std::vector<HostTensor> reference;
    for (const ir::Output& output : fused_.graph.outputs()) {
      const ir::Type& type = fused_.graph.node(output.value).type;
      outputs.push_back(MakeOutput(type, fused_.storage, sizes));
      reference.push_back(MakeOutput(type, fused_.storage, sizes));
      tensors[output.name] = outputs.back().view();
    }
    Reference(Views(inputs), sizes, reference);
    const auto buffers = chain_.Allocate(Views(inputs), sizes);
    chain_.Run(buffers, sizes, scalars_);
    fused_.Run(tensors, sizes, scalars_);
    for (size_t i = 0; i < outputs.size(); ++i) {
      CheckCase one{sizes, kind, fused_.graph.outputs()[i].name, 0, 0, 0};
      const int roundings = depths_[static_cast<size_t>(fused_.graph.outputs()[i].value)];
      Compare(one, outputs[i].view(), reference[i].view(), ChainOutput(buffers, i),
              ToleranceOf(outputs[i].view().dtype, roundings));
      result.cases.push_back(std::move(one));
    }
  }

 private:
  void Reference(const TensorMap& inputs, const ir::Bindings& sizes,
                 const std::vector<HostTensor>& outputs) const {
    ir::RunInputs run;
    for (const auto& [name, tensor] : inputs) run.tensors[name] = tensor;
    for (const auto& [name, value] : scalars_) run.attributes[name] = value;
    run.sizes = sizes;
    run.storage = fused_.storage;
    std::vector<Tensor> views;
    for (const HostTensor& output : outputs) views.push_back(output.view());
    ir::Interpret(fused_.graph, run, views);
  }

  // The stored value that output `i` of the body is, reshaped at most.
  Tensor ChainOutput(const UnfusedKernels::Buffers& buffers, size_t i) const {
    ir::NodeId id = chain_.body().outputs()[i].value;
    while (chain_.body().node(id).op == ir::Op::kReshape) id = chain_.body().node(id).args[0];
    return buffers.Value(id).view();
  }

  const Kernel& fused_;
  const UnfusedKernels& chain_;
  const ScalarMap& scalars_;
  const std::vector<int> depths_;
};

}  // namespace

bool CheckResult::passed() const {
  return !cases.empty() &&
         std::all_of(cases.begin(), cases.end(), [](const CheckCase& c) { return c.passed(); });
}

std::string CheckResult::Sentence() const {
  double worst = 0;
  for (const CheckCase& c : cases) {
    worst = std::max(worst, c.worst);
    if (c.passed()) continue;
    return fmt::format(
        "output {} with {} inputs at {} tokens: {} elements beyond the tolerance, "
        "{} differ in bits from the unfused chain",
        c.output, InputKindName(c.inputs), c.sizes.at("tokens"), c.beyond, c.bits_differ);
  }
  return fmt::format(
      "{} cases: at most {:.2f} of the tolerance from the float64 reference, bits "
      "equal to the unfused chain",
      cases.size(), worst);
}

CheckResult Check(const Kernel& fused, const UnfusedKernels& chain, const ScalarMap& scalars,
                  const ir::Bindings& given_sizes) {
  CheckResult result;
  const Checker checker(fused, chain, scalars);
  for (const int64_t tokens : {1, 3, 64}) {
    ir::Bindings sizes = given_sizes;
    sizes["tokens"] = tokens;
    sizes = CompleteSizes(fused.graph, sizes);
    for (const InputKind kind :
         {InputKind::kNormal, InputKind::kWide, InputKind::kZeros, InputKind::kSpecial}) {
      checker.Run(sizes, kind, result);
    }
  }
  return result;
}

}  // namespace tenon::fuse
