#include "report/html_parts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace tenon::report {
namespace {

// All lengths of the drawing are in units of its 360-unit width, which a phone shows one to one.
constexpr int kWidth = 360;
constexpr int kRow = 46;
constexpr int kBox = 34;
constexpr int kLeft = 34;  // room for the bars of opportunities
constexpr int kRight = 316;

int Top(size_t row) { return 6 + static_cast<int>(row) * kRow; }

std::string Box(const analyze::Op& op, size_t row, bool fused) {
  const int top = Top(row);
  std::string out = fmt::format(
      R"(<g><title>{}:{} {}</title><rect class="box {}" x="{}" y="{}" width="{}" height="{}" rx="6"/>)",
      HtmlText(op.file), op.line, HtmlText(op.symbol), OpFamily(op.op), kLeft, top, kRight - kLeft,
      kBox);
  out += fmt::format(R"(<text x="{}" y="{}">{}{}</text>)", kLeft + 10, top + 15, HtmlText(op.op),
                     fused               ? " ✔"
                     : op.op == "opaque" ? " ?"
                                         : "");
  constexpr size_t kMaxChars = 46;  // of the small text in the width of a box
  std::string shapes = ShapesText(op);
  if (shapes.size() > kMaxChars && !op.out.empty()) {
    shapes = "→ " + ir::DimsText(op.out.front().shape);
  }
  out += fmt::format(R"(<text class="small" x="{}" y="{}">{}</text></g>)", kLeft + 10, top + 28,
                     HtmlText(shapes));
  return out;
}

// Curves from a tensor's producer to every consumer that is not the next operator.
std::string SkipCurves(const std::vector<analyze::Op>& ops) {
  std::map<int, size_t> producer;
  std::string out;
  for (size_t row = 0; row < ops.size(); ++row) {
    std::set<size_t> sources;
    for (const analyze::TensorUse& use : ops[row].in) {
      const auto found = producer.find(use.id);
      if (!use.param && found != producer.end()) sources.insert(found->second);
    }
    for (size_t source : sources) {
      if (source + 1 == row) continue;
      const int from = Top(source) + kBox / 2;
      const int to = Top(row) + kBox / 2;
      const int bulge = std::min<int>(kWidth - 4, kRight + 14 + 4 * static_cast<int>(row - source));
      out += fmt::format(R"(<path class="skip" d="M{} {}C{} {} {} {} {} {}"/>)", kRight, from,
                         bulge, from, bulge, to, kRight, to);
    }
    for (const analyze::TensorUse& use : ops[row].out) producer[use.id] = row;
  }
  return out;
}

std::string OpportunityBars(const Report& report, const analyze::Variant& variant) {
  std::string out;
  int lane = 0;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o) || o.variant != variant.id || o.ops.empty()) continue;
    std::vector<size_t> rows;
    for (size_t row = 0; row < variant.ops.size(); ++row) {
      if (std::count(o.ops.begin(), o.ops.end(), variant.ops[row].i) > 0) rows.push_back(row);
    }
    if (rows.empty()) continue;
    // Two lanes: opportunities that follow each other seldom overlap three deep.
    const int x = 4 + 14 * (lane++ % 2);
    const int top = Top(rows.front());
    out += fmt::format(R"(<a href="#opportunity-{}"><rect class="mark" x="{}" y="{}" width="12" )"
                       R"(height="{}" rx="6"/><text class="number" x="{}" y="{}">{}</text></a>)",
                       o.id, x, top, Top(rows.back()) + kBox - top, x + 6, top + 14, o.id);
  }
  return out;
}

// The share of its bytes that an operator keeps under the proposed opportunity that saves most.
double Kept(const Report& report, const analyze::Variant& variant, int op, int64_t tokens) {
  double kept = 1;
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o) || o.variant != variant.id) continue;
    if (std::count(o.ops.begin(), o.ops.end(), op) == 0) continue;
    for (const fuse::TokenBenefit& at : o.benefit.per_tokens) {
      if (at.tokens != tokens || at.bytes_before <= 0) continue;
      kept = std::min(kept, static_cast<double>(at.bytes_after) / at.bytes_before);
    }
  }
  return kept;
}

}  // namespace

std::string HtmlText(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view OpFamily(std::string_view op) {
  const auto has = [&](std::string_view part) { return op.find(part) != std::string_view::npos; };
  if (op == "opaque") return "opaque";
  if (has("norm")) return "norm";
  if (has("rotary")) return "position";
  if (has("attention") || has("mamba") || has("indexer")) return "attention";
  if (has("proj") || has("linear") || has("matmul") || has("gate") || has("moe") || op == "bmm") {
    return "matmul";
  }
  if (has("_and_mul") || has("lu") || has("sigmoid")) return "activation";
  if (has("all_") || has("reduce_scatter")) return "collective";
  return "vector";
}

std::string PathSvg(const Report& report, const analyze::Variant& variant) {
  const std::vector<analyze::Op>& ops = variant.ops;
  const std::set<int> fused = FusedOps(report, variant);
  std::string out = fmt::format(
      R"(<svg viewBox="0 0 {} {}" role="img" aria-label="Operators of one layer in order">)",
      kWidth, Top(ops.size()));
  constexpr int kMiddle = (kLeft + kRight) / 2;
  for (size_t row = 1; row < ops.size(); ++row) {
    out += fmt::format(R"(<path class="flow" d="M{} {}V{}"/>)", kMiddle, Top(row - 1) + kBox,
                       Top(row));
  }
  for (size_t row = 0; row < ops.size(); ++row) {
    out += Box(ops[row], row, fused.contains(ops[row].i)) + "\n";
  }
  return out + SkipCurves(ops) + OpportunityBars(report, variant) + "</svg>\n";
}

std::string ByteBars(const Report& report, const analyze::Variant& variant, int64_t tokens) {
  double largest = 1;
  for (const analyze::Op& op : variant.ops) {
    largest = std::max(largest, static_cast<double>(OpBytes(op, tokens).value_or(0)));
  }
  std::string out = R"(<div class="bars">)";
  for (const analyze::Op& op : variant.ops) {
    const std::optional<int64_t> bytes = OpBytes(op, tokens);
    if (bytes == 0) continue;
    const double share = 100 * static_cast<double>(bytes.value_or(0)) / largest;
    const double kept = Kept(report, variant, op.i, tokens);
    out += fmt::format(R"(<span class="name">{}</span><span class="track">)", HtmlText(op.op));
    if (kept < 1) {
      out += fmt::format(R"(<i class="bar before" style="width:{:.2f}%"></i>)", share);
    }
    out += fmt::format(R"(<i class="bar after" style="width:{:.2f}%"></i></span><span>{}</span>)",
                       share * kept, bytes ? BytesText(*bytes) : "unknown");
    out += '\n';
  }
  return out + "</div>\n";
}

std::string Excerpt(const Report& report, const std::string& file, int line, int before,
                    int after) {
  if (report.analysis.source_root.empty()) return "";
  std::string text;
  try {
    text = ReadFile(std::filesystem::path(report.analysis.source_root) / file);
  } catch (const UsageError&) {
    return "";
  }
  const std::vector<std::string> lines = Split(text, '\n');
  const int last = std::min<int>(line + after, static_cast<int>(lines.size()));
  std::string out = "<pre>";
  for (int n = std::max(1, line - before); n <= last; ++n) {
    out += fmt::format(R"(<span{}><span class="n">{:>5}  </span>{}</span>)",
                       n == line ? R"( class="hit")" : "", n, HtmlText(lines[n - 1]));
    out += '\n';
  }
  return out + "</pre>\n";
}

}  // namespace tenon::report
