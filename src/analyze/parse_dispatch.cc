// Which converter an expression node goes to; parameters and lambdas.
#include <cstring>
#include <unordered_map>

#include "analyze/parse.h"

namespace tenon::analyze {
namespace {

std::string_view Type(TSNode node) { return ts_node_type(node); }

// Node types whose children are the elements of one of our kinds.
const std::unordered_map<std::string_view, Kind>& Sequences() {
  static const auto* const map =
      new std::unordered_map<std::string_view, Kind>{{"tuple", Kind::kTuple},
                                                     {"expression_list", Kind::kTuple},
                                                     {"pattern_list", Kind::kTuple},
                                                     {"tuple_pattern", Kind::kTuple},
                                                     {"list", Kind::kList},
                                                     {"list_pattern", Kind::kList},
                                                     {"set", Kind::kSet},
                                                     {"dictionary", Kind::kDict},
                                                     {"list_splat", Kind::kStar},
                                                     {"list_splat_pattern", Kind::kStar},
                                                     {"dictionary_splat", Kind::kDoubleStar},
                                                     {"not_operator", Kind::kNot},
                                                     {"conditional_expression", Kind::kIfElse}};
  return *map;
}

const std::unordered_map<std::string_view, Kind>& Comprehensions() {
  static const auto* const map =
      new std::unordered_map<std::string_view, Kind>{{"list_comprehension", Kind::kListComp},
                                                     {"set_comprehension", Kind::kSetComp},
                                                     {"dictionary_comprehension", Kind::kDictComp},
                                                     {"generator_expression", Kind::kGenerator}};
  return *map;
}

const std::unordered_map<std::string_view, Kind>& Constants() {
  static const auto* const map =
      new std::unordered_map<std::string_view, Kind>{{"true", Kind::kTrue},
                                                     {"false", Kind::kFalse},
                                                     {"none", Kind::kNone},
                                                     {"ellipsis", Kind::kEllipsis}};
  return *map;
}

}  // namespace

// Those that are more than a kind.
Converter::Conversion Converter::FindConversion(std::string_view type) {
  static const auto* const table = new std::unordered_map<std::string_view, Conversion>{
      {"identifier", &Converter::Name},
      {"integer", &Converter::Number},
      {"float", &Converter::Number},
      {"string", &Converter::String},
      {"concatenated_string", &Converter::String},
      {"attribute", &Converter::Attribute},
      {"call", &Converter::Call},
      {"subscript", &Converter::Subscript},
      {"slice", &Converter::SliceOf},
      {"comparison_operator", &Converter::Compare},
      {"binary_operator", &Converter::BinaryOf},
      {"boolean_operator", &Converter::Logic},
      {"unary_operator", &Converter::Unary},
      {"named_expression", &Converter::Named},
      {"lambda", &Converter::Lambda},
      {"yield", &Converter::Yield}};
  const auto found = table->find(type);
  return found == table->end() ? nullptr : found->second;
}

const Node* Converter::Expression(TSNode node) {
  const std::string_view type = Type(node);
  if (const Conversion conversion = FindConversion(type)) return (this->*conversion)(node);
  if (const auto found = Constants().find(type); found != Constants().end()) {
    return Make(found->second, node);
  }
  if (const auto found = Sequences().find(type); found != Sequences().end()) {
    // A conditional's children stand as value, condition, other value.
    const Node* sequence = Sequence(node, found->second);
    if (found->second == Kind::kIfElse && sequence->kids.size() == 3) {
      Node* fixed = Make(Kind::kIfElse, node);
      fixed->kids = {sequence->kids[1], sequence->kids[0], sequence->kids[2]};
      return fixed;
    }
    return sequence;
  }
  if (const auto found = Comprehensions().find(type); found != Comprehensions().end()) {
    return Comprehension(node, found->second);
  }
  // Parentheses, await and wrapped types say nothing of their own.
  if ((type == "parenthesized_expression" || type == "await" || type == "type" ||
       type == "as_pattern_target") &&
      ts_node_named_child_count(node) > 0) {
    for (const TSNode child : NamedChildren(node)) {
      if (Type(child) != "comment") return Expression(child);
    }
  }
  Node* error = Make(Kind::kError, node);
  error->text = type;
  return error;
}

const Node* Converter::Attribute(TSNode node) {
  Node* attribute = Make(Kind::kAttribute, node);
  attribute->text = Text(ts_node_child_by_field_name(node, "attribute", 9));
  attribute->kids = {Field(node, "object")};
  return StarOutside(attribute, node);
}

const Node* Converter::Logic(TSNode node) {
  const bool is_and = Type(ts_node_child_by_field_name(node, "operator", 8)) == "and";
  Node* logic = Make(is_and ? Kind::kAnd : Kind::kOr, node);
  logic->kids = {Field(node, "left"), Field(node, "right")};
  return logic;
}

const Node* Converter::Unary(TSNode node) {
  Node* unary = Make(Kind::kUnary, node);
  const std::string_view token = Type(ts_node_child_by_field_name(node, "operator", 8));
  unary->op = token == "-"   ? Operator::kNegative
              : token == "~" ? Operator::kInvert
                             : Operator::kPositive;
  unary->kids = {Field(node, "argument")};
  return unary;
}

const Node* Converter::Named(TSNode node) {
  Node* named = Make(Kind::kNamed, node);
  named->kids = {Field(node, "name"), Field(node, "value")};
  return named;
}

const Node* Converter::Lambda(TSNode node) {
  Node* lambda = Make(Kind::kLambda, node);
  const TSNode parameters = ts_node_child_by_field_name(node, "parameters", 10);
  lambda->kids = {
      ts_node_is_null(parameters) ? Make(Kind::kParameters, node) : Parameters(parameters),
      Field(node, "body")};
  return lambda;
}

const Node* Converter::Parameters(TSNode node) {
  Node* parameters = Make(Kind::kParameters, node);
  bool keyword_only = false;
  for (const TSNode child : NamedChildren(node)) {
    const std::string_view type = Type(child);
    if (type == "comment" || type == "positional_separator") continue;
    if (type == "keyword_separator") {
      keyword_only = true;
      continue;
    }
    const Node* parameter = Parameter(child, keyword_only);
    keyword_only |= parameter->integer == static_cast<int64_t>(ParameterKind::kStar);
    parameters->kids.push_back(parameter);
  }
  return parameters;
}

const Node* Converter::Parameter(TSNode node, bool keyword_only) {
  Node* parameter = Make(Kind::kParameter, node);
  parameter->kids.assign(2, nullptr);
  ParameterKind kind = keyword_only ? ParameterKind::kKeywordOnly : ParameterKind::kPositional;
  TSNode name = node;
  const std::string_view type = Type(node);
  if (type == "default_parameter" || type == "typed_default_parameter") {
    name = ts_node_child_by_field_name(node, "name", 4);
    parameter->kids[0] = Field(node, "value");
  }
  if (type == "typed_parameter") name = ts_node_named_child(node, 0);
  if (type == "typed_parameter" || type == "typed_default_parameter") {
    parameter->kids[1] = Field(node, "type");
  }
  if (Type(name) == "list_splat_pattern" || Type(name) == "dictionary_splat_pattern") {
    kind = Type(name) == "list_splat_pattern" ? ParameterKind::kStar : ParameterKind::kDoubleStar;
    name = ts_node_named_child(name, 0);
  }
  parameter->text = Text(name);
  parameter->integer = static_cast<int64_t>(kind);
  return parameter;
}

}  // namespace tenon::analyze
