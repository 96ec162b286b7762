// One function per canonical operator of a model: what it is in the registry's operators.
#include "fuse/translate.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "fuse/compose.h"

namespace tenon::fuse {
namespace {

using Values = std::vector<ir::Value>;

Values Split(Composer& c, const ir::Node& call) {
  const ir::Value whole = c.Of(call.args.at(0));
  const std::string axis = whole.type().axes.back().name;
  ir::Dim offset(0);
  Values parts;
  for (const ir::Type& result : call.results) {
    const ir::Type type = c.Translate(result);
    if (whole.type().axes.size() != type.axes.size())
      c.Refuse(call, "it is not along the last axis");
    ir::Axis to{type.axes.back().name == axis ? axis : type.axes.back().name,
                type.axes.back().size};
    parts.push_back(WithAxes(Slice(whole, axis, offset, to), type.axes));
    offset = offset + to.size;
  }
  return parts;
}

std::map<std::string, ir::AttrValue> NormAttributes(Composer& c, const ir::Node& call,
                                                    double default_eps) {
  return {{"eps", c.Float(call, "eps", default_eps)},
          {"weight_offset", c.Float(call, "weight_offset", 0)}};
}

ir::Value RmsNormOf(Composer& c, const ir::Node& call, ir::Value x, const ir::NodeId* weight) {
  Values args = {x};
  if (weight != nullptr) args.push_back(c.Of(*weight));
  return c.Call("rms_norm", weight == nullptr ? "x" : "x,weight", args,
                NormAttributes(c, call, 1e-6), {x.type()})[0];
}

Values RmsNorm(Composer& c, const ir::Node& call) {
  const ir::NodeId* weight = call.args.size() > 1 ? &call.args[1] : nullptr;
  return {RmsNormOf(c, call, c.Of(call.args.at(0)), weight)};
}

Values FusedAddRmsNorm(Composer& c, const ir::Node& call) {
  const ir::Value x = c.Of(call.args.at(0));
  const ir::Value residual = AlignTo(c.Of(call.args.at(1)), x.type());
  Values args = {x, residual};
  if (call.args.size() > 2) args.push_back(c.Of(call.args[2]));
  return c.Call("fused_add_rms_norm", args.size() == 2 ? "x,residual" : "x,residual,weight", args,
                NormAttributes(c, call, 1e-6), {x.type(), x.type()});
}

Values LayerNorm(Composer& c, const ir::Node& call) {
  Values args;
  for (const ir::NodeId arg : call.args) args.push_back(c.Of(arg));
  constexpr std::array<std::string_view, 3> kNames = {"x", "x,weight", "x,weight,bias"};
  if (args.empty() || args.size() > 3) c.Refuse(call, "it has more operands than a layer norm");
  return c.Call("layer_norm", kNames[args.size() - 1], args, {{"eps", c.Float(call, "eps", 1e-5)}},
                {args[0].type()});
}

// Weights of a qk_norm follow its one or two tensors.
Values QkNorm(Composer& c, const ir::Node& call) {
  const size_t tensors = call.results.size();
  if (call.args.size() < tensors) c.Refuse(call, "q or k is missing");
  Values normed;
  for (size_t i = 0; i < tensors; ++i) {
    const bool weighted = call.args.size() > tensors + i;
    ir::Value x = c.Of(call.args[i]);
    if (weighted) {
      // Per head when the weight has a head's size.
      const ir::Dim width = c.source(call.args[tensors + i]).type.axes.back().size;
      x = SplitHeads(x, width, i == 0 ? "heads" : "kv_heads");
    }
    normed.push_back(RmsNormOf(c, call, x, weighted ? &call.args[tensors + i] : nullptr));
  }
  return normed;
}

Values RotaryEmbedding(Composer& c, const ir::Node& call) {
  const int64_t head_dim = c.Int(call, "head_dim", 0);
  const int64_t rotary_dim = c.Int(call, "rotary_dim", head_dim);
  if (head_dim == 0) c.Refuse(call, "its head size is unknown");
  if (c.Word(call, "kind").find("mrope") != std::string::npos) {
    c.Refuse(call, "multimodal rotation has no contract yet");
  }
  Values tensors;
  ir::Value positions;
  for (const ir::NodeId arg : call.args) {
    const ir::Type& type = c.source(arg).type;
    if (!type.elem.is_float()) {
      positions = c.Of(arg);
    } else if (tensors.size() < call.results.size()) {
      tensors.push_back(
          SplitHeads(c.Of(arg), ir::Dim(head_dim), tensors.empty() ? "heads" : "kv_heads"));
    }
  }
  if (tensors.empty()) c.Refuse(call, "it has no tensor to rotate");
  if (positions.builder() == nullptr) {
    positions = c.HiddenInput("positions", ir::Elem::Index(), {ir::NamedAxis("tokens")});
  }
  // The module's table, of any number of rows: the longest context is no constant of the kernel.
  const ir::Value table =
      c.HiddenInput("cos_sin_cache", ir::Elem::Param(),
                    {ir::NamedAxis("max_position"), {"rotary", ir::Dim(rotary_dim)}});
  Values args = {positions, tensors[0]};
  std::string names = "positions,query";
  std::vector<ir::Type> types = {tensors[0].type()};
  if (tensors.size() > 1) {
    args.push_back(tensors[1]);
    types.push_back(tensors[1].type());
    names += ",key";
  } else {
    types.push_back(
        {ir::Elem::Storage(),
         {tensors[0].type().axes[0], {"kv_heads", ir::Dim(0)}, tensors[0].type().axes.back()}});
  }
  args.push_back(table);
  Values rotated = c.Call("rotary_embedding", names + ",cos_sin_cache", args,
                          {{"head_size", head_dim},
                           {"is_neox", c.Word(call, "style") != "gptj"},
                           {"rope_dim_offset", c.Int(call, "rope_dim_offset", 0)},
                           {"inverse", c.Bool(call, "inverse", false)}},
                          types);
  rotated.resize(tensors.size());
  return rotated;
}

// Activations whose name and one tensor are those of the registry.
Values Activation(Composer& c, const ir::Node& call) {
  std::string op = call.name;
  if (op == "gelu_and_mul" && c.Word(call, "approximate") == "tanh") op = "gelu_tanh_and_mul";
  if (op == "quick_gelu") op = "gelu_quick";
  std::map<std::string, ir::AttrValue> attributes;
  if (op == "swigluoai_and_mul") {
    attributes = {{"alpha", c.Float(call, "alpha", 1.702)}, {"limit", c.Float(call, "limit", 7)}};
  } else if (op == "swiglustep_and_mul") {
    attributes = {{"limit", c.Float(call, "limit", 7)}};
  }
  return c.Call(op, "x", {c.Of(call.args.at(0))}, attributes, {c.Translate(call.results.at(0))});
}

Values Quantize(Composer& c, const ir::Node& call) {
  if (c.ResultElem(call, 0) != ir::Elem(DType::kI8)) c.Refuse(call, "only int8 has contracts yet");
  const ir::Value x = c.Of(call.args.at(0));
  const ir::Type q{DType::kI8, x.type().axes};
  if (call.results.size() == 1) {
    if (call.args.size() < 2) c.Refuse(call, "a static quantisation needs its scale");
    return c.Call("static_scaled_int8_quant", "x,scale", {x, c.Of(call.args[1])}, {}, {q});
  }
  ir::Type scale{DType::kF32, x.type().axes};
  scale.axes.pop_back();
  return c.Call("dynamic_scaled_int8_quant", "x", {x}, {}, {q, scale});
}

struct Row {
  std::string_view op;
  Translation translation;
};
constexpr std::array<Row, 14> kRows = {{{"split", Split},
                                        {"rms_norm", RmsNorm},
                                        {"fused_add_rms_norm", FusedAddRmsNorm},
                                        {"layer_norm", LayerNorm},
                                        {"qk_norm", QkNorm},
                                        {"rotary_embedding", RotaryEmbedding},
                                        {"silu_and_mul", Activation},
                                        {"gelu_and_mul", Activation},
                                        {"gelu_tanh_and_mul", Activation},
                                        {"gelu_quick", Activation},
                                        {"quick_gelu", Activation},
                                        {"swigluoai_and_mul", Activation},
                                        {"swiglustep_and_mul", Activation},
                                        {"quantize", Quantize}}};

}  // namespace

ir::Value SplitHeads(ir::Value x, const ir::Dim& head_dim, std::string_view heads) {
  std::vector<ir::Axis> axes = x.type().axes;
  if (axes.size() > 2 && axes.back().size == head_dim) return x;
  const ir::Dim width = axes.back().size;
  const ir::Dim count = ir::Dim::FloorDiv(width, head_dim);
  TENON_CHECK(count * head_dim == width, "{} channels are no multiple of {}", width.text(),
              head_dim.text());
  axes.back() = {std::string(heads), count};
  axes.push_back({"head_dim", head_dim});
  return WithAxes(x, axes);
}

Translation FindTranslation(std::string_view op) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [op](const Row& r) { return r.op == op; });
  return row != kRows.end() ? row->translation : FindPrimitive(op);
}

}  // namespace tenon::fuse
