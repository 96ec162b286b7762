// Methods of str. The object is the first positional argument.
#include <algorithm>
#include <cctype>

#include "analyze/interpreter.h"
#include "base/text.h"

namespace tenon::analyze {
namespace {

using In = Interpreter&;
using Args = Arguments&;

const std::string& Self(Args a) { return *Text(a.positional[0]); }
Value At(Args a, size_t i) { return i < a.positional.size() ? a.positional[i] : Value(); }
std::string TextAt(Args a, size_t i, std::string fallback = "") {
  const std::string* text = Text(At(a, i));
  return text == nullptr ? fallback : *text;
}

Value SplitText(In in, Args a) {
  const Value given = Argument(a, 1, "sep");
  const Value limit_value = Argument(a, 2, "maxsplit");
  const int64_t limit = limit_value.IsInt() ? limit_value.integer : -1;
  std::vector<Value> parts;
  const std::string& text = Self(a);
  if (!given.Defined() || given.IsNone()) {
    std::string word;
    for (const char c : text + " ") {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        word += c;
      } else if (!word.empty()) {
        parts.push_back(in.NewString(word));
        word.clear();
      }
    }
    return in.NewList(std::move(parts));
  }
  const std::string separator = Str(given);
  size_t start = 0;
  while (!separator.empty()) {
    const size_t found = text.find(separator, start);
    if (found == std::string::npos || static_cast<int64_t>(parts.size()) == limit) break;
    parts.push_back(in.NewString(text.substr(start, found - start)));
    start = found + separator.size();
  }
  parts.push_back(in.NewString(text.substr(start)));
  return in.NewList(std::move(parts));
}

Value SplitRight(In in, Args a) {
  const std::string separator = Str(Argument(a, 1, "sep"));
  const Value limit_value = Argument(a, 2, "maxsplit");
  const int64_t limit = limit_value.IsInt() ? limit_value.integer : -1;
  std::vector<Value> parts;
  std::string text = Self(a);
  while (static_cast<int64_t>(parts.size()) != limit) {
    const size_t found = text.rfind(separator);
    if (found == std::string::npos) break;
    parts.insert(parts.begin(), in.NewString(text.substr(found + separator.size())));
    text = text.substr(0, found);
  }
  parts.insert(parts.begin(), in.NewString(text));
  return in.NewList(std::move(parts));
}

Value Partition(In in, Args a) {
  const std::string& text = Self(a);
  const std::string separator = TextAt(a, 1);
  const size_t found = text.find(separator);
  if (found == std::string::npos) {
    return in.NewTuple({in.NewString(text), in.NewString(""), in.NewString("")});
  }
  return in.NewTuple({in.NewString(text.substr(0, found)), in.NewString(separator),
                      in.NewString(text.substr(found + separator.size()))});
}

Value PartitionRight(In in, Args a) {
  const std::string& text = Self(a);
  const std::string separator = TextAt(a, 1);
  const size_t found = text.rfind(separator);
  if (found == std::string::npos) {
    return in.NewTuple({in.NewString(""), in.NewString(""), in.NewString(text)});
  }
  return in.NewTuple({in.NewString(text.substr(0, found)), in.NewString(separator),
                      in.NewString(text.substr(found + separator.size()))});
}

Value JoinText(In in, Args a) {
  std::string joined;
  bool first = true;
  for (const Value& item : in.Iterate(At(a, 1))) {
    joined += (first ? "" : Self(a)) + Str(item);
    first = false;
  }
  return in.NewString(std::move(joined));
}

Value Replace(In in, Args a) {
  std::string text = Self(a);
  const std::string from = TextAt(a, 1);
  const std::string to = TextAt(a, 2);
  const int64_t limit = At(a, 3).IsInt() ? At(a, 3).integer : -1;
  size_t at = 0;
  for (int64_t n = 0; !from.empty() && n != limit; ++n) {
    at = text.find(from, at);
    if (at == std::string::npos) break;
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return in.NewString(std::move(text));
}

// startswith and endswith take a string or a tuple of strings.
template <typename Test>
Value AnyAffix(In in, Args a, Test test) {
  const Value affix = At(a, 1);
  if (affix.Is(ObjectKind::kTuple)) {
    for (const Value& one : in.Iterate(affix)) {
      if (test(Self(a), Str(one))) return Value::Bool(true);
    }
    return Value::Bool(false);
  }
  return Value::Bool(test(Self(a), Str(affix)));
}

Value StartsWith(In in, Args a) {
  return AnyAffix(in, a,
                  [](const std::string& s, const std::string& p) { return s.starts_with(p); });
}

Value EndsWith(In in, Args a) {
  return AnyAffix(in, a, [](const std::string& s, const std::string& p) { return s.ends_with(p); });
}

Value StripText(In in, Args a, bool left, bool right) {
  const std::string blanks = TextAt(a, 1, " \t\n\r");
  std::string text = Self(a);
  if (left) text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
  if (right) text.erase(text.find_last_not_of(blanks) + 1);
  return in.NewString(std::move(text));
}

Value StripBoth(In in, Args a) { return StripText(in, a, true, true); }
Value StripLeft(In in, Args a) { return StripText(in, a, true, false); }
Value StripRight(In in, Args a) { return StripText(in, a, false, true); }

Value LowerText(In in, Args a) { return in.NewString(Lower(Self(a))); }

Value UpperText(In in, Args a) {
  std::string text = Self(a);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return in.NewString(std::move(text));
}

Value IsDigit(In, Args a) {
  const std::string& text = Self(a);
  return Value::Bool(!text.empty() && std::all_of(text.begin(), text.end(),
                                                  [](unsigned char c) { return std::isdigit(c); }));
}

Value FindText(In, Args a) {
  const size_t at = Self(a).find(TextAt(a, 1));
  return Value::Int(at == std::string::npos ? -1 : static_cast<int64_t>(at));
}

Value CountText(In, Args a) {
  const std::string piece = TextAt(a, 1);
  int64_t count = 0;
  for (size_t at = Self(a).find(piece); !piece.empty() && at != std::string::npos; ++count) {
    at = Self(a).find(piece, at + piece.size());
  }
  return Value::Int(count);
}

Value RemovePrefix(In in, Args a) {
  const std::string prefix = TextAt(a, 1);
  return in.NewString(Self(a).starts_with(prefix) ? Self(a).substr(prefix.size()) : Self(a));
}

Value RemoveSuffix(In in, Args a) {
  const std::string suffix = TextAt(a, 1);
  const std::string& text = Self(a);
  return in.NewString(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

// Messages only: placeholders are filled in order, names are left as they stand.
Value FormatText(In in, Args a) {
  std::string text = Self(a);
  size_t next = 1;
  for (size_t at = text.find("{}"); at != std::string::npos && next < a.positional.size();) {
    const std::string piece = Str(a.positional[next++]);
    text.replace(at, 2, piece);
    at = text.find("{}", at + piece.size());
  }
  for (const auto& [key, value] : a.keywords) {
    const std::string slot = "{" + key + "}";
    for (size_t at = text.find(slot); at != std::string::npos; at = text.find(slot)) {
      text.replace(at, slot.size(), Str(value));
    }
  }
  return in.NewString(std::move(text));
}

}  // namespace

void AddStringMethods(std::unordered_map<std::string, NativeFunction>* table);
void AddStringMethods(std::unordered_map<std::string, NativeFunction>* table) {
  table->insert({{"str.split", SplitText},
                 {"str.rsplit", SplitRight},
                 {"str.partition", Partition},
                 {"str.rpartition", PartitionRight},
                 {"str.join", JoinText},
                 {"str.replace", Replace},
                 {"str.startswith", StartsWith},
                 {"str.endswith", EndsWith},
                 {"str.strip", StripBoth},
                 {"str.lstrip", StripLeft},
                 {"str.rstrip", StripRight},
                 {"str.lower", LowerText},
                 {"str.upper", UpperText},
                 {"str.isdigit", IsDigit},
                 {"str.isnumeric", IsDigit},
                 {"str.find", FindText},
                 {"str.count", CountText},
                 {"str.removeprefix", RemovePrefix},
                 {"str.removesuffix", RemoveSuffix},
                 {"str.format", FormatText}});
}

}  // namespace tenon::analyze
