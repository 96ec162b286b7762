#include "ops/contract_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/registry.h"

namespace tenon::ops {
namespace {

using Json = nlohmann::ordered_json;

Json ValueJson(const ir::AttrValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

// Element types by torch's names; T, W and I as in IR.
std::string ElemName(const ir::Elem& elem) {
  return elem.concrete() ? std::string(TorchName(elem.dtype)) : ir::ElemText(elem);
}

std::string_view KindName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBool:
      return "bool";
    case AttrKind::kInt:
      return "int";
    case AttrKind::kFloat:
      return "float";
    case AttrKind::kString:
      return "str";
    case AttrKind::kDType:
      return "dtype";
    case AttrKind::kIntList:
      return "int_list";
  }
  throw InternalError(__FILE__, __LINE__, "unknown attribute kind");
}

Json ShapesJson(const std::vector<Shape>& shapes) {
  Json list = Json::array();
  for (const Shape& shape : shapes) {
    Json sizes = Json::array();
    for (const ir::Axis& axis : shape.axes) sizes.push_back(axis.size.text());
    list.push_back({{"lead", shape.lead}, {"sizes", sizes}});
  }
  return list;
}

const char* ResultName(ResultKind kind) {
  constexpr const char* kNames[] = {"tensors", "tensor_list", "float", "int_list"};
  return kNames[static_cast<int>(kind)];
}

Json TensorJson(const Param& param) {
  return {{"name", param.name},
          {"kind", "tensor"},
          {"elem", ElemName(param.elem)},
          {"shapes", ShapesJson(param.shapes)},
          {"optional", param.optional}};
}

// Dtypes by torch's names, without aliases.
std::vector<std::string> Words(const Param& param) {
  std::vector<std::string> words = ChoiceWords(param);
  if (param.kind != AttrKind::kDType) return words;
  for (std::string& word : words) word = TorchName(*ParseDType(word));
  return words;
}

Json AttributeJson(const Param& param) {
  Json json = {{"name", param.name}, {"kind", KindName(param.kind)}, {"optional", param.nullable}};
  if (!param.choices.empty()) json["choices"] = Words(param);
  if (!param.absent_size.empty()) json["absent_size"] = param.absent_size;
  if (!param.moves_last.empty()) json["moves_last"] = param.moves_last;
  if (!param.casts.empty()) json["casts"] = param.casts;
  return json;
}

Json ParamJson(const Param& param) {
  Json json = param.is_tensor ? TensorJson(param) : AttributeJson(param);
  json["keyword_only"] = param.keyword_only;
  if (param.broadcasts) json["broadcasts"] = true;
  if (param.sections) json["sections"] = true;
  if (param.first_last) json["first_last"] = true;
  if (!param.sized.empty()) {
    json["size"] = param.sized;
    json["choice_sizes"] = param.choice_sizes;
  }
  if (param.length != 0) json["length"] = param.length;
  if (param.per_rank) json["per_rank"] = true;
  if (!param.absent_sizes.empty()) json["absent_sizes"] = param.absent_sizes;
  if (param.nullable || param.none_by_default) {
    json["default"] = nullptr;
  } else if (param.fallback) {
    json["default"] = ValueJson(*param.fallback);
  }
  return json;
}

Json OutJson(const OutParam& out) {
  Json json = {
      {"name", out.name}, {"elem", ElemName(out.elem)}, {"shape", ShapesJson({out.shape})[0]}};
  if (!out.like.empty()) json["like"] = out.like;
  if (!out.reduces.empty()) {
    json["reduces"] = out.reduces;
    json["keeps"] = out.keeps;
  }
  if (!out.each.empty()) json["each"] = out.each;
  if (!out.dtype_from.empty()) json["dtype_from"] = out.dtype_from;
  if (!out.column_major_when.empty()) {
    json["column_major_when"] = out.column_major_when;
    json["column_multiple"] = out.column_multiple;
  }
  return json;
}

Json ContractJson(const Contract& contract) {
  Json json = {{"name", contract.name()},
               {"family", contract.family()},
               {"formula", contract.doc()},
               {"schema", contract.Schema()},
               {"results", ResultName(contract.result_kind())},
               {"out_schema", contract.OutSchema()},
               {"out_arguments", contract.OutArguments()}};
  Json params = Json::array();
  for (const Param& param : contract.params()) {
    params.push_back(ParamJson(param));
    const bool limits = contract.row_limit() && contract.row_limit()->list == param.name;
    if (limits) params.back()["limits_rows"] = true;
  }
  json["params"] = params;
  Json outs = Json::array();
  for (const OutParam& out : contract.outs()) outs.push_back(OutJson(out));
  json["outs"] = outs;
  Json sentences = Json::array();
  for (const Requirement& requirement : contract.requirements()) {
    sentences.push_back(requirement.sentence);
  }
  json["requirements"] = sentences;
  Json forms = Json::array();
  for (const InPlaceForm& form : contract.in_place_forms()) {
    Json writes = Json::object();
    for (const auto& [output, input] : form.writes) writes[input] = output;
    forms.push_back({{"name", form.name}, {"schema", contract.Schema(&form)}, {"writes", writes}});
  }
  json["in_place"] = forms;
  return json;
}

}  // namespace

std::string ContractsJson() {
  std::vector<const Contract*> contracts;
  for (const Operator& op : Operators()) contracts.push_back(&op.contract());
  std::sort(contracts.begin(), contracts.end(),
            [](const Contract* a, const Contract* b) { return a->name() < b->name(); });
  Json list = Json::array();
  for (const Contract* contract : contracts) list.push_back(ContractJson(*contract));
  return list.dump(1);
}

}  // namespace tenon::ops
