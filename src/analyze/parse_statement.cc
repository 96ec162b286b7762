#include <cstring>

#include "analyze/parse.h"

namespace tenon::analyze {
namespace {

std::string_view Type(TSNode node) { return ts_node_type(node); }

TSNode ChildOf(TSNode node, std::string_view field) {
  return ts_node_child_by_field_name(node, field.data(), static_cast<uint32_t>(field.size()));
}

}  // namespace

const Node* Converter::Block(TSNode node) {
  Node* block = Make(Kind::kBlock, node);
  for (const TSNode child : NamedChildren(node)) {
    if (Type(child) != "comment") block->kids.push_back(Statement(child));
  }
  return block;
}

const Node* Converter::Statement(TSNode node) {
  const std::string_view type = Type(node);
  if (type == "expression_statement") {
    const TSNode child = ts_node_named_child(node, 0);
    if (Type(child) == "assignment" || Type(child) == "augmented_assignment") {
      return Assignment(child);
    }
    Node* expression = Make(Kind::kExpression, node);
    // `a, b` without parentheses has its elements as direct children.
    expression->kids = {ts_node_named_child_count(node) > 1 ? Sequence(node, Kind::kTuple)
                                                            : Expression(child)};
    return expression;
  }
  if (type == "return_statement") return KeywordStatement(node, Kind::kReturn);
  if (type == "raise_statement") return KeywordStatement(node, Kind::kRaise);
  if (type == "assert_statement") return KeywordStatement(node, Kind::kAssert);
  if (type == "delete_statement") return KeywordStatement(node, Kind::kDelete);
  if (type == "global_statement" || type == "nonlocal_statement") {
    return KeywordStatement(node, Kind::kGlobal);
  }
  if (type == "pass_statement") return Make(Kind::kPass, node);
  if (type == "break_statement") return Make(Kind::kBreak, node);
  if (type == "continue_statement") return Make(Kind::kContinue, node);
  if (type == "if_statement") return If(node);
  if (type == "for_statement") {
    Node* loop = Make(Kind::kFor, node);
    const TSNode alternative = ChildOf(node, "alternative");
    loop->kids = {Field(node, "left"), Field(node, "right"), Block(ChildOf(node, "body")),
                  ts_node_is_null(alternative) ? nullptr : Block(ChildOf(alternative, "body"))};
    return loop;
  }
  if (type == "while_statement") {
    Node* loop = Make(Kind::kWhile, node);
    const TSNode alternative = ChildOf(node, "alternative");
    loop->kids = {Field(node, "condition"), Block(ChildOf(node, "body")),
                  ts_node_is_null(alternative) ? nullptr : Block(ChildOf(alternative, "body"))};
    return loop;
  }
  if (type == "try_statement") return Try(node);
  if (type == "with_statement") return With(node);
  if (type == "import_statement") return Import(node);
  if (type == "import_from_statement") return ImportFrom(node);
  if (type == "future_import_statement") return Make(Kind::kPass, node);
  if (type == "function_definition") return Function(node, node);
  if (type == "class_definition") return Class(node, node);
  if (type == "decorated_definition") return Decorated(node);
  if (type == "match_statement") return Match(node);
  if (type == "type_alias_statement") return Make(Kind::kPass, node);
  Node* error = Make(Kind::kError, node);
  error->text = type;
  return error;
}

const Node* Converter::KeywordStatement(TSNode node, Kind kind) {
  Node* statement = Make(kind, node);
  for (const TSNode child : NamedChildren(node)) {
    if (Type(child) == "comment") continue;
    if (kind == Kind::kRaise && !statement->kids.empty()) break;  // `from cause`
    AddExpression(statement, child);
  }
  if (statement->kids.empty()) statement->kids.push_back(nullptr);
  return statement;
}

const Node* Converter::Assignment(TSNode node) {
  if (Type(node) == "augmented_assignment") {
    Node* augmented = Make(Kind::kAugmented, node);
    const std::string_view token = Type(ChildOf(node, "operator"));
    ParseOperator(token.substr(0, token.size() - 1), &augmented->op);
    augmented->kids = {Field(node, "left"), Field(node, "right")};
    return augmented;
  }
  const TSNode right = ChildOf(node, "right");
  const bool has_value = !ts_node_is_null(right);
  if (!ts_node_is_null(ChildOf(node, "type"))) {
    Node* annotated = Make(Kind::kAnnotated, node);
    annotated->kids = {Field(node, "left"), Field(node, "type"),
                       has_value ? Expression(right) : nullptr};
    return annotated;
  }
  Node* assign = Make(Kind::kAssign, node);
  assign->kids = {nullptr, Field(node, "left")};
  TSNode value = right;
  while (Type(value) == "assignment") {
    assign->kids.push_back(Field(value, "left"));
    value = ChildOf(value, "right");
  }
  assign->kids[0] = Expression(value);
  return assign;
}

const Node* Converter::If(TSNode node) {
  Node* first = Make(Kind::kIf, node);
  first->kids = {Field(node, "condition"), Block(ChildOf(node, "consequence")), nullptr};
  Node* last = first;
  for (const TSNode child : NamedChildren(node)) {
    if (Type(child) == "elif_clause") {
      Node* next = Make(Kind::kIf, child);
      next->kids = {Field(child, "condition"), Block(ChildOf(child, "consequence")), nullptr};
      Node* block = Make(Kind::kBlock, child);
      block->kids = {next};
      last->kids[2] = block;
      last = next;
    } else if (Type(child) == "else_clause") {
      last->kids[2] = Block(ChildOf(child, "body"));
    }
  }
  return first;
}

const Node* Converter::Try(TSNode node) {
  Node* statement = Make(Kind::kTry, node);
  statement->kids = {Block(ChildOf(node, "body")), nullptr, nullptr};
  for (const TSNode child : NamedChildren(node)) {
    const std::string_view type = Type(child);
    if (type == "else_clause") statement->kids[1] = Block(ChildOf(child, "body"));
    if (type == "finally_clause") {
      statement->kids[2] = Block(ts_node_named_child(child, ts_node_named_child_count(child) - 1));
    }
    if (type != "except_clause" && type != "except_group_clause") continue;
    Node* handler = Make(Kind::kHandler, child);
    handler->kids = {nullptr, nullptr};
    for (uint32_t k = 0; k < ts_node_named_child_count(child); ++k) {
      const TSNode part = ts_node_named_child(child, k);
      if (Type(part) == "block") {
        handler->kids[1] = Block(part);
      } else if (Type(part) == "as_pattern") {
        handler->kids[0] = Expression(ts_node_named_child(part, 0));
        handler->text = Text(ChildOf(part, "alias"));
      } else if (Type(part) != "comment") {
        handler->kids[0] = Expression(part);
      }
    }
    statement->kids.push_back(handler);
  }
  return statement;
}

const Node* Converter::With(TSNode node) {
  Node* statement = Make(Kind::kWith, node);
  statement->kids = {Block(ChildOf(node, "body"))};
  const TSNode clause = ts_node_named_child(node, 0);
  for (const TSNode item : NamedChildren(clause)) {
    if (Type(item) != "with_item") continue;
    const TSNode value = ChildOf(item, "value");
    Node* with_item = Make(Kind::kWithItem, item);
    if (Type(value) == "as_pattern") {
      with_item->kids = {Expression(ts_node_named_child(value, 0)), Field(value, "alias")};
    } else {
      with_item->kids = {Expression(value), nullptr};
    }
    statement->kids.push_back(with_item);
  }
  return statement;
}

const Node* Converter::Alias(TSNode node) {
  Node* alias = Make(Kind::kAlias, node);
  if (Type(node) == "aliased_import") {
    alias->text = Text(ChildOf(node, "name"));
    alias->kids = {Field(node, "alias")};
  } else {
    alias->text = Text(node);
    alias->kids = {nullptr};
  }
  return alias;
}

const Node* Converter::Import(TSNode node) {
  Node* import = Make(Kind::kImport, node);
  for (const TSNode child : NamedChildren(node)) {
    if (Type(child) != "comment") import->kids.push_back(Alias(child));
  }
  return import;
}

const Node* Converter::ImportFrom(TSNode node) {
  Node* import = Make(Kind::kImportFrom, node);
  const TSNode module = ChildOf(node, "module_name");
  for (const char c : Text(module)) {
    if (c == '.' && import->text.empty()) {
      ++import->integer;
    } else {
      import->text += c;
    }
  }
  for (uint32_t i = 0; i < ts_node_child_count(node); ++i) {
    const TSNode child = ts_node_child(node, i);
    if (Type(child) == "wildcard_import") import->kids.push_back(Alias(child));
    const char* field = ts_node_field_name_for_child(node, i);
    if (field != nullptr && std::strcmp(field, "name") == 0) import->kids.push_back(Alias(child));
  }
  return import;
}

const Node* Converter::Function(TSNode node, TSNode decorated) {
  Node* function = Make(Kind::kFunction, node);
  function->text = Text(ChildOf(node, "name"));
  function->integer = static_cast<int64_t>(file_.bodies_.size());
  file_.bodies_.push_back(nullptr);
  file_.tree_->bodies.push_back(ChildOf(node, "body"));
  function->kids = {Parameters(ChildOf(node, "parameters"))};
  for (const TSNode child : NamedChildren(decorated)) {
    if (Type(child) != "decorator") continue;
    Node* decorator = Make(Kind::kDecorator, child);
    AddExpression(decorator, ts_node_named_child(child, 0));
    function->kids.push_back(decorator);
  }
  return function;
}

const Node* Converter::Class(TSNode node, TSNode decorated) {
  Node* cls = Make(Kind::kClass, node);
  cls->text = Text(ChildOf(node, "name"));
  Node* bases = Make(Kind::kArguments, node);
  const TSNode superclasses = ChildOf(node, "superclasses");
  if (!ts_node_is_null(superclasses)) AppendArguments(superclasses, bases);
  cls->kids = {Block(ChildOf(node, "body")), bases};
  for (const TSNode child : NamedChildren(decorated)) {
    if (Type(child) != "decorator") continue;
    Node* decorator = Make(Kind::kDecorator, child);
    AddExpression(decorator, ts_node_named_child(child, 0));
    cls->kids.push_back(decorator);
  }
  return cls;
}

const Node* Converter::Decorated(TSNode node) {
  const TSNode definition = ChildOf(node, "definition");
  return Type(definition) == "class_definition" ? Class(definition, node)
                                                : Function(definition, node);
}

const Node* Converter::Match(TSNode node) {
  Node* match = Make(Kind::kMatch, node);
  match->kids = {Field(node, "subject")};
  const TSNode body = ChildOf(node, "body");
  for (const TSNode clause : NamedChildren(body)) {
    if (Type(clause) != "case_clause") continue;
    Node* match_case = Make(Kind::kCase, clause);
    const TSNode guard = ChildOf(clause, "guard");
    match_case->kids = {
        Pattern(ts_node_named_child(clause, 0)),
        ts_node_is_null(guard) ? nullptr : Expression(ts_node_named_child(guard, 0)),
        Block(ChildOf(clause, "consequence"))};
    match->kids.push_back(match_case);
  }
  return match;
}

const Node* Converter::Pattern(TSNode node) {
  const std::string_view type = Type(node);
  if (type == "case_pattern") {
    if (ts_node_named_child_count(node) > 0) return Pattern(ts_node_named_child(node, 0));
    Node* wildcard = Make(Kind::kPatternName, node);
    wildcard->text = "_";
    if (Text(node) != "_") {  // a negative number
      Node* error = Make(Kind::kError, node);
      error->text = "case_pattern";
      return error;
    }
    return wildcard;
  }
  const auto children = [&](Kind kind) {
    Node* parent = Make(kind, node);
    for (uint32_t i = 0; i < ts_node_named_child_count(node); ++i) {
      parent->kids.push_back(Pattern(ts_node_named_child(node, i)));
    }
    return parent;
  };
  if (type == "union_pattern") return children(Kind::kPatternOr);
  if (type == "list_pattern" || type == "tuple_pattern") return children(Kind::kPatternList);
  if (type == "as_pattern") {
    Node* bound = Make(Kind::kPatternAs, node);
    bound->kids = {Pattern(ts_node_named_child(node, 0))};
    bound->text = Text(ts_node_named_child(node, ts_node_named_child_count(node) - 1));
    return bound;
  }
  if (type == "splat_pattern") {
    Node* star = Make(Kind::kPatternStar, node);
    star->text = Text(node).substr(1);
    return star;
  }
  if (type == "dotted_name") return DottedPattern(node);
  if (type == "class_pattern") return ClassPattern(node);
  if (type == "keyword_pattern") {
    Node* keyword = Make(Kind::kKeyword, node);
    keyword->text = Text(ts_node_named_child(node, 0));
    keyword->kids = {Pattern(ts_node_named_child(node, 1))};
    return keyword;
  }
  Node* value = Make(Kind::kPatternValue, node);
  value->kids = {Expression(node)};
  return value;
}

const Node* Converter::DottedPattern(TSNode node) {
  const std::string text = Text(node);
  if (text.find('.') == std::string::npos) {
    Node* name = Make(Kind::kPatternName, node);
    name->text = text;
    return name;
  }
  const Node* value = nullptr;
  for (const TSNode part : NamedChildren(node)) {
    Node* step = Make(value == nullptr ? Kind::kName : Kind::kAttribute, part);
    step->text = Text(part);
    if (value != nullptr) step->kids = {value};
    value = step;
  }
  Node* pattern = Make(Kind::kPatternValue, node);
  pattern->kids = {value};
  return pattern;
}

const Node* Converter::ClassPattern(TSNode node) {
  Node* pattern = Make(Kind::kPatternClass, node);
  for (const TSNode child : NamedChildren(node)) {
    const Node* part = Pattern(child);
    if (pattern->kids.empty() && part->kind == Kind::kPatternName) {
      Node* name = Make(Kind::kName, child);
      name->text = part->text;
      part = name;
    } else if (pattern->kids.empty() && part->kind == Kind::kPatternValue) {
      part = part->kids[0];
    }
    pattern->kids.push_back(part);
  }
  return pattern;
}

}  // namespace tenon::analyze
