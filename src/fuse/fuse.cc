#include "fuse/fuse.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "fuse/artefact.h"
#include "fuse/body.h"
#include "fuse/compose.h"
#include "ir/parser.h"
#include "ir/verifier.h"

namespace tenon::fuse {
namespace {

// The pipeline. Each stage is a function of its own file; a red check ends it before any time is
// printed, a chain that gains nothing before anything is written.
FuseResult Run(ir::Graph body, DType storage, const FuseOptions& options) {
  FuseResult result;
  result.name = body.name();
  CheckWritable(options.output);

  options.progress(fmt::format("verify   {}", body.name()));
  ir::Verify(body);
  const std::vector<ViewOutput> views = TakeViewOutputs(body);
  const ir::Graph flat = ir::RunPass("inline", InlineCalls, body);

  options.progress("compile  the fused kernel");
  for (const ChainStep& step : UnfusedChain(body)) result.chain.push_back(step.name);
  const Kernel fused =
      BuildKernel(flat, storage, fmt::format("{}, rounded as the chain", Join(result.chain, ", ")));
  result.plan = emit::PlanText(flat, fused.plan);

  options.progress("compile  the unfused chain");
  const UnfusedKernels chain(body, storage);
  if (chain.size() < 2) {
    result.status = FuseStatus::kNoGain;
    result.sentence = fmt::format("{}: one operator only ({}): there is nothing to fuse",
                                  result.name, chain.size() == 1 ? result.chain[0] : "copies");
    return result;
  }

  options.progress("check    against the float64 reference and the unfused chain");
  const ScalarMap scalars = CompleteScalars(flat, options.scalars);
  result.check = Check(fused, chain, scalars, options.sizes);
  if (!result.check.passed()) {
    result.status = FuseStatus::kCheckFailed;
    result.sentence = fmt::format("{}: check failed: {}", result.name, result.check.Sentence());
    return result;
  }

  options.progress("bench    fused and unfused, interleaved");
  result.timings = Bench(fused, chain, options.tokens, scalars, options.sizes, options.repeats);
  const auto best =
      std::max_element(result.timings.begin(), result.timings.end(),
                       [](const Timing& a, const Timing& b) { return a.speedup() < b.speedup(); });
  if (best == result.timings.end() || best->speedup() < kLeastSpeedup) {
    result.status = FuseStatus::kNoGain;
    result.sentence = fmt::format(
        "{}: refused: the fused kernel gains nothing here (best {:.2f}x, a gain is {:.2f}x)",
        result.name, best == result.timings.end() ? 0 : best->speedup(), kLeastSpeedup);
    return result;
  }

  result.sentence =
      fmt::format("{}: {:.2f}x at {} tokens", result.name, best->speedup(), best->tokens);
  result.artefact = WriteArtefact({&body, &flat, &fused, &views, &result}, options.output);
  return result;
}

}  // namespace

FuseResult FuseOpportunity(const Findings& findings, int number, DType dtype,
                           const FuseOptions& options) {
  const auto& all = findings.opportunities;
  TENON_CHECK(!all.empty(), "fuse: the report lists no opportunities");
  const auto found = std::find_if(all.begin(), all.end(),
                                  [number](const Opportunity& o) { return o.id == number; });
  TENON_CHECK(found != all.end(), "fuse: opportunity must be between 1 and {}, got {}",
              all.back().id, number);
  if (!found->ir) {
    const std::string reason =
        found->reason ? *found->reason
                      : fmt::format("only row-wise chains are generated, {} is of type {}",
                                    found->scene, found->type);
    throw UsageError(fmt::format("fuse: opportunity {} ({}: {}, {}) cannot be generated: {}",
                                 number, found->scene, found->title, found->status, reason));
  }
  return Run(ir::ParseGraph(*found->ir, fmt::format("opportunity {}", number)),
             options.storage.value_or(dtype), options);
}

FuseResult FuseFunction(const ir::Graph& lowered, const FuseOptions& options) {
  ComposeRequest request;
  request.name = lowered.name();
  ComposePart part{&lowered, {}, -1};
  DType storage = DType::kF32;
  bool typed = false;
  for (size_t i = 0; i < lowered.nodes().size(); ++i) {
    const ir::Node& node = lowered.nodes()[i];
    if (node.op == ir::Op::kCall || node.op == ir::Op::kOpaque) {
      part.calls.push_back(static_cast<ir::NodeId>(i));
    }
    if (node.op != ir::Op::kInput || node.type.axes.empty() || !node.type.elem.is_float()) continue;
    if (typed) continue;
    typed = true;
    storage = node.type.elem.dtype;
    request.rows = node.type.axes[0].size.text();
  }
  TENON_CHECK(typed, "fuse: {} has no tensor argument of a float type", lowered.name());
  request.storage = storage;
  request.is_function = true;
  request.parts.push_back(std::move(part));
  return Run(Compose(request), options.storage.value_or(storage), options);
}

}  // namespace tenon::fuse
