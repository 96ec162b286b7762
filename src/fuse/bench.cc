#include "fuse/bench.h"

#include "base/timing.h"
#include "fuse/inputs.h"

namespace tenon::fuse {

std::vector<Timing> Bench(const Kernel& fused, const UnfusedKernels& chain,
                          const std::vector<int64_t>& tokens, const ScalarMap& scalars,
                          const ir::Bindings& given_sizes, int repeats) {
  std::vector<Timing> timings;
  for (const int64_t count : tokens) {
    ir::Bindings sizes = given_sizes;
    sizes["tokens"] = count;
    sizes = CompleteSizes(fused.graph, sizes);
    const auto inputs = MakeInputs(fused.graph, fused.storage, sizes, InputKind::kNormal);
    TensorMap tensors = Views(inputs);
    std::vector<HostTensor> outputs;
    for (const ir::Output& output : fused.graph.outputs()) {
      outputs.push_back(MakeFor(fused.graph.node(output.value).type, fused.storage, sizes));
      tensors[output.name] = outputs.back().view();
    }
    const auto buffers = chain.Allocate(Views(inputs), sizes);
    const std::vector<std::function<void()>> both = {[&] { fused.Run(tensors, sizes, scalars); },
                                                     [&] { chain.Run(buffers, sizes, scalars); }};
    for (const auto& run : both) run();
    const std::vector<Sample> samples = TimeInTurn(both, {.repeats = repeats});
    timings.push_back({count, samples[0].median_us, samples[1].median_us, repeats});
  }
  return timings;
}

}  // namespace tenon::fuse
