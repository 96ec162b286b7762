// One self-contained page: no script, no external font, style or image.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "report/html_parts.h"

namespace tenon::report {
namespace {

std::string Card(std::string_view value, std::string_view label) {
  return fmt::format(R"(<div class="card"><b>{}</b><span>{}</span></div>)", value, label) + "\n";
}

std::string Header(const Report& report) {
  const analyze::Analysis& a = report.analysis;
  std::vector<std::string> tokens;
  for (int64_t count : a.environment.tokens) tokens.push_back(std::to_string(count));
  std::string out = fmt::format("<h1>{}</h1>\n", HtmlText(Title(report)));
  out += fmt::format("<p class=\"faint\">vLLM {}, {}, tensor parallel {}, {}, {} tokens</p>\n",
                     HtmlText(a.environment.vllm_version.value_or("of unknown version")),
                     HtmlText(a.environment.platform), a.environment.tp,
                     HtmlText(a.environment.dtype), Join(tokens, " and "));
  size_t layers = 0;
  size_t ops = 0;
  for (const analyze::Variant& variant : a.variants) {
    layers += variant.layers.size();
    ops = std::max(ops, variant.ops.size());
  }
  std::map<std::string, int> counts = CountByStatus(report);
  out += "<div class=\"cards\">\n";
  out += Card(std::to_string(layers), "layers");
  out += Card(std::to_string(ops), "operators a layer");
  out += Card(std::to_string(counts["open"]), "open opportunities");
  out += Card(std::to_string(counts["optin"]), "switched off today");
  out += Card(std::to_string(counts["fused"]), "fused already");
  out += Card(std::to_string(a.stats.opaque), "not understood");
  out += Card(std::to_string(a.stats.assumptions), "assumptions");
  return out + "</div>\n";
}

std::string PlaceRow(const Report& report, std::string_view role, const analyze::Location& place,
                     std::string_view layers) {
  constexpr int kLinesAfter = 14;  // the class line, its docstring and the head of __init__
  std::string excerpt = Excerpt(report, place.file, place.line, 0, kLinesAfter);
  if (!excerpt.empty()) excerpt = "<details><summary>code</summary>" + excerpt + "</details>";
  return fmt::format(
      "<tr><td>{}</td><td><code>{}</code><br><code class=\"faint\">{}:{}</code>{}"
      "</td><td>{}</td></tr>\n",
      role, HtmlText(place.cls), HtmlText(place.file), place.line, excerpt, layers);
}

std::string Locations(const Report& report) {
  const analyze::Locations& l = report.analysis.locations;
  std::string out =
      "<h2>Where the code is</h2>\n<div class=\"scroll\"><table>\n"
      "<tr><th>Part</th><th>Class</th><th>Layers</th></tr>\n";
  out += PlaceRow(report, "Main class", l.main.location, "");
  if (l.main.implementation) out += PlaceRow(report, "Implemented in", *l.main.implementation, "");
  if (l.inner) out += PlaceRow(report, "Language model", *l.inner, "");
  const auto rows = [&](std::string_view role, const std::vector<analyze::LayerLocation>& places) {
    for (const analyze::LayerLocation& place : places) {
      const std::string kind = place.kind.empty() ? "" : " (" + place.kind + ")";
      out += PlaceRow(report, std::string(role) + HtmlText(kind), place.location,
                      LayersText(place.layers));
    }
  };
  rows("Decoder layer", l.decoder_layers);
  rows("Attention", l.attention);
  rows("MLP", l.mlp);
  for (const analyze::Overlay& overlay : report.analysis.overlays) {
    out += fmt::format(
        "<tr><td>{}</td><td><code>{}</code> → <code>{}</code><br><code class="
        "\"faint\">{}:{}</code></td><td>{}</td></tr>\n",
        HtmlText(overlay.kind), HtmlText(overlay.target), HtmlText(overlay.replacement),
        HtmlText(overlay.file), overlay.line, overlay.applied ? "applied" : "not applied");
  }
  return out + "</table></div>\n";
}

std::string Variants(const Report& report) {
  std::string out;
  for (const analyze::Variant& variant : report.analysis.variants) {
    out +=
        fmt::format("<h2>One layer: {}</h2>\n<p class=\"faint\">Variant {}, layers {}. {}</p>\n",
                    HtmlText(variant.layer_class), variant.id, LayersText(variant.layers),
                    variant.first_layer
                        ? HtmlText(fmt::format("Layer {} differs: {}.", variant.first_layer->layer,
                                               variant.first_layer->differs))
                        : "");
    out += "<div class=\"variant\">\n" + PathSvg(report, variant) + "<div>\n";
    for (int64_t tokens : report.analysis.environment.tokens) {
      out += fmt::format("<h3>Bytes read and written, {} token{}</h3>\n", tokens,
                         tokens == 1 ? "" : "s");
      out += ByteBars(report, variant, tokens);
    }
    out +=
        "<p class=\"faint key\"><i class=\"before\"></i>today<i class=\"after\"></i>with the "
        "proposed fusions; a fusion's saving is shared among its operators in proportion to "
        "their bytes.</p>\n</div>\n</div>\n";
  }
  return out;
}

std::string OpportunityTable(const Report& report) {
  std::string rows;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o)) continue;
    rows += fmt::format(
        "<tr><td>{}</td><td><a href=\"#opportunity-{}\">{} {}</a></td><td>{}</td><td><span "
        "class=\"status\">{}</span></td><td><code>{}</code></td><td>{}</td></tr>\n",
        Stars(o.priority), o.id, HtmlText(o.scene), HtmlText(o.title), HtmlText(o.type),
        HtmlText(o.status), HtmlText(TargetName(o)), SavedText(o));
  }
  if (rows.empty()) return "<h2>Fusion opportunities</h2>\n<p>none</p>\n";
  return "<h2>Fusion opportunities</h2>\n<div class=\"scroll\"><table>\n<tr><th>Priority</th>"
         "<th>Scene</th><th>Type</th><th>Status</th><th>Target</th>"
         "<th>Saved a layer (decode / prefill)</th></tr>\n" +
         rows + "</table></div>\n<p class=\"faint\">Times are predicted for " +
         HtmlText(report.device) + ".</p>\n";
}

std::string BenefitBars(const fuse::Opportunity& o) {
  std::string out = R"(<div class="bars">)";
  for (const fuse::TokenBenefit& at : o.benefit.per_tokens) {
    const double share =
        at.bytes_before > 0 ? 100.0 * static_cast<double>(at.bytes_after) / at.bytes_before : 100;
    out += fmt::format(
        "<span>{} token{}</span><span class=\"track\"><i class=\"bar before\" "
        "style=\"width:100%\"></i><i class=\"bar after\" style=\"width:{:.2f}%\">"
        "</i></span><span>{} → {}, {} saved</span>\n",
        at.tokens, at.tokens == 1 ? "" : "s", share, BytesText(at.bytes_before),
        BytesText(at.bytes_after), TimeText(at.saved_us));
  }
  return out + "</div>\n";
}

std::string OpportunityDetails(const Report& report) {
  std::string out;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o)) continue;
    out += fmt::format(
        "<div class=\"opportunity\" id=\"opportunity-{}\">\n<h3>{}. {} <span class="
        "\"status\">{}</span></h3>\n<p>{}</p>\n",
        o.id, o.id, HtmlText(o.title), HtmlText(o.status), HtmlText(ChainText(report, o, " → ")));
    out += BenefitBars(o);
    const auto [condition, arithmetic] = ConditionAndArithmetic(o.benefit);
    out += fmt::format("<p class=\"faint\">Launches {} → {}. {}</p>\n", o.benefit.launches_before,
                       o.benefit.launches_after,
                       condition.empty() ? "" : HtmlText("No gain: " + condition + "."));
    if (!arithmetic.empty()) {
      out += "<details><summary>arithmetic</summary><p class=\"faint\">" + HtmlText(arithmetic) +
             "</p></details>\n";
    }
    if (o.by || o.flag) {
      out += fmt::format("<p>Exists: {} {}</p>\n", HtmlText(o.by.value_or("")),
                         o.flag ? "(<code>" + HtmlText(*o.flag) + "</code>)" : "");
    }
    if (o.interface) out += "<pre>" + HtmlText(*o.interface) + "</pre>\n";
    if (o.ir) {
      out += fmt::format("<p><code>tenon fuse report.json --opportunity {}</code></p>\n", o.id);
    }
    for (const fuse::FileLines& place : o.files) {
      for (int line : place.lines) {
        constexpr int kAround = 3;
        const std::string place_text =
            fmt::format("<code>{}:{}</code>", HtmlText(place.file), line);
        const std::string excerpt = Excerpt(report, place.file, line, kAround, kAround);
        out += excerpt.empty()
                   ? "<p>" + place_text + "</p>\n"
                   : "<details><summary>" + place_text + "</summary>" + excerpt + "</details>\n";
      }
    }
    out += "</div>\n";
  }
  return out;
}

std::string Others(const Report& report) {
  std::string fused;
  std::string declined;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    const std::string head = fmt::format("<tr><td>{} {}</td><td>{}</td>", HtmlText(o.scene),
                                         HtmlText(o.title), o.variant);
    if (o.status == "fused") {
      fused += head + "<td>" + HtmlText(o.by.value_or("")) + "</td></tr>\n";
    } else if (o.status == "no_gain" || o.status == "blocked") {
      declined += head + "<td>" + o.status + ": " +
                  HtmlText(o.reason.value_or(o.benefit.condition)) + "</td></tr>\n";
    }
  }
  for (const fuse::NearMiss& miss : report.findings.near_misses) {
    declined += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>near miss: {} of {} operators, stopped "
        "at {} (<code>{}:{}</code>)</td></tr>\n",
        HtmlText(miss.scene), miss.variant, miss.matched, miss.of, HtmlText(miss.stopped_at),
        HtmlText(miss.file), miss.line);
  }
  const auto table = [](std::string_view title, std::string_view column, const std::string& rows) {
    if (rows.empty()) return fmt::format("<h2>{}</h2>\n<p>none</p>\n", title);
    return fmt::format(
        "<h2>{}</h2>\n<div class=\"scroll\"><table>\n<tr><th>Scene</th>"
        "<th>Variant</th><th>{}</th></tr>\n{}</table></div>\n",
        title, column, rows);
  };
  return table("Already fused", "By", fused) + table("Not proposed", "Reason", declined);
}

std::string Unknowns(const Report& report) {
  std::string items;
  for (const analyze::Assumption& x : report.analysis.assumptions) {
    items += fmt::format("<li><code>{}</code> taken as {} at <code>{}:{}</code>: {}</li>\n",
                         HtmlText(x.condition), x.taken ? "true" : "false", HtmlText(x.file),
                         x.line, HtmlText(x.why));
  }
  for (const analyze::Diagnostic& d : report.analysis.diagnostics) {
    items += fmt::format("<li>{} {}: {}</li>\n", d.severity, d.code, HtmlText(d.message));
  }
  if (items.empty()) return "<h2>Assumptions and unknowns</h2>\n<p>none</p>\n";
  return "<h2>Assumptions and unknowns</h2>\n<ul>\n" + items + "</ul>\n";
}

}  // namespace

std::string ToHtml(const Report& report) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}: operators and fusions</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
      HtmlText(Title(report)), kStyle);
  out += Header(report);
  out += OpportunityTable(report);
  out += Locations(report);
  out += Variants(report);
  out += "<h2>Opportunity details</h2>\n";
  const std::string details = OpportunityDetails(report);
  out += details.empty() ? "<p>none</p>\n" : details;
  out += Others(report);
  out += Unknowns(report);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace tenon::report
