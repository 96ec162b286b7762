#include "ir/parser.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "ir/infer.h"
#include "ir/op_table.h"

namespace tenon::ir {
namespace {

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The text with a position: words, strings, numbers, size expressions.
class Cursor {
 public:
  Cursor(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  [[noreturn]] void Fail(const std::string& expected) { FailAt(SkipSpace(), expected, Here()); }

  [[noreturn]] void FailAt(size_t position, const std::string& expected, const std::string& got) {
    const std::string_view before = text_.substr(0, position);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw UsageError(fmt::format("{}:{}:{}: expected {}, got {}", origin_, line,
                                 position - begin + 1, expected, got));
  }

  size_t SkipSpace() {
    while (pos_ < text_.size()) {
      if (text_[pos_] == '#') {
        pos_ = std::min(text_.find('\n', pos_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(text_[pos_]))) {
        ++pos_;
      } else {
        break;
      }
    }
    return pos_;
  }

  bool AtEnd() { return SkipSpace() == text_.size(); }
  bool Sees(char c) { return SkipSpace() < text_.size() && text_[pos_] == c; }
  bool Take(char c) {
    if (!Sees(c)) return false;
    ++pos_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail(fmt::format("'{}'", c));
  }

  std::string_view PeekWord() {
    const size_t begin = SkipSpace();
    size_t end = begin;
    while (end < text_.size() && IsWordChar(text_[end])) ++end;
    return text_.substr(begin, end - begin);
  }
  bool TakeWord(std::string_view word) {
    if (PeekWord() != word) return false;
    pos_ += word.size();
    return true;
  }
  std::string Word(const std::string& expected) {
    const std::string word(PeekWord());
    if (word.empty()) Fail(expected);
    pos_ += word.size();
    return word;
  }
  void ExpectWord(std::string_view word) {
    if (!TakeWord(word)) Fail(fmt::format("'{}'", word));
  }

  std::string String() {
    if (!Take('"')) Fail("a string");
    std::string value;
    for (; pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\n'; ++pos_) {
      if (text_[pos_] == '\\' && pos_ + 1 < text_.size()) {
        ++pos_;
        if (text_[pos_] == 'x' && pos_ + 2 < text_.size()) {
          value += static_cast<char>(
              std::strtol(std::string(text_.substr(pos_ + 1, 2)).c_str(), nullptr, 16));
          pos_ += 2;
          continue;
        }
      }
      value += text_[pos_];
    }
    if (pos_ == text_.size() || text_[pos_] != '"') FailAt(pos_, "'\"'", "the end of the line");
    ++pos_;
    return value;
  }

  // The characters of a number: 12, -0.5, 1e-06, inf, nan.
  std::string NumberText() {
    const size_t begin = SkipSpace();
    size_t end = begin;
    while (end < text_.size() && (IsWordChar(text_[end]) || text_[end] == '.' ||
                                  text_[end] == '-' || text_[end] == '+')) {
      ++end;
    }
    const std::string number(text_.substr(begin, end - begin));
    char* rest = nullptr;
    std::strtod(number.c_str(), &rest);
    if (number.empty() || *rest != '\0') Fail("a number");
    pos_ = end;
    return number;
  }
  double Real() { return std::strtod(NumberText().c_str(), nullptr); }
  int64_t Integer() {
    const size_t begin = SkipSpace();
    const std::string number = NumberText();
    if (number.find_first_not_of("-0123456789") != std::string::npos) {
      FailAt(begin, "an integer", number);
    }
    return std::strtoll(number.c_str(), nullptr, 10);
  }

  // Up to a ',' or closing bracket that is not inside parentheses of its own.
  Dim Size() {
    const size_t begin = SkipSpace();
    int depth = 0;
    size_t end = begin;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '\n' || (depth == 0 && (c == ',' || c == ']' || c == ')'))) break;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    const std::string_view expression = Strip(text_.substr(begin, end - begin));
    try {
      const Dim size(expression);
      pos_ = end;
      return size;
    } catch (const UsageError& e) {
      FailAt(begin, "a size", fmt::format("'{}' ({})", expression, e.what()));
    }
  }

 private:
  // What stands at the position, for sentences.
  std::string Here() {
    if (pos_ >= text_.size()) return "the end";
    const std::string_view word = PeekWord();
    return fmt::format("'{}'", word.empty() ? text_.substr(pos_, 1) : word);
  }

  std::string_view text_;
  std::string_view origin_;
  size_t pos_ = 0;
};

// The number of the word in a list of names.
template <typename Enum, typename NameOf>
Enum Named(Cursor* cursor, int count, NameOf name_of, const std::string& what) {
  const std::string word(cursor->PeekWord());
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(name_of(static_cast<Enum>(i)));
    if (names.back() == word) {
      cursor->TakeWord(word);
      return static_cast<Enum>(i);
    }
  }
  const std::vector<std::string> nearest = NearestNames(word, names);
  cursor->Fail(nearest.empty() ? what : fmt::format("{} (like {})", what, Join(nearest, ", ")));
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view origin) : cursor_(text, origin) {}

  Graph Parse() {
    cursor_.ExpectWord("graph");
    graph_.set_name(cursor_.Sees('"') ? cursor_.String() : cursor_.Word("the graph's name"));
    cursor_.Expect('{');
    while (!cursor_.Take('}')) {
      if (cursor_.TakeWord("output")) {
        ParseOutput();
      } else if (cursor_.Take('%')) {
        ParseNode();
      } else {
        cursor_.Fail("a node ('%'), 'output' or '}'");
      }
    }
    if (!cursor_.AtEnd()) cursor_.Fail("nothing after the graph");
    return std::move(graph_);
  }

 private:
  NodeId ParseArgument() {
    cursor_.Expect('%');
    const size_t begin = cursor_.SkipSpace();
    const std::string label = cursor_.Word("a label");
    const auto it = ids_.find(label);
    if (it == ids_.end()) cursor_.FailAt(begin, "a defined label", "%" + label);
    return it->second;
  }

  Type ParseType() {
    Type type;
    const size_t begin = cursor_.SkipSpace();
    const std::string elem = cursor_.Word("an element type");
    if (elem == "T") {
      type.elem = Elem::Storage();
    } else if (elem == "W") {
      type.elem = Elem::Param();
    } else if (elem == "I") {
      type.elem = Elem::Index();
    } else if (const auto dtype = ParseDType(elem)) {
      type.elem = *dtype;
    } else {
      cursor_.FailAt(begin, "an element type (T, W, I, f32, bf16 ...)", "'" + elem + "'");
    }
    cursor_.Expect('[');
    while (!cursor_.Take(']')) {
      if (!type.axes.empty()) cursor_.Expect(',');
      const std::string name = cursor_.Word("an axis");
      type.axes.push_back({name, cursor_.Take('=') ? cursor_.Size() : Dim(name)});
    }
    return type;
  }

  AttrValue ParseAttribute() {
    if (cursor_.Sees('"')) return cursor_.String();
    if (cursor_.TakeWord("true")) return true;
    if (cursor_.TakeWord("false")) return false;
    if (cursor_.Take('[')) {
      std::vector<int64_t> values;
      while (!cursor_.Take(']')) {
        if (!values.empty()) cursor_.Expect(',');
        values.push_back(cursor_.Integer());
      }
      return values;
    }
    const std::string number = cursor_.NumberText();
    if (number.find_first_of(".en") != std::string::npos) {
      return std::strtod(number.c_str(), nullptr);
    }
    return static_cast<int64_t>(std::strtoll(number.c_str(), nullptr, 10));
  }

  void ParseCallAttributes(Node* node) {
    if (!cursor_.Take('{')) return;
    while (!cursor_.Take('}')) {
      if (!node->call.empty()) cursor_.Expect(',');
      const std::string name =
          cursor_.Sees('"') ? cursor_.String() : cursor_.Word("an attribute's name");
      cursor_.Expect('=');
      node->call[name] = ParseAttribute();
    }
  }

  void ParseCast(CastRule* rule) {
    if (cursor_.TakeWord(RoundingName(Rounding::kTowardZero))) {
      rule->rounding = Rounding::kTowardZero;
    } else if (cursor_.TakeWord(RoundingName(Rounding::kFloor))) {
      rule->rounding = Rounding::kFloor;
    } else {
      cursor_.TakeWord(RoundingName(Rounding::kNearestEven));
    }
    rule->saturate = !cursor_.TakeWord("unsaturated");
    rule->nan_to_zero = !cursor_.TakeWord("any_nan");
  }

  void ParseKey(std::string_view key) {
    cursor_.ExpectWord(key);
    cursor_.Expect('=');
  }

  // In the order in which the printer writes them.
  void ParseFields(Node* node) {
    const uint32_t fields = RowOf(node->op).fields;
    if (fields & kFieldOptional && cursor_.TakeWord("optional")) {
      cursor_.Expect('(');
      node->optional = true;
      node->value = cursor_.Real();
      cursor_.Expect(')');
    }
    if (node->op == Op::kConst) node->value = cursor_.Real();
    if (fields & kFieldReduce) {
      node->reduce = Named<ReduceKind>(&cursor_, 6, ReduceName, "a reduction");
    }
    if (fields & kFieldAxis) {
      ParseKey("axis");
      node->axis = cursor_.Word("an axis");
    }
    if (fields & kFieldDim) {
      ParseKey("dim");
      node->dim = static_cast<int>(cursor_.Integer());
    }
    if (fields & kFieldOffset) {
      ParseKey("offset");
      cursor_.Expect('(');
      node->offset = cursor_.Size();
      cursor_.Expect(')');
    }
    if (fields & kFieldCast) ParseCast(&node->cast);
    if (fields & kFieldIndexRule) {
      node->index_rule = Named<IndexRule>(&cursor_, 4, IndexRuleName, "an index rule");
    }
    if (fields & kFieldPropagateNan) node->propagate_nan = !cursor_.TakeWord("ignore_nan");
    if (fields & kFieldName) node->name = cursor_.String();
    if (fields & kFieldCall) ParseCallAttributes(node);
  }

  void ParseTypes(Node* node) {
    cursor_.Expect(':');
    if (!cursor_.Take('(')) {
      node->type = ParseType();
      if (RowOf(node->op).fields & kFieldResults) node->results = {node->type};
      return;
    }
    while (!cursor_.Take(')')) {
      if (!node->results.empty()) cursor_.Expect(',');
      node->results.push_back(ParseType());
    }
    if (node->results.empty()) cursor_.Fail("a type");
    node->type = node->results[0];
  }

  void ParseLocation(Span* span) {
    if (!cursor_.TakeWord("loc")) return;
    cursor_.Expect('(');
    span->file = cursor_.String();
    cursor_.Expect(':');
    span->line = static_cast<int>(cursor_.Integer());
    if (cursor_.Take(',')) span->symbol = cursor_.String();
    cursor_.Expect(')');
  }

  void ParseNode() {
    const size_t begin = cursor_.SkipSpace();
    const std::string label = cursor_.Word("a label");
    cursor_.Expect('=');
    Node node;
    node.op = Named<Op>(&cursor_, kNumOps, OpName, "an operation");
    ParseFields(&node);
    if (cursor_.Sees('%')) {
      do {
        node.args.push_back(ParseArgument());
      } while (cursor_.Take(','));
    }
    const size_t type_begin = cursor_.SkipSpace();
    ParseTypes(&node);
    ParseLocation(&node.span);
    CheckType(node, begin, type_begin);
    if (!ids_.emplace(label, graph_.Add(std::move(node))).second) {
      cursor_.FailAt(begin, "a new label", "%" + label + " again");
    }
  }

  void CheckType(const Node& node, size_t begin, size_t type_begin) {
    Type inferred;
    try {
      inferred = InferType(graph_, node);
    } catch (const UsageError& e) {
      cursor_.FailAt(begin, "a valid node", e.what());
    }
    if (!(inferred == node.type)) {
      cursor_.FailAt(type_begin, ": " + TypeText(inferred), TypeText(node.type));
    }
  }

  void ParseOutput() {
    Output output;
    output.name = cursor_.String();
    cursor_.Expect('=');
    output.value = ParseArgument();
    if (cursor_.TakeWord("in_place")) output.in_place = cursor_.String();
    if (cursor_.TakeWord("strides")) {
      cursor_.Expect('(');
      while (!cursor_.Take(')')) {
        if (!output.strides.empty()) cursor_.Expect(',');
        output.strides.push_back(cursor_.Size());
      }
    }
    graph_.AddOutput(std::move(output));
  }

  Cursor cursor_;
  Graph graph_;
  std::map<std::string, NodeId> ids_;  // by label
};

}  // namespace

Graph ParseGraph(std::string_view text, std::string_view origin) {
  return Parser(text, origin).Parse();
}

}  // namespace tenon::ir
