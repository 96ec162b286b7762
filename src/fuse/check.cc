#include "fuse/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "base/error.h"
#include "ir/interpreter.h"
#include "ops/compare.h"

namespace tenon::fuse {
namespace {

// Elements whose bits differ; which NaN a NaN is does not matter.
int64_t BitsDiffer(const Tensor& got, const Tensor& chain) {
  const auto size = static_cast<size_t>(ItemSize(got.dtype));
  const auto* left = static_cast<const char*>(got.data);
  const auto* right = static_cast<const char*>(chain.data);
  int64_t differ = 0;
  for (int64_t i = 0; i < got.numel(); ++i, left += size, right += size) {
    differ += std::memcmp(left, right, size) != 0 &&
              !(std::isnan(LoadElement(got.data, got.dtype, i)) &&
                std::isnan(LoadElement(chain.data, chain.dtype, i)));
  }
  return differ;
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
      : fused_(fused), chain_(chain), scalars_(scalars) {}

  void Run(const ir::Bindings& sizes, InputKind kind, CheckResult& result) const {
    const ir::Graph& graph = fused_.graph;
    const auto inputs = MakeInputs(graph, fused_.storage, sizes, kind);
    TensorMap tensors = Views(inputs);
    std::vector<HostTensor> outputs;
    for (const ir::Output& output : graph.outputs()) {
      outputs.push_back(MakeOutput(graph.node(output.value).type, fused_.storage, sizes));
      tensors[output.name] = outputs.back().view();
    }
    const std::vector<ir::HostArray> reference = Reference(Views(inputs), sizes);
    const auto buffers = chain_.Allocate(Views(inputs), sizes);
    chain_.Run(buffers, sizes, scalars_);
    fused_.Run(tensors, sizes, scalars_);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ir::Output& output = graph.outputs()[i];
      const Tensor& got = outputs[i].view();
      ops::Tolerance tolerance = ops::ToleranceOf(graph, output.value, got.dtype);
      // A huge factor multiplies the error of a sum before it.
      tolerance.relative_to_row |= kind == InputKind::kWide;
      const ops::Deviation deviation = ops::Compare(got, reference[i], tolerance);
      result.cases.push_back({sizes, kind, output.name, deviation.worst, deviation.beyond,
                              BitsDiffer(got, ChainOutput(buffers, i))});
    }
  }

 private:
  std::vector<ir::HostArray> Reference(const TensorMap& inputs, const ir::Bindings& sizes) const {
    ir::RunInputs run;
    for (const auto& [name, tensor] : inputs) run.tensors[name] = tensor;
    for (const auto& [name, value] : scalars_) run.attributes[name] = value;
    run.sizes = sizes;
    run.storage = fused_.storage;
    return ir::Interpret(fused_.graph, run);
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
