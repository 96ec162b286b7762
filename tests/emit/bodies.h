// Small row-wise graphs that the tests of plans and of emitted text share.
#pragma once

#include "ir/builder.h"

namespace tenon::emit {

inline ir::Graph AddRmsNorm() {
  using namespace ir;  // NOLINT
  Builder b("add_rms_norm");
  const std::vector<Axis> row = {NamedAxis("tokens"), NamedAxis("hidden")};
  const Value s =
      Round(b.Input("x", Elem::Storage(), row) + b.Input("residual", Elem::Storage(), row),
            Elem::Storage());
  const Value w = b.OptionalInput("weight", Elem::Param(), {NamedAxis("hidden")}, 1.0);
  const Value rstd = Rsqrt(Mean(s * s, "hidden") + b.Attr("eps"));
  b.Output("y", Round(s * rstd * w, Elem::Storage()), "x");
  b.Output("residual_out", s, "residual");
  return b.Take();
}

// Neox or GPT-J rotation of the leading 2*half of every head.
inline ir::Graph Rope(bool is_neox) {
  using namespace ir;  // NOLINT
  Builder b(is_neox ? "rope_neox" : "rope_gptj");
  const Value x = b.Input("x", Elem::Storage(),
                          {NamedAxis("tokens"), NamedAxis("heads"), NamedAxis("head_dim")});
  const Value cache =
      b.Input("cache", Elem::Param(), {NamedAxis("positions_max"), {"rotary", "2*half"}});
  const Value positions = b.Input("positions", Elem::Index(), {NamedAxis("tokens")});
  const Value row = GatherRow(cache, positions, IndexRule::kError);
  const Value c = Slice(row, "rotary", 0, NamedAxis("half"));
  const Value s = Slice(row, "rotary", "half", NamedAxis("half"));
  const Value rotated = Slice(x, "head_dim", 0, {"rotary", "2*half"});
  const Value rest = Slice(x, "head_dim", "2*half", {"rest", "head_dim - 2*half"});
  Value first;
  Value second;
  if (is_neox) {
    first = Slice(rotated, "rotary", 0, NamedAxis("half"));
    second = Slice(rotated, "rotary", "half", NamedAxis("half"));
  } else {
    const Value pairs = SplitAxis(rotated, "rotary", {NamedAxis("half"), {"pair", 2}});
    first = Pick(pairs, "pair", 0);
    second = Pick(pairs, "pair", 1);
  }
  const Value a = Round(first * c - second * s, Elem::Storage());
  const Value d = Round(second * c + first * s, Elem::Storage());
  const Value turned = is_neox ? Concat({a, d}, 2, "rotary")
                               : MergeAxes(Stack({a, d}, "pair"), "half", "pair", "rotary");
  b.Output("y", Concat({turned, rest}, 2, "head_dim"), "x");
  return b.Take();
}

// Per-token int8 quantisation: two outputs, one of them a value per row.
inline ir::Graph Int8Quant() {
  using namespace ir;  // NOLINT
  Builder b("int8_quant");
  const Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), NamedAxis("hidden")});
  const Value scale = Max(Amax(x, "hidden"), 1e-10) / 127.0;
  b.Output("q", Cast(x / scale, DType::kI8));
  b.Output("scale", Reshape(scale, {NamedAxis("tokens"), {"one", 1}}));
  return b.Take();
}

// Two stages: a gate with an exponential, then a division and a conversion.
inline ir::Graph GateQuant() {
  using namespace ir;  // NOLINT
  Builder b("gate_quant");
  const Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), NamedAxis("hidden")});
  const Value scale = b.Input("scale", DType::kF32, {NamedAxis("hidden")});
  const Value gated = Round(x * Sigmoid(x), Elem::Storage());
  b.Output("q", Cast(gated / scale, DType::kI8));
  return b.Take();
}

inline ir::Graph GroupNorm() {
  using namespace ir;  // NOLINT
  Builder b("group_norm");
  const Value x = b.Input("x", Elem::Storage(), {NamedAxis("tokens"), {"hidden", "groups*size"}});
  const Value g = SplitAxis(x, "hidden", {NamedAxis("groups"), NamedAxis("size")});
  const Value y = Round(g * Rsqrt(Mean(g * g, "size")), Elem::Storage());
  b.Output("y", MergeAxes(y, "groups", "size", "hidden"));
  return b.Take();
}

// A statistic of the row, then one of each group of what the row's loop has kept.
inline ir::Graph AddNormGroups() {
  using namespace ir;  // NOLINT
  Builder b("add_norm_groups");
  const std::vector<Axis> row = {NamedAxis("tokens"), {"hidden", "groups*size"}};
  const Value s =
      Round(b.Input("x", Elem::Storage(), row) + b.Input("residual", Elem::Storage(), row),
            Elem::Storage());
  const Value y = Round(s * Rsqrt(Mean(s * s, "hidden")), Elem::Storage());
  const Value g = SplitAxis(y, "hidden", {NamedAxis("groups"), NamedAxis("size")});
  b.Output("q", Cast(g / (Max(Amax(g, "size"), 1e-10) / 448.0), DType::kF8E4M3));
  b.Output("residual_out", s);
  return b.Take();
}

}  // namespace tenon::emit
