#include "ir/dim.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace tenon::ir {

struct Dim::Division {
  Dim numerator;
  Dim denominator;
  bool ceil;
};

namespace {

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool IsName(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), IsNameChar);
}

// sum := product (('+'|'-') product)*; product := unary (('*'|'//') unary)*
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Dim Parse() {
    Dim value = Sum();
    TENON_CHECK(Peek() == '\0', "size expression '{}': unexpected '{}'", text_, Peek());
    return value;
  }

 private:
  char Peek() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++pos_;
    return true;
  }
  void Expect(char c) {
    TENON_CHECK(Take(c), "size expression '{}': expected '{}' at offset {}", text_, c, pos_);
  }
  std::string_view TakeWord() {
    const size_t begin = pos_;
    while (pos_ < text_.size() && IsNameChar(text_[pos_])) ++pos_;
    return text_.substr(begin, pos_ - begin);
  }

  Dim Sum() {
    Dim value = Product();
    while (true) {
      if (Take('+')) {
        value = value + Product();
      } else if (Take('-')) {
        value = value - Product();
      } else {
        return value;
      }
    }
  }

  Dim Product() {
    Dim value = Unary();
    while (true) {
      if (Take('*')) {
        value = value * Unary();
      } else if (Take('/')) {
        Expect('/');
        value = Dim::FloorDiv(value, Unary());
      } else {
        return value;
      }
    }
  }

  Dim Unary() {
    if (Take('-')) return Dim(0) - Unary();
    if (Take('(')) {
      Dim value = Sum();
      Expect(')');
      return value;
    }
    TENON_CHECK(IsNameChar(Peek()),
                "size expression '{}': expected a name or a number at offset {}", text_, pos_);
    const std::string word(TakeWord());
    if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); })) {
      constexpr size_t kDigits = 18;  // any such number is an int64_t
      TENON_CHECK(word.size() <= kDigits, "size expression '{}': {} is too large", text_, word);
      return Dim(static_cast<int64_t>(std::stoll(word)));
    }
    TENON_CHECK(IsName(word), "size expression '{}': '{}' is neither a name nor a number", text_,
                word);
    if (word != "ceil") return Dim(word);
    Expect('(');
    const Dim a = Sum();
    Expect(',');
    const Dim b = Sum();
    Expect(')');
    return Dim::CeilDiv(a, b);
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

Dim::Dim(int64_t value) {
  if (value != 0) terms_[{}] = value;
  Normalise();
}

Dim::Dim(std::string_view text) {
  if (IsName(text)) {
    terms_[{std::string(text)}] = 1;
    Normalise();
  } else {
    *this = Parser(text).Parse();
  }
}

std::optional<Dim> Dim::Parse(std::string_view text) {
  try {
    return Dim(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void Dim::Normalise() {
  std::erase_if(terms_, [](const auto& term) { return term.second == 0; });
  std::string text;
  const auto append = [&text](const std::string& magnitude, bool negative) {
    if (!text.empty()) {
      text += negative ? " - " : " + ";
    } else if (negative) {
      text += "-";
    }
    text += magnitude;
  };
  for (const auto& [monomial, coefficient] : terms_) {
    if (monomial.empty()) continue;
    const std::string factors = Join(monomial, "*");
    const int64_t magnitude = std::abs(coefficient);
    append(magnitude == 1 ? factors : fmt::format("{}*{}", magnitude, factors), coefficient < 0);
  }
  const int64_t number = constant_term();
  if (number != 0 || text.empty()) append(std::to_string(std::abs(number)), number < 0);
  text_ = text;
}

Dim operator+(const Dim& a, const Dim& b) {
  Dim sum = a;
  for (const auto& [monomial, coefficient] : b.terms_) sum.terms_[monomial] += coefficient;
  sum.divisions_.insert(b.divisions_.begin(), b.divisions_.end());
  sum.Normalise();
  return sum;
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  Dim product;
  for (const auto& [left, left_coefficient] : a.terms_) {
    for (const auto& [right, right_coefficient] : b.terms_) {
      Dim::Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      std::sort(monomial.begin(), monomial.end());
      product.terms_[monomial] += left_coefficient * right_coefficient;
    }
  }
  product.divisions_ = a.divisions_;
  product.divisions_.insert(b.divisions_.begin(), b.divisions_.end());
  product.Normalise();
  return product;
}

Dim Dim::FloorDiv(const Dim& a, const Dim& b) { return Divide(a, b, /*ceil=*/false); }
Dim Dim::CeilDiv(const Dim& a, const Dim& b) { return Divide(a, b, /*ceil=*/true); }

std::optional<Dim> Dim::DivideExactly(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return std::nullopt;
  if (a == b) return Dim(1);
  if (b.terms_.size() != 1) return std::nullopt;
  const auto& [divisor, divisor_coefficient] = *b.terms_.begin();
  Dim quotient;
  for (const auto& [monomial, coefficient] : a.terms_) {
    Monomial rest = monomial;
    for (const std::string& factor : divisor) {
      const auto it = std::find(rest.begin(), rest.end(), factor);
      if (it == rest.end()) return std::nullopt;
      rest.erase(it);
    }
    if (coefficient % divisor_coefficient != 0) return std::nullopt;
    quotient.terms_[rest] += coefficient / divisor_coefficient;
  }
  quotient.divisions_ = a.divisions_;
  quotient.Normalise();
  return quotient;
}

Dim Dim::Divide(const Dim& a, const Dim& b, bool ceil) {
  TENON_CHECK(!(b == Dim(0)), "size expression: division of '{}' by zero", a.text());
  if (const auto x = a.constant(), y = b.constant(); x && y) {
    return Dim(ceil ? -FloorDivide(-*x, *y) : FloorDivide(*x, *y));
  }
  if (std::optional<Dim> exact = DivideExactly(a, b)) return *exact;
  const auto part = [](const Dim& d) {
    return IsName(d.text()) || d.constant() ? d.text() : "(" + d.text() + ")";
  };
  const std::string name = ceil ? fmt::format("ceil({}, {})", a.text(), b.text())
                                : fmt::format("({}//{})", part(a), part(b));
  Dim result;
  result.terms_[{name}] = 1;
  result.divisions_[name] = std::make_shared<const Division>(Division{a, b, ceil});
  result.Normalise();
  return result;
}

std::optional<int64_t> Dim::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

int64_t Dim::constant_term() const {
  const auto it = terms_.find({});
  return it == terms_.end() ? 0 : it->second;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  for (const auto& [monomial, coefficient] : terms_) {
    for (const std::string& factor : monomial) {
      const auto division = divisions_.find(factor);
      if (division == divisions_.end()) {
        names.insert(factor);
        continue;
      }
      for (const Dim* part : {&division->second->numerator, &division->second->denominator}) {
        for (const std::string& name : part->symbols()) names.insert(name);
      }
    }
  }
  return {names.begin(), names.end()};
}

int64_t Dim::FactorValue(const std::string& factor, const Bindings& bindings) const {
  if (const auto it = divisions_.find(factor); it != divisions_.end()) {
    const int64_t a = it->second->numerator.Eval(bindings);
    const int64_t b = it->second->denominator.Eval(bindings);
    TENON_CHECK(b != 0, "size expression '{}' divides by zero", text_);
    return it->second->ceil ? -FloorDivide(-a, b) : FloorDivide(a, b);
  }
  const auto it = bindings.find(factor);
  TENON_CHECK(it != bindings.end(), "size '{}' has no value", factor);
  return it->second;
}

int64_t Dim::Eval(const Bindings& bindings) const {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    int64_t product = coefficient;
    for (const std::string& factor : monomial) product *= FactorValue(factor, bindings);
    sum += product;
  }
  return sum;
}

bool Dim::HasValue(const Bindings& bindings) const {
  const std::vector<std::string> names = symbols();
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return bindings.contains(name); });
}

std::optional<int64_t> Dim::TryEval(const Bindings& bindings) const {
  return HasValue(bindings) ? std::optional(Eval(bindings)) : std::nullopt;
}

Dim Dim::Substitute(const std::map<std::string, Dim>& values) const {
  Dim sum;
  for (const auto& [monomial, coefficient] : terms_) {
    Dim product(coefficient);
    for (const std::string& factor : monomial) {
      if (const auto it = divisions_.find(factor); it != divisions_.end()) {
        product = product * Divide(it->second->numerator.Substitute(values),
                                   it->second->denominator.Substitute(values), it->second->ceil);
      } else if (const auto value = values.find(factor); value != values.end()) {
        product = product * value->second;
      } else {
        product = product * Dim(factor);
      }
    }
    sum = sum + product;
  }
  return sum;
}

std::optional<std::pair<std::string, int64_t>> Dim::Solve(int64_t value,
                                                          const Bindings& bindings) const {
  std::string unknown;
  int64_t constant_part = 0;
  int64_t slope = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    int64_t product = coefficient;
    bool has_unknown = false;
    for (const std::string& factor : monomial) {
      const auto division = divisions_.find(factor);
      if (division == divisions_.end() && !bindings.contains(factor)) {
        if (has_unknown || (!unknown.empty() && unknown != factor)) return std::nullopt;
        unknown = factor;
        has_unknown = true;
        continue;
      }
      if (division != divisions_.end() && !(division->second->numerator.HasValue(bindings) &&
                                            division->second->denominator.HasValue(bindings))) {
        return std::nullopt;
      }
      product *= FactorValue(factor, bindings);
    }
    (has_unknown ? slope : constant_part) += product;
  }
  if (unknown.empty() || slope == 0 || (value - constant_part) % slope != 0) return std::nullopt;
  return std::pair{unknown, (value - constant_part) / slope};
}

std::pair<Dim, Dim> Dim::SplitBy(const Dim& divisor) const {
  Dim quotient;
  Dim rest;
  for (const auto& [monomial, coefficient] : terms_) {
    Dim term;
    term.terms_[monomial] = coefficient;
    term.divisions_ = divisions_;
    term.Normalise();
    if (const std::optional<Dim> exact = DivideExactly(term, divisor)) {
      quotient = quotient + *exact;
    } else if (const auto d = divisor.constant(); d && monomial.empty()) {
      quotient = quotient + Dim(FloorDivide(coefficient, *d));
      rest = rest + Dim(coefficient - *d * FloorDivide(coefficient, *d));
    } else {
      rest = rest + term;
    }
  }
  return {quotient, rest};
}

std::optional<std::pair<int64_t, Dim>> Dim::LinearIn(const std::string& symbol) const {
  const auto it = terms_.find({symbol});
  const int64_t coefficient = it == terms_.end() ? 0 : it->second;
  Dim rest = *this - Dim(coefficient) * Dim(symbol);
  for (const std::string& name : rest.symbols()) {
    if (name == symbol) return std::nullopt;
  }
  return std::pair{coefficient, std::move(rest)};
}

bool Dim::NonNegative() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const auto& term) { return term.second >= 0; });
}

Dim Product(std::span<const Dim> sizes) {
  Dim product(1);
  for (const Dim& size : sizes) product = product * size;
  return product;
}

std::string DimsText(std::span<const Dim> sizes) {
  std::vector<std::string> texts;
  for (const Dim& size : sizes) texts.push_back(size.text());
  return "[" + Join(texts, ", ") + "]";
}

}  // namespace tenon::ir
