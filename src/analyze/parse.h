// From tree-sitter's nodes to ours; used by syntax.cc only.
#pragma once

#include <tree_sitter/api.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyze/syntax.h"

namespace tenon::analyze {

struct SourceFile::Tree {
  TSTree* tree = nullptr;
  std::vector<TSNode> bodies;
};

class Converter {
 public:
  explicit Converter(SourceFile& file) : file_(file) {}

  const Node* Block(TSNode node);
  const Node* Statement(TSNode node);
  const Node* Expression(TSNode node);

 private:
  Node* Make(Kind kind, TSNode at);
  std::string Text(TSNode node) const;
  const Node* Field(TSNode node, std::string_view field);  // null when there is none
  void AddExpression(Node* parent, TSNode node);

  // parse_dispatch.cc
  using Conversion = const Node* (Converter::*)(TSNode);
  static Conversion FindConversion(std::string_view type);
  const Node* Attribute(TSNode node);
  const Node* Logic(TSNode node);
  const Node* Unary(TSNode node);
  const Node* Named(TSNode node);
  const Node* Lambda(TSNode node);
  const Node* Parameters(TSNode node);
  const Node* Parameter(TSNode node, bool keyword_only);

  // parse_expression.cc
  const Node* Name(TSNode node);
  const Node* Number(TSNode node);
  const Node* String(TSNode node);
  void AppendStringParts(TSNode node, Node* format);
  const Node* FormatSpec(TSNode node);
  const Node* Sequence(TSNode node, Kind kind);
  const Node* Subscript(TSNode node);
  const Node* SliceOf(TSNode node);
  const Node* Call(TSNode node);
  const Node* StarOutside(Node* node, TSNode at);
  void AppendArguments(TSNode list, Node* parent);
  const Node* Compare(TSNode node);
  const Node* BinaryOf(TSNode node);
  const Node* Comprehension(TSNode node, Kind kind);
  const Node* Yield(TSNode node);

  // parse_statement.cc
  const Node* Assignment(TSNode node);
  const Node* If(TSNode node);
  const Node* Try(TSNode node);
  const Node* With(TSNode node);
  const Node* Import(TSNode node);
  const Node* ImportFrom(TSNode node);
  const Node* Alias(TSNode node);
  const Node* Function(TSNode node, TSNode decorated);
  const Node* Class(TSNode node, TSNode decorated);
  const Node* Decorated(TSNode node);
  const Node* Match(TSNode node);
  const Node* Pattern(TSNode node);
  const Node* DottedPattern(TSNode node);
  const Node* ClassPattern(TSNode node);
  const Node* KeywordStatement(TSNode node, Kind kind);

  SourceFile& file_;
};

// All children, or those that are no punctuation. Indexed access would start over for each.
std::vector<TSNode> Children(TSNode node);
std::vector<TSNode> NamedChildren(TSNode node);

// The operator between the two operands of a node, by its token.
bool ParseOperator(std::string_view token, Operator* op);

}  // namespace tenon::analyze
