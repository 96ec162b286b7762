#include <cstdlib>
#include <cstring>

#include "analyze/parse.h"

namespace tenon::analyze {
namespace {

std::string_view Type(TSNode node) { return ts_node_type(node); }

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xC0 | (code >> 6));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *out += static_cast<char>(0xE0 | (code >> 12));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    static constexpr std::string_view kLetters = "ntr\\'\"abfv0";
    static constexpr std::string_view kValues{"\n\t\r\\'\"\a\b\f\v\0", 11};
    const size_t letter = kLetters.find(c);
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
    if (letter != std::string_view::npos) {
      out += kValues[letter];
    } else if (digits != 0 && i + digits < text.size()) {
      const std::string hex(text.substr(i + 1, digits));
      AppendUtf8(static_cast<uint32_t>(std::strtoul(hex.c_str(), nullptr, 16)), &out);
      i += digits;
    } else if (c != '\n') {
      out += '\\';
      out += c;
    }
  }
  return out;
}

std::string DoubledBraces(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if ((text[i] == '{' || text[i] == '}') && i + 1 < text.size() && text[i + 1] == text[i]) ++i;
  }
  return out;
}

}  // namespace

bool ParseOperator(std::string_view token, Operator* op) {
  for (int i = 0; i <= static_cast<int>(Operator::kIsNot); ++i) {
    if (OperatorText(static_cast<Operator>(i)) == token) {
      *op = static_cast<Operator>(i);
      return true;
    }
  }
  return false;
}

std::vector<TSNode> Children(TSNode node) {
  std::vector<TSNode> children;
  TSTreeCursor cursor = ts_tree_cursor_new(node);
  for (bool more = ts_tree_cursor_goto_first_child(&cursor); more;
       more = ts_tree_cursor_goto_next_sibling(&cursor)) {
    children.push_back(ts_tree_cursor_current_node(&cursor));
  }
  ts_tree_cursor_delete(&cursor);
  return children;
}

std::vector<TSNode> NamedChildren(TSNode node) {
  std::vector<TSNode> children = Children(node);
  std::erase_if(children, [](TSNode child) { return !ts_node_is_named(child); });
  return children;
}

Node* Converter::Make(Kind kind, TSNode at) {
  Node& node = file_.nodes_.emplace_back();
  node.kind = kind;
  node.line = ts_node_start_point(at).row + 1;
  node.last_line = ts_node_end_point(at).row + 1;
  node.begin = ts_node_start_byte(at);
  node.end = ts_node_end_byte(at);
  return &node;
}

std::string Converter::Text(TSNode node) const {
  const uint32_t begin = ts_node_start_byte(node);
  return file_.text_.substr(begin, ts_node_end_byte(node) - begin);
}

const Node* Converter::Field(TSNode node, std::string_view field) {
  const TSNode child =
      ts_node_child_by_field_name(node, field.data(), static_cast<uint32_t>(field.size()));
  return ts_node_is_null(child) ? nullptr : Expression(child);
}

void Converter::AddExpression(Node* parent, TSNode node) {
  parent->kids.push_back(Expression(node));
}

const Node* Converter::Name(TSNode node) {
  Node* name = Make(Kind::kName, node);
  name->text = Text(node);
  return name;
}

const Node* Converter::Number(TSNode node) {
  std::string digits;
  for (const char c : Text(node)) {
    if (c != '_') digits += c;
  }
  const bool prefixed = digits.size() > 2 && digits[0] == '0' && std::isalpha(digits[1]) != 0 &&
                        digits[1] != 'e' && digits[1] != 'E';
  if (Type(node) == "float" || (!prefixed && digits.size() > 18)) {
    Node* real = Make(Kind::kFloat, node);
    real->real = std::strtod(digits.c_str(), nullptr);
    return real;
  }
  Node* integer = Make(Kind::kInt, node);
  int base = 10;
  if (prefixed) {
    base = digits[1] == 'x' || digits[1] == 'X' ? 16 : digits[1] == 'b' || digits[1] == 'B' ? 2 : 8;
    digits = digits.substr(2);
  }
  integer->integer = static_cast<int64_t>(std::strtoull(digits.c_str(), nullptr, base));
  return integer;
}

const Node* Converter::FormatSpec(TSNode node) {
  Node* spec = Make(Kind::kFormat, node);
  uint32_t at = ts_node_start_byte(node) + 1;  // after the colon
  const auto literal = [&](uint32_t until) {
    if (until <= at) return;
    Node* piece = Make(Kind::kString, node);
    piece->text = file_.text_.substr(at, until - at);
    spec->kids.push_back(piece);
  };
  for (const TSNode child : NamedChildren(node)) {
    literal(ts_node_start_byte(child));
    Node* value = Make(Kind::kFormatValue, child);
    value->kids = {Field(child, "expression"), nullptr};
    spec->kids.push_back(value);
    at = ts_node_end_byte(child);
  }
  literal(ts_node_end_byte(node));
  return spec;
}

// Adds the literal and {} pieces of one string token.
void Converter::AppendStringParts(TSNode node, Node* format) {
  bool raw = false;
  bool formatted = false;
  for (const TSNode child : Children(node)) {
    const std::string_view type = Type(child);
    if (type == "string_start") {
      for (const char c : Text(child)) {
        raw |= c == 'r' || c == 'R';
        formatted |= c == 'f' || c == 'F';
      }
    } else if (type == "string_content") {
      Node* piece = Make(Kind::kString, child);
      piece->text = Text(child);
      if (formatted) piece->text = DoubledBraces(piece->text);
      if (!raw) piece->text = Unescaped(piece->text);
      format->kids.push_back(piece);
    } else if (type == "interpolation") {
      Node* value = Make(Kind::kFormatValue, child);
      value->kids = {Field(child, "expression"), nullptr};
      for (const TSNode part : Children(child)) {
        if (Type(part) == "type_conversion") value->text = Text(part).substr(1);
        if (Type(part) == "format_specifier") value->kids[1] = FormatSpec(part);
        if (Type(part) == "=" && value->kids[0] != nullptr) {
          Node* label = Make(Kind::kString, child);
          label->text = file_.Excerpt(*value->kids[0]) + "=";
          format->kids.push_back(label);
          value->text = "r";
        }
      }
      format->kids.push_back(value);
    }
  }
}

const Node* Converter::String(TSNode node) {
  Node* format = Make(Kind::kFormat, node);
  if (Type(node) == "string") {
    AppendStringParts(node, format);
  } else {
    for (const TSNode child : NamedChildren(node)) {
      if (Type(child) == "string") AppendStringParts(child, format);
    }
  }
  Node* whole = Make(Kind::kString, node);
  for (const Node* piece : format->kids) {
    if (piece->kind != Kind::kString) return format;
    whole->text += piece->text;
  }
  return whole;
}

const Node* Converter::Sequence(TSNode node, Kind kind) {
  Node* sequence = Make(kind, node);
  for (const TSNode child : NamedChildren(node)) {
    if (Type(child) == "comment") continue;
    if (Type(child) == "pair") {
      Node* pair = Make(Kind::kPair, child);
      pair->kids = {Field(child, "key"), Field(child, "value")};
      sequence->kids.push_back(pair);
    } else {
      AddExpression(sequence, child);
    }
  }
  return sequence;
}

const Node* Converter::SliceOf(TSNode node) {
  Node* slice = Make(Kind::kSlice, node);
  slice->kids.assign(3, nullptr);
  size_t part = 0;
  for (const TSNode child : Children(node)) {
    if (Type(child) == ":") {
      ++part;
    } else if (ts_node_is_named(child) && Type(child) != "comment" && part < 3) {
      slice->kids[part] = Expression(child);
    }
  }
  return slice;
}

const Node* Converter::Subscript(TSNode node) {
  Node* subscript = Make(Kind::kSubscript, node);
  subscript->kids = {Field(node, "value")};
  Node* indices = Make(Kind::kTuple, node);
  bool comma = false;
  for (uint32_t i = 0; i < ts_node_child_count(node); ++i) {
    const TSNode child = ts_node_child(node, i);
    comma |= Type(child) == ",";
    const char* field = ts_node_field_name_for_child(node, i);
    if (field != nullptr && std::strcmp(field, "subscript") == 0) AddExpression(indices, child);
  }
  subscript->kids.push_back(indices->kids.size() == 1 && !comma ? indices->kids[0] : indices);
  return StarOutside(subscript, node);
}

void Converter::AppendArguments(TSNode list, Node* parent) {
  if (Type(list) == "generator_expression") {
    parent->kids.push_back(Comprehension(list, Kind::kGenerator));
    return;
  }
  for (const TSNode child : NamedChildren(list)) {
    if (Type(child) == "comment") continue;
    if (Type(child) != "keyword_argument") {
      AddExpression(parent, child);
      continue;
    }
    Node* keyword = Make(Kind::kKeyword, child);
    keyword->text = Text(ts_node_child_by_field_name(child, "name", 4));
    keyword->kids = {Field(child, "value")};
    parent->kids.push_back(keyword);
  }
}

// The grammar reads `[*f(x)]` as a call of `*f`: the star belongs around the whole expression.
const Node* Converter::StarOutside(Node* node, TSNode at) {
  if (node->kids[0] == nullptr || node->kids[0]->kind != Kind::kStar) return node;
  node->kids[0] = node->kids[0]->kids[0];
  Node* star = Make(Kind::kStar, at);
  star->kids = {node};
  return star;
}

const Node* Converter::Call(TSNode node) {
  Node* call = Make(Kind::kCall, node);
  call->kids = {Field(node, "function")};
  AppendArguments(ts_node_child_by_field_name(node, "arguments", 9), call);
  return StarOutside(call, node);
}

const Node* Converter::Compare(TSNode node) {
  Node* compare = Make(Kind::kCompare, node);
  for (const TSNode child : Children(node)) {
    Operator op = Operator::kAdd;
    if (ts_node_is_named(child) && Type(child) != "comment") {
      AddExpression(compare, child);
    } else if (ParseOperator(Type(child), &op)) {
      compare->text += static_cast<char>(op);
    }
  }
  return compare;
}

const Node* Converter::BinaryOf(TSNode node) {
  Node* binary = Make(Kind::kBinary, node);
  ParseOperator(Type(ts_node_child_by_field_name(node, "operator", 8)), &binary->op);
  binary->kids = {Field(node, "left"), Field(node, "right")};
  return binary;
}

const Node* Converter::Comprehension(TSNode node, Kind kind) {
  Node* comprehension = Make(kind, node);
  for (const TSNode child : NamedChildren(node)) {
    const std::string_view type = Type(child);
    if (type == "comment") continue;
    if (type == "for_in_clause") {
      Node* clause = Make(Kind::kCompFor, child);
      clause->kids = {Field(child, "left"), Field(child, "right")};
      comprehension->kids.push_back(clause);
    } else if (type == "if_clause") {
      Node* clause = Make(Kind::kCompIf, child);
      AddExpression(clause, ts_node_named_child(child, 0));
      comprehension->kids.push_back(clause);
    } else if (type == "pair") {
      Node* pair = Make(Kind::kPair, child);
      pair->kids = {Field(child, "key"), Field(child, "value")};
      comprehension->kids.push_back(pair);
    } else {
      AddExpression(comprehension, child);
    }
  }
  return comprehension;
}

const Node* Converter::Yield(TSNode node) {
  const bool from = ts_node_child_count(node) > 1 && Type(ts_node_child(node, 1)) == "from";
  Node* yield = Make(from ? Kind::kYieldFrom : Kind::kYield, node);
  if (ts_node_named_child_count(node) > 0) {
    AddExpression(yield, ts_node_named_child(node, 0));
  } else {
    yield->kids.push_back(nullptr);
  }
  return yield;
}

}  // namespace tenon::analyze
