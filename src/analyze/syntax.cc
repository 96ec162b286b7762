#include "analyze/syntax.h"

#include <cctype>

#include "analyze/parse.h"
#include "base/error.h"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace tenon::analyze {
namespace {

// Positions of the ERROR and MISSING nodes, outermost only.
void CollectProblems(TSNode node, std::vector<SyntaxProblem>* problems) {
  if (!ts_node_has_error(node)) return;
  if (ts_node_is_error(node) || ts_node_is_missing(node)) {
    const TSPoint point = ts_node_start_point(node);
    problems->push_back({static_cast<int>(point.row) + 1, static_cast<int>(point.column) + 1});
    return;
  }
  for (uint32_t i = 0; i < ts_node_child_count(node); ++i) {
    CollectProblems(ts_node_child(node, i), problems);
  }
}

}  // namespace

SourceFile::SourceFile(std::string shown, std::string text)
    : shown_(std::move(shown)), text_(std::move(text)), tree_(std::make_unique<Tree>()) {
  TSParser* parser = ts_parser_new();
  TENON_ASSERT(ts_parser_set_language(parser, tree_sitter_python()),
               "the Python grammar does not fit tree-sitter's core");
  tree_->tree =
      ts_parser_parse_string(parser, nullptr, text_.data(), static_cast<uint32_t>(text_.size()));
  ts_parser_delete(parser);
  const TSNode root = ts_tree_root_node(tree_->tree);
  CollectProblems(root, &problems_);
  root_ = Converter(*this).Block(root);
}

SourceFile::~SourceFile() { ts_tree_delete(tree_->tree); }

const Node* SourceFile::Body(const Node& function) {
  const auto index = static_cast<size_t>(function.integer);
  if (bodies_[index] == nullptr) bodies_[index] = Converter(*this).Block(tree_->bodies[index]);
  return bodies_[index];
}

std::string SourceFile::Excerpt(const Node& node) const {
  std::string line;
  for (size_t i = node.begin; i < node.end && i < text_.size(); ++i) {
    const bool blank = std::isspace(static_cast<unsigned char>(text_[i])) != 0;
    if (!blank) {
      line += text_[i];
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line;
}

std::string_view OperatorText(Operator op) {
  static constexpr std::string_view kText[] = {
      "+",  "-",  "*", "/",  "//", "%",  "**", "@",      "&",  "|",      "^", "<<", ">>",
      "==", "!=", "<", "<=", ">",  ">=", "in", "not in", "is", "is not", "-", "+",  "~"};
  return kText[static_cast<size_t>(op)];
}

}  // namespace tenon::analyze
