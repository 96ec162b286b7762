#include "base/error.h"
#include "report/words.h"

namespace tenon::report {
namespace {

// The message and property escapes of workflow commands.
std::string Escape(std::string_view text, bool property) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += property ? "%3A" : ":";
        break;
      case ',':
        out += property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Command(std::string_view kind, std::string_view file, int line, std::string_view title,
                    std::string_view message) {
  return fmt::format("::{} file={},line={},title={}::{}\n", kind, Escape(file, true), line,
                     Escape(title, true), Escape(message, false));
}

}  // namespace

std::string ToGithub(const Report& report) {
  std::string out;
  for (const analyze::Diagnostic& d : report.analysis.diagnostics) {
    const std::string_view kind = d.severity == "note" ? "notice" : std::string_view(d.severity);
    if (d.file) out += Command(kind, *d.file, d.line.value_or(1), "tenon " + d.code, d.message);
  }
  for (const analyze::Variant& variant : report.analysis.variants) {
    for (const analyze::Op& op : variant.ops) {
      if (op.op != "opaque") continue;
      out += Command("warning", op.file, op.line, "tenon: opaque operator",
                     fmt::format("operator {} of variant {} is not understood", op.i, variant.id));
    }
  }
  for (const fuse::Opportunity& o : report.findings.opportunities) {
    if (!IsProposed(o) || o.files.empty() || o.files.front().lines.empty()) continue;
    out += Command(
        "notice", o.files.front().file, o.files.front().lines.front(),
        fmt::format("tenon: opportunity {}", o.id),
        fmt::format("{} {}: {} saved per layer, predicted", o.scene, o.title, SavedText(o)));
  }
  return out;
}

}  // namespace tenon::report
