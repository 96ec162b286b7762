// The sections and headings are those of docs/reports.md; an empty section says "none".
#include <fmt/format.h>

#include <iterator>

#include "base/text.h"
#include "report/words.h"

namespace tenon::report {
namespace {

class Markdown {
 public:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void Gap() { text_ += '\n'; }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string Cell(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("|\n", at)) != std::string::npos; at += 2) {
    text.replace(at, 1, text[at] == '|' ? "\\|" : "; ");
  }
  return text;
}

std::string Place(const analyze::Location& location) {
  return fmt::format("`{}` L{} `{}`", location.file, location.line, location.cls);
}

std::string ByStatus(const Report& report) {
  std::map<std::string, int> counts = CountByStatus(report);
  return fmt::format("{} / {} / {} / {}", counts["open"], counts["optin"], counts["fused"],
                     counts["no_gain"]);
}

void Summary(const Report& report, Markdown& md) {
  const analyze::Analysis& a = report.analysis;
  md.Line("### 0. Summary\n");
  md.Line("| | |");
  md.Line("| --- | --- |");
  md.Line("| Architecture | `{}` |", a.model.architecture);
  md.Line("| Class | `{}` in `{}` |", a.model.cls, a.model.module);
  md.Line("| vLLM | {} |", a.environment.vllm_version.value_or("unknown version"));
  md.Line("| Platform | {} |", a.environment.platform);
  md.Line("| Tensor parallel | {} |", a.environment.tp);
  md.Line("| Dtype | {}{} |", a.environment.dtype,
          a.environment.quant ? ", quantised with " + *a.environment.quant : "");
  for (const analyze::Variant& variant : a.variants) {
    md.Line("| Layers of variant {} | {}: {} ({} operators) |", variant.id, variant.layer_class,
            LayersText(variant.layers), variant.ops.size());
  }
  md.Line("| Opaque operators | {} |", a.stats.opaque);
  md.Line("| Assumptions | {} |", a.stats.assumptions);
  md.Line("| Opportunities open / optin / fused / no_gain | {} |\n", ByStatus(report));
}

void LayerLines(const char* label, const std::vector<analyze::LayerLocation>& places,
                Markdown& md) {
  if (places.empty()) md.Line("- {}: none", label);
  for (const analyze::LayerLocation& place : places) {
    md.Line("- {}: {} ({}layers {})", label, Place(place.location),
            place.kind.empty() ? "" : place.kind + ", ", LayersText(place.layers));
  }
}

void CodeLocations(const Report& report, Markdown& md) {
  const analyze::Analysis& a = report.analysis;
  md.Line("### 1. Code locations\n");
  std::string main = Place(a.locations.main.location);
  if (const auto& elsewhere = a.locations.main.implementation) {
    main += ", implemented in " + Place(*elsewhere);
  }
  for (const analyze::Overlay& overlay : a.overlays) {
    if (overlay.kind == "model" && overlay.applied) {
      main += fmt::format(", replaced by `{}` (`{}` L{})", overlay.replacement, overlay.file,
                          overlay.line);
    }
  }
  md.Line("- Main class: {}", main);
  if (a.locations.inner) md.Line("- Language model: {}", Place(*a.locations.inner));
  LayerLines("Decoder layer", a.locations.decoder_layers, md);
  LayerLines("Attention", a.locations.attention, md);
  LayerLines("MLP", a.locations.mlp, md);
  if (a.overlays.empty()) md.Line("- Platform and patches: none");
  for (const analyze::Overlay& overlay : a.overlays) {
    md.Line("- Platform and patches: {} `{}` → `{}` (`{}` L{}){}", overlay.kind, overlay.target,
            overlay.replacement, overlay.file, overlay.line,
            overlay.applied ? "" : ", not applied: " + overlay.reason.value_or("unknown reason"));
  }
  md.Gap();
}

void OpLine(const analyze::Op& op, int64_t tokens, std::string_view mark, Markdown& md) {
  const std::optional<int64_t> bytes = OpBytes(op, tokens);
  md.Line("{}{}. {}`{}`{}{}, {}{}, `{}:{}`", op.group ? "   " : "", op.i, mark, op.op,
          op.name ? " — " + *op.name : "", op.implicit ? " (implicit)" : "", ShapesText(op),
          bytes ? ", " + BytesText(*bytes) : "", op.file, op.line);
}

void Sequence(const Report& report, Markdown& md) {
  const std::vector<int64_t>& tokens = report.analysis.environment.tokens;
  const int64_t largest = tokens.empty() ? 1 : tokens.back();
  md.Line("### 2. Operator sequence\n");
  if (report.analysis.variants.empty()) md.Line("none\n");
  for (const analyze::Variant& variant : report.analysis.variants) {
    md.Line("Variant {}: `{}`, {}, layers {}. Bytes are those of {} tokens.\n", variant.id,
            variant.layer_class, variant.part, LayersText(variant.layers), largest);
    if (variant.first_layer) {
      md.Line("Layer {} differs: {}\n", variant.first_layer->layer, variant.first_layer->differs);
    }
    const std::set<int> fused = FusedOps(report, variant);
    for (const analyze::Op& op : variant.ops) {
      OpLine(op, largest, op.op == "opaque" ? "? " : fused.contains(op.i) ? "✔ " : "", md);
    }
    md.Gap();
  }
}

void Opportunities(const Report& report, Markdown& md) {
  md.Line("### 3. Fusion opportunities\n");
  bool any = false;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o)) continue;
    if (!any) {
      md.Line(
          "| Priority | Type | Scene | Variant | Status | Now | Target | Saved (decode / prefill) "
          "|");
      md.Line("| --- | --- | --- | --- | --- | --- | --- | --- |");
    }
    any = true;
    md.Line("| {} | {} | {} {} | {} | {} | {} | `{}` | {} |", Stars(o.priority), o.type, o.scene,
            Cell(o.title), o.variant, o.status, ChainText(report, o, " → "), TargetName(o),
            SavedText(o));
  }
  md.Line("{}", any ? "\nTimes are predicted, for one layer on " + report.device + "." : "none");
  md.Gap();
}

std::string FileText(const fuse::FileLines& place) {
  std::vector<std::string> lines;
  for (int line : place.lines) lines.push_back(fmt::format("L{}", line));
  const std::string span =
      lines.size() < 2 ? Join(lines, "") : fmt::format("{}-{}", lines.front(), lines.back());
  return fmt::format("`{}` {}{}", place.file, span,
                     lines.size() > 1 ? fmt::format(" (calls: {})", Join(lines, ", ")) : "");
}

void Benefit(const Report& report, const fuse::Opportunity& o, Markdown& md) {
  md.Line("3. Expected benefit, predicted: launches {} → {}; per layer", o.benefit.launches_before,
          o.benefit.launches_after);
  const analyze::Variant* variant = FindVariant(report, o.variant);
  const double layers = variant ? static_cast<double>(variant->layers.size()) : 1;
  for (const fuse::TokenBenefit& at : o.benefit.per_tokens) {
    md.Line("   - {} tokens: {} → {}, {} saved ({} in all layers){}", at.tokens,
            BytesText(at.bytes_before), BytesText(at.bytes_after), TimeText(at.saved_us),
            TimeText(at.saved_us * layers), at.gain ? "" : ": no gain");
  }
  const auto [condition, arithmetic] = ConditionAndArithmetic(o.benefit);
  if (!condition.empty()) md.Line("   - No gain: {}", condition);
  if (!arithmetic.empty()) md.Line("   - Arithmetic, {}", arithmetic);
}

void Details(const Report& report, Markdown& md) {
  md.Line("### 4. Opportunity details\n");
  bool any = false;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o)) continue;
    any = true;
    md.Line("#### Opportunity {}: {}\n", o.id, o.title);
    std::vector<std::string> files;
    for (const fuse::FileLines& place : o.files) files.push_back(FileText(place));
    md.Line("1. Files to change: {}", files.empty() ? "none" : Join(files, "; "));
    md.Line("2. New fused operator interface:\n\n```python\n{}\n```\n",
            o.interface.value_or("# none"));
    Benefit(report, o, md);
    md.Line("4. Existing implementations: {}{}", o.by.value_or("none"),
            o.flag ? fmt::format(", switched on by `{}`", *o.flag) : "");
    md.Line("5. Preconditions and risks: {}{}", o.reason ? *o.reason + " " : "",
            o.ir ? fmt::format("`tenon fuse report.json --opportunity {}` writes the operator; it "
                               "rounds where the chain rounds, so its results are the chain's.",
                               o.id)
                 : "`tenon fuse` does not generate this one.");
    md.Gap();
  }
  if (!any) md.Line("none\n");
}

void AlreadyFused(const Report& report, Markdown& md) {
  md.Line("### 5. Already fused\n");
  bool any = false;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (o.status != "fused") continue;
    if (!any) md.Line("| Scene | By | Where | Switched by |\n| --- | --- | --- | --- |");
    any = true;
    std::vector<std::string> files;
    for (const fuse::FileLines& place : o.files) files.push_back(FileText(place));
    md.Line("| {} {} | {} | variant {}: {} | {} |", o.scene, Cell(o.title), Cell(o.by.value_or("")),
            o.variant, Join(files, "; "), o.flag ? "`" + *o.flag + "`" : "always on");
  }
  if (!any) md.Line("none");
  md.Gap();
}

void NotProposed(const Report& report, Markdown& md) {
  md.Line("### 6. Not proposed\n");
  bool any = false;
  const auto row = [&](const std::string& scene, const std::string& why) {
    if (!any) md.Line("| Scene | Reason |\n| --- | --- |");
    any = true;
    md.Line("| {} | {} |", Cell(scene), Cell(why));
  };
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (o.status != "no_gain" && o.status != "blocked") continue;
    row(fmt::format("{} {} (variant {})", o.scene, o.title, o.variant),
        fmt::format("{}: {}", o.status, o.reason.value_or(o.benefit.condition)));
  }
  for (const fuse::NearMiss& miss : report.findings.near_misses) {
    row(fmt::format("{} (variant {})", miss.scene, miss.variant),
        fmt::format("near miss: {} of {} operators, stopped at {} (`{}:{}`)", miss.matched, miss.of,
                    miss.stopped_at, miss.file, miss.line));
  }
  for (const fuse::Dead& dead : report.findings.dead) {
    row(fmt::format("{} {}", dead.kind, dead.target),
        fmt::format("never takes effect: {} (`{}:{}`)", dead.reason, dead.file, dead.line));
  }
  if (!any) md.Line("none");
  md.Gap();
}

void Unknowns(const Report& report, Markdown& md) {
  const analyze::Analysis& a = report.analysis;
  md.Line("### 7. Assumptions and unknowns\n");
  for (const analyze::Assumption& x : a.assumptions) {
    md.Line("- Assumed: `{}` is {} at `{}:{}` ({})", x.condition, x.taken ? "true" : "false",
            x.file, x.line, x.why);
  }
  for (const analyze::Variant& variant : a.variants) {
    for (const analyze::Op& op : variant.ops) {
      const analyze::Attr* reason = op.op == "opaque" ? op.Find("reason") : nullptr;
      if (reason == nullptr) continue;
      const auto* text = std::get_if<std::string>(&reason->value);
      md.Line("- Opaque: operator {} of variant {} at `{}:{}`: {}", op.i, variant.id, op.file,
              op.line, text ? *text : "no reason given");
    }
  }
  for (const analyze::Diagnostic& d : a.diagnostics) {
    md.Line("- {}{}: {}{}", d.severity, d.code.empty() ? "" : " " + d.code, d.message,
            d.file ? fmt::format(" (`{}:{}`)", *d.file, d.line.value_or(1)) : "");
  }
  std::map<std::string, std::vector<std::string>> by_origin;
  for (const analyze::ConfigEntry& entry : a.model.config) {
    by_origin[entry.origin].push_back("`" + entry.key + "`");
  }
  for (const auto& [origin, keys] : by_origin) {
    md.Line("- Config values from {}: {}", origin, Join(keys, ", "));
  }
  if (a.assumptions.empty() && a.stats.opaque == 0 && a.diagnostics.empty() && by_origin.empty()) {
    md.Line("none");
  }
}

}  // namespace

std::string ToMarkdown(const Report& report) {
  Markdown md;
  md.Line("## Model operator analysis: {}\n", Title(report));
  Summary(report, md);
  CodeLocations(report, md);
  Sequence(report, md);
  Opportunities(report, md);
  Details(report, md);
  AlreadyFused(report, md);
  NotProposed(report, md);
  Unknowns(report, md);
  return std::move(md).Take();
}

}  // namespace tenon::report
