// What `tenon analyze` finds, as plain structs that mirror the JSON schema `tenon.analysis/1`.
// Opportunities, near misses and dead registrations are added by `fuse` and `report`.
// Paths are relative to the repository root and start with `vllm/`; lines count from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dim.h"

namespace tenon::analyze {

using ir::Dim;
using Shape = std::vector<Dim>;

// A JSON-like value of an attribute or a configuration entry; maps keep their order.
struct Attr {
  using List = std::vector<Attr>;
  using Map = std::vector<std::pair<std::string, Attr>>;
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Map> value;

  Attr() = default;
  Attr(bool v) : value(v) {}                      // NOLINT
  Attr(int v) : value(int64_t{v}) {}              // NOLINT
  Attr(int64_t v) : value(v) {}                   // NOLINT
  Attr(double v) : value(v) {}                    // NOLINT
  Attr(const char* v) : value(std::string(v)) {}  // NOLINT
  Attr(std::string v) : value(std::move(v)) {}    // NOLINT
  Attr(List v) : value(std::move(v)) {}           // NOLINT
  Attr(Map v) : value(std::move(v)) {}            // NOLINT
  bool operator==(const Attr& other) const = default;
};

struct Location {
  std::string cls;
  std::string file;
  int line = 0;
  bool operator==(const Location& other) const = default;
};

struct LayerLocation {
  Location location;
  std::vector<int> layers;
  std::string kind;  // attention: gqa, mla, linear ...; mlp: dense, moe, shared; decoder layer: ""
};

struct MainLocation {
  Location location;
  std::optional<Location> implementation;  // where __init__ and forward are, when elsewhere
};

struct Locations {
  MainLocation main;
  std::optional<Location> inner;  // main class of the language model inside a wrapper
  std::vector<LayerLocation> decoder_layers;
  std::vector<LayerLocation> attention;
  std::vector<LayerLocation> mlp;
};

// A tensor as one operator sees it. A view (slice, reshape, transpose) keeps the id of the tensor
// that it looks into, with its own shape; `view` then says how it differs from the whole.
struct TensorUse {
  int id = 0;  // unique in a variant; an id that no operator defines is an input of the layer
  Shape shape;
  std::vector<std::string> axes;     // one name per dimension
  std::string dtype;                 // torch's spelling: bfloat16, float32, int64 ...
  std::optional<std::string> param;  // dotted name of a weight ("self_attn.q_norm.weight")
  std::string view;                  // "" or for example "[..., 0:64]"
};

struct Op {
  int i = 0;
  std::string op;  // the vocabulary of the documentation: rms_norm, qkv_proj, attention ...
  std::optional<std::string> name;  // of the module in its layer: "self_attn.qkv_proj"
  Attr::Map attrs;
  std::vector<TensorUse> in;
  std::vector<TensorUse> out;
  // Polynomials in the layer's symbols (T = tokens); weights are read once. Empty when a size that
  // they need is unknown.
  std::optional<Dim> bytes_read;
  std::optional<Dim> bytes_written;
  std::optional<Dim> flops;
  bool aux = false;
  bool implicit = false;
  std::optional<std::string> group;
  std::optional<std::string> inside_custom_op;
  std::string file;
  int line = 0;
  std::string symbol;              // enclosing function: "LlamaAttention.forward"
  std::vector<std::string> stack;  // callers, outermost first: "vllm/...py:123"

  const Attr* Find(std::string_view key) const {
    for (const auto& [name_of, value] : attrs) {
      if (name_of == key) return &value;
    }
    return nullptr;
  }
};

struct FirstLayer {
  int layer = 0;
  std::string differs;  // "op 0 is rms_norm instead of fused_add_rms_norm"
};

struct Variant {
  int id = 0;
  std::string part = "language";
  std::string layer_class;
  std::vector<int> layers;
  std::optional<FirstLayer> first_layer;
  bool compiled = false;  // a class on the path is decorated for compilation and mode is not NONE
  std::vector<Op> ops;
};

struct Evidence {
  std::string file;
  int line = 0;
  std::string text;
};

struct Rejected {
  std::string candidate;
  std::string reason;
};

struct Input {
  std::string target;
  std::string kind;  // architecture, config, directory, name, file
  std::vector<Evidence> evidence;
  std::vector<Rejected> rejected;
};

struct Environment {
  std::optional<std::string> vllm_version;
  std::optional<std::string> vllm_ascend_version;
  std::string platform;
  int tp = 2;
  std::string dtype;
  std::optional<std::string> quant;
  std::vector<int64_t> tokens;
};

struct ConfigEntry {
  std::string key;
  Attr value;
  std::string origin;  // file, option, vllm, class, builtin, unknown
  std::string source;  // where the value stands: a path, or the model card of the built-in table
};

struct Model {
  std::string architecture;
  std::string registry_table;
  std::string module;
  std::string cls;
  std::vector<std::string> delegates;  // inner architectures, outermost first
  std::string backend = "native";      // native, transformers, out_of_tree
  std::vector<ConfigEntry> config;
};

struct Overlay {
  std::string kind;  // oot, patch, model, platform, pass
  std::string target;
  std::string replacement;
  std::string file;
  int line = 0;
  bool applied = false;
  std::optional<std::string> reason;
};

struct Assumption {
  std::string file;
  int line = 0;
  std::string condition;
  bool taken = false;
  std::string why;
  bool operator==(const Assumption& other) const = default;
};

struct Diagnostic {
  std::string severity;  // error, warning, note
  std::string code;      // E1 ... W3, or "" for a plain note
  std::string message;
  std::optional<std::string> file;
  std::optional<int> line;
};

struct Stats {
  int opaque = 0;
  int assumptions = 0;
  int files_parsed = 0;
  std::vector<std::pair<std::string, double>> ms;  // stage -> milliseconds, in order
};

struct Analysis {
  Input input;
  Environment environment;
  Model model;
  Locations locations;
  std::vector<Overlay> overlays;
  std::vector<Variant> variants;
  std::vector<Op> outside_layers;  // embedding, final norm, lm_head, operators between layers
  std::vector<Assumption> assumptions;
  std::vector<Diagnostic> diagnostics;
  Stats stats;
  // Root of the tree that `file` fields are relative to, for reports that quote source lines.
  std::string source_root;

  bool HasErrors() const {
    for (const Diagnostic& d : diagnostics) {
      if (d.severity == "error") return true;
    }
    return false;
  }
};

}  // namespace tenon::analyze
