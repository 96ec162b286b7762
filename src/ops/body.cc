// Bodies: what a body function works with, and the variants that static parameters lead to.
#include <algorithm>
#include <cctype>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/contract.h"

namespace tenon::ops {
namespace {

std::string ChoiceText(const ir::AttrValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::get<std::string>(value);
}

// Text that is equal for bodies that are equal node by node.
std::string BodyKey(const ir::Graph& graph) {
  std::string key;
  for (const ir::Node& node : graph.nodes()) key += ir::NodeKey(node) + "\n";
  for (const ir::Output& output : graph.outputs()) {
    key += fmt::format("{}={}\n", output.name, output.value);
  }
  return key;
}

std::string Identifier(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

}  // namespace

std::string ChoicesText(const Choices& choices) {
  std::string text;
  for (const auto& [name, value] : choices) {
    text += (text.empty() ? "" : ",") + name + "=" + ChoiceText(value);
  }
  return text;
}

Body::Body(const Contract& contract, Choices choices)
    : contract_(contract), builder_(contract.name()), choices_(std::move(choices)) {
  for (const Param& param : contract.params()) {
    if (!param.is_tensor || param.outside_body) continue;
    if (param.static_presence && !Flag(param.name)) continue;
    if (!param.none_with.empty() && Word(param.none_with) == param.none_when) continue;
    inputs_[param.name] =
        param.optional && !param.static_presence
            ? builder_.OptionalInput(param.name, param.elem, Sized(param.axes), param.absent)
            : builder_.Input(param.name, param.elem, Sized(param.axes));
  }
}

std::vector<ir::Axis> Body::Sized(std::vector<ir::Axis> axes) const {
  std::map<std::string, ir::Dim> sizes;
  for (const Param& param : contract_.params()) {
    if (!param.sized.empty()) sizes[param.sized] = ir::Dim(param.SizeOf(Choice(param.name)));
  }
  for (ir::Axis& axis : axes) axis.size = axis.size.Substitute(sizes);
  return axes;
}

ir::Value Body::In(std::string_view name) const {
  const auto it = inputs_.find(name);
  TENON_ASSERT(it != inputs_.end(), "{}: the body reads {}, which is no tensor of this variant",
               contract_.name(), name);
  return it->second;
}

ir::Value Body::Attr(std::string_view name) const {
  const Param* param = contract_.FindParam(name);
  TENON_ASSERT(param != nullptr && !param->is_tensor && !param->is_static,
               "{}: {} is no dynamic attribute", contract_.name(), name);
  return builder_.Attr(name, param->kind == AttrKind::kBool ? DType::kBool : DType::kF32);
}

ir::Value Body::Item(std::string_view list, int number) const {
  const Param* param = contract_.FindParam(list);
  TENON_ASSERT(param != nullptr && number < param->length, "{}: there is no {}[{}]",
               contract_.name(), list, number);
  return builder_.Attr(fmt::format("{}_{}", list, number), DType::kF32);
}

const ir::AttrValue& Body::Choice(std::string_view name) const {
  const auto it = choices_.find(std::string(name));
  TENON_ASSERT(it != choices_.end(), "{}: {} is no static parameter", contract_.name(), name);
  return it->second;
}

bool Body::Flag(std::string_view name) const {
  const Param* param = contract_.FindParam(name);
  TENON_ASSERT(param != nullptr, "{} has no argument {}", contract_.name(), name);
  return std::get<bool>(Choice(param->static_presence ? PresenceKey(name) : std::string(name)));
}

const std::string& Body::Word(std::string_view name) const {
  return std::get<std::string>(Choice(name));
}

DType Body::Type(std::string_view name) const { return *ParseDType(Word(name)); }

void Body::Out(std::string_view name, ir::Value value) {
  const OutParam* out = contract_.FindOut(name);
  TENON_ASSERT(out != nullptr, "{} has no output {}", contract_.name(), name);
  const ir::Elem elem = out->dtype_from.empty() ? out->elem : ir::Elem(Type(out->dtype_from));
  const ir::Type declared{elem, Sized(out->axes)};
  TENON_ASSERT(value.type() == declared, "{}: output {} must be {}, the body gives {}",
               contract_.name(), name, ir::TypeText(declared), ir::TypeText(value.type()));
  outputs_[std::string(name)] = value;
}

ir::Graph Body::Take() {
  for (const OutParam& out : contract_.outs()) {
    if (!out.only_with.empty() && !Flag(out.only_with)) continue;
    TENON_ASSERT(outputs_.contains(out.name), "{}: the body does not give {}", contract_.name(),
                 out.name);
    std::string in_place;
    for (const InPlaceForm& form : contract_.in_place_forms()) {
      for (const auto& [output, input] : form.writes) {
        const bool is_read = !contract_.FindParam(input)->outside_body;
        if (output == out.name && is_read) in_place = input;
      }
    }
    builder_.Output(out.name, outputs_[out.name], in_place);
  }
  return builder_.Take();
}

std::vector<Choices> Contract::AllChoices() const {
  std::vector<Choices> all = {{}};
  const auto multiply = [&](const std::string& key, const std::vector<ir::AttrValue>& values) {
    std::vector<Choices> product;
    for (const Choices& choices : all) {
      for (const ir::AttrValue& value : values) {
        product.push_back(choices);
        product.back()[key] = value;
      }
    }
    all = std::move(product);
  };
  for (const Param& param : params_) {
    if (param.static_presence) multiply(PresenceKey(param.name), {true, false});
    if (!param.is_static) continue;
    if (param.kind == AttrKind::kBool) {
      multiply(param.name, {true, false});
    } else {
      const std::vector<std::string> words = ChoiceWords(param);
      multiply(param.name, {words.begin(), words.end()});
    }
  }
  return all;
}

std::vector<Variant> Contract::Variants() const {
  std::vector<Variant> variants;
  if (!has_body()) return variants;
  std::map<std::string, std::string> names;  // body -> name of the first variant that has it
  for (const Choices& choices : AllChoices()) {
    Variant variant{choices, ChoicesText(choices), BuildBody(choices)};
    variant.name = names.emplace(BodyKey(variant.graph), variant.name).first->second;
    variant.graph.set_name(variant.name.empty() ? name_ : name_ + "__" + Identifier(variant.name));
    variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace tenon::ops
