// The fields of every struct of a report, in the order of the JSON schema `tenon.analysis/1`.
// Keys beyond the schema, which readers may ignore: `exact` of an operator (its byte counts as
// polynomials of the tokens), `view` of a tensor, `source` of a configuration entry, `compiled` of
// a variant.
#pragma once

#include <cmath>

#include "report/archive.h"
#include "report/report.h"

namespace tenon::report {

template <typename Archive>
void Fields(Archive& a, analyze::Location& x) {
  a("class", x.cls);
  a("file", x.file);
  a("line", x.line);
}

template <typename Archive>
void Fields(Archive& a, analyze::LayerLocation& x) {
  Fields(a, x.location);
  a("layers", x.layers);
  a("kind", x.kind);
}

template <typename Archive>
void Fields(Archive& a, analyze::MainLocation& x) {
  Fields(a, x.location);
  a("implementation", x.implementation);
}

template <typename Archive>
void Fields(Archive& a, analyze::Locations& x) {
  a("main", x.main);
  a("inner", x.inner);
  a("decoder_layers", x.decoder_layers);
  a("attention", x.attention);
  a("mlp", x.mlp);
}

template <typename Archive>
void Fields(Archive& a, analyze::TensorUse& x) {
  a("id", x.id);
  a("shape", x.shape);
  a("axes", x.axes);
  a("dtype", x.dtype);
  a("param", x.param);
  a("view", x.view);
}

// The byte counts of an operator for any number of tokens.
struct ExactCounts {
  std::optional<ir::Dim> bytes_read;
  std::optional<ir::Dim> bytes_written;
  std::optional<ir::Dim> flops;
};

template <typename Archive>
void Fields(Archive& a, ExactCounts& x) {
  a("bytes_read", x.bytes_read);
  a("bytes_written", x.bytes_written);
  a("flops", x.flops);
}

template <typename Archive>
void Fields(Archive& a, analyze::Op& x) {
  a("i", x.i);
  a("op", x.op);
  a("name", x.name);
  a("attrs", x.attrs);
  a("in", x.in);
  a("out", x.out);
  a.Evaluated("bytes_read", x.bytes_read);
  a.Evaluated("bytes_written", x.bytes_written);
  a.Evaluated("flops", x.flops);
  a("aux", x.aux);
  a("implicit", x.implicit);
  a("group", x.group);
  a("inside_custom_op", x.inside_custom_op);
  a("file", x.file);
  a("line", x.line);
  a("symbol", x.symbol);
  a("stack", x.stack);
  ExactCounts exact{x.bytes_read, x.bytes_written, x.flops};
  a("exact", exact);
  if constexpr (Archive::kReads) {
    x.bytes_read = exact.bytes_read;
    x.bytes_written = exact.bytes_written;
    x.flops = exact.flops;
  }
}

template <typename Archive>
void Fields(Archive& a, analyze::FirstLayer& x) {
  a("layer", x.layer);
  a("differs", x.differs);
}

template <typename Archive>
void Fields(Archive& a, analyze::Variant& x) {
  a("id", x.id);
  a("part", x.part);
  a("layer_class", x.layer_class);
  a("layers", x.layers);
  a("first_layer", x.first_layer);
  a("compiled", x.compiled);
  a("ops", x.ops);
}

template <typename Archive>
void Fields(Archive& a, analyze::Evidence& x) {
  a("file", x.file);
  a("line", x.line);
  a("text", x.text);
}

template <typename Archive>
void Fields(Archive& a, analyze::Rejected& x) {
  a("candidate", x.candidate);
  a("reason", x.reason);
}

template <typename Archive>
void Fields(Archive& a, analyze::Input& x) {
  a("target", x.target);
  a("kind", x.kind);
  a("evidence", x.evidence);
  a("rejected", x.rejected);
}

template <typename Archive>
void Fields(Archive& a, analyze::Environment& x) {
  a("vllm_version", x.vllm_version);
  a("vllm_ascend_version", x.vllm_ascend_version);
  a("platform", x.platform);
  a("tp", x.tp);
  a("dtype", x.dtype);
  a("quant", x.quant);
  a("tokens", x.tokens);
}

template <typename Archive>
void Fields(Archive& a, analyze::ConfigEntry& x) {
  a("key", x.key);
  a("value", x.value);
  a("origin", x.origin);
  a("source", x.source);
}

template <typename Archive>
void Fields(Archive& a, analyze::Model& x) {
  a("architecture", x.architecture);
  a("registry_table", x.registry_table);
  a("module", x.module);
  a("class", x.cls);
  a("delegates", x.delegates);
  a("backend", x.backend);
  a("config", x.config);
}

template <typename Archive>
void Fields(Archive& a, analyze::Overlay& x) {
  a("kind", x.kind);
  a("target", x.target);
  a("replacement", x.replacement);
  a("file", x.file);
  a("line", x.line);
  a("applied", x.applied);
  a("reason", x.reason);
}

template <typename Archive>
void Fields(Archive& a, analyze::Assumption& x) {
  a("file", x.file);
  a("line", x.line);
  a("condition", x.condition);
  a("taken", x.taken);
  a("why", x.why);
}

template <typename Archive>
void Fields(Archive& a, analyze::Diagnostic& x) {
  a("severity", x.severity);
  a("code", x.code);
  a("message", x.message);
  a("file", x.file);
  a("line", x.line);
}

template <typename Archive>
void Fields(Archive& a, analyze::Stats& x) {
  a("opaque", x.opaque);
  a("assumptions", x.assumptions);
  a("files_parsed", x.files_parsed);
  std::vector<std::pair<std::string, int64_t>> ms;
  for (const auto& [stage, time] : x.ms) ms.emplace_back(stage, std::llround(time));
  a("ms", ms);
  if constexpr (Archive::kReads) x.ms.assign(ms.begin(), ms.end());
}

template <typename Archive>
void Fields(Archive& a, fuse::FileLines& x) {
  a("file", x.file);
  a("lines", x.lines);
}

template <typename Archive>
void Fields(Archive& a, fuse::NextLayer& x) {
  a("variant", x.variant);
  a("ops", x.ops);
}

template <typename Archive>
void Fields(Archive& a, fuse::Benefit& x) {
  std::vector<int> launches = {x.launches_before, x.launches_after};
  std::vector<std::pair<std::string, std::vector<int64_t>>> bytes;
  std::vector<std::pair<std::string, double>> saved_us;
  std::vector<std::pair<std::string, bool>> gain;
  for (const fuse::TokenBenefit& at : x.per_tokens) {
    const std::string tokens = std::to_string(at.tokens);
    bytes.push_back({tokens, {at.bytes_before, at.bytes_after}});
    saved_us.emplace_back(tokens, at.saved_us);
    gain.emplace_back(tokens, at.gain);
  }
  a("launches", launches);
  a("bytes", bytes);
  a("saved_us", saved_us);
  a("gain", gain);
  a("condition", x.condition);
  if constexpr (Archive::kReads) {
    TENON_CHECK(launches.size() == 2, "launches must be [before, after]");
    TENON_CHECK(saved_us.size() == bytes.size() && gain.size() == bytes.size(),
                "bytes, saved_us and gain must name the same token counts");
    x.launches_before = launches[0];
    x.launches_after = launches[1];
    for (size_t i = 0; i < bytes.size(); ++i) {
      TENON_CHECK(bytes[i].second.size() == 2, "bytes must be [before, after]");
      x.per_tokens.push_back({std::stoll(bytes[i].first), bytes[i].second[0], bytes[i].second[1],
                              saved_us[i].second, gain[i].second});
    }
  }
}

template <typename Archive>
void Fields(Archive& a, fuse::Opportunity& x) {
  a("id", x.id);
  a("scene", x.scene);
  a("type", x.type);
  a("title", x.title);
  a("variant", x.variant);
  a("ops", x.ops);
  a("status", x.status);
  a("by", x.by);
  a("flag", x.flag);
  a("priority", x.priority);
  a("files", x.files);
  a("interface", x.interface);
  a("subsumes", x.subsumes);
  a("next", x.next);
  a("ir", x.ir);
  a("benefit", x.benefit);
  a("reason", x.reason);
}

template <typename Archive>
void Fields(Archive& a, fuse::NearMiss& x) {
  a("scene", x.scene);
  a("variant", x.variant);
  a("ops", x.ops);
  a("matched", x.matched);
  a("of", x.of);
  a("stopped_at", x.stopped_at);
  a("file", x.file);
  a("line", x.line);
}

template <typename Archive>
void Fields(Archive& a, fuse::Dead& x) {
  a("kind", x.kind);
  a("target", x.target);
  a("reason", x.reason);
  a("file", x.file);
  a("line", x.line);
}

inline constexpr const char* kSchema = "tenon.analysis/1";

struct Tool {
  std::string name = "tenon";
  std::string version = TENON_VERSION;
};

template <typename Archive>
void Fields(Archive& a, Tool& x) {
  a("name", x.name);
  a("version", x.version);
}

template <typename Archive>
void Fields(Archive& a, Report& x) {
  std::string schema = kSchema;
  a("schema", schema);
  TENON_CHECK(schema == kSchema, "a report must have the schema {}, got {}", kSchema, schema);
  Tool tool;
  a("tool", tool);
  a("input", x.analysis.input);
  a("environment", x.analysis.environment);
  a("model", x.analysis.model);
  a("locations", x.analysis.locations);
  a("overlays", x.analysis.overlays);
  a("variants", x.analysis.variants);
  a("opportunities", x.findings.opportunities);
  a("near_misses", x.findings.near_misses);
  a("dead", x.findings.dead);
  a("device", x.device);
  a("outside_layers", x.analysis.outside_layers);
  a("assumptions", x.analysis.assumptions);
  a("diagnostics", x.analysis.diagnostics);
  a("stats", x.analysis.stats);
}

}  // namespace tenon::report
