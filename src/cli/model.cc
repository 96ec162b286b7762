#include "cli/model.h"

#include "analyze/lower.h"
#include "base/dtype.h"

namespace tenon::cli {

fuse::Model ToModel(const analyze::Analysis& analysis, int sm) {
  fuse::Model model;
  model.platform = analysis.environment.platform;
  model.sm = sm;
  model.tp = analysis.environment.tp;
  model.dtype = ParseDType(analysis.environment.dtype).value_or(DType::kBF16);
  model.tokens = analysis.environment.tokens;
  for (const analyze::Variant& variant : analysis.variants) {
    model.layers.push_back(
        {variant.id, variant.layers, variant.compiled, analyze::LowerVariant(variant)});
  }
  for (const analyze::Overlay& overlay : analysis.overlays) {
    if (overlay.applied) continue;
    model.dead.push_back({overlay.kind == "oot" ? "registration" : overlay.kind, overlay.target,
                          overlay.reason.value_or("it never takes effect"), overlay.file,
                          overlay.line});
  }
  return model;
}

}  // namespace tenon::cli
