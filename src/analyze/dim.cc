#include "analyze/dim.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace tenon::analyze {
namespace {

// Recursive descent over `a + 2*b - (c + 1)*3`.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  std::optional<Dim> Whole() {
    std::optional<Dim> value = Sum();
    Skip();
    return pos_ == text_.size() ? value : std::nullopt;
  }

 private:
  void Skip() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  bool Take(char c) {
    Skip();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  std::optional<Dim> Sum() {
    std::optional<Dim> left = Term();
    while (left) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) break;
      const std::optional<Dim> right = Term();
      if (!right) return std::nullopt;
      left = plus ? *left + *right : *left - *right;
    }
    return left;
  }
  std::optional<Dim> Term() {
    std::optional<Dim> left = Atom();
    while (left && Take('*')) {
      const std::optional<Dim> right = Atom();
      if (!right) return std::nullopt;
      left = *left * *right;
    }
    return left;
  }
  std::optional<Dim> Atom() {
    if (Take('(')) {
      std::optional<Dim> inner = Sum();
      return inner && Take(')') ? inner : std::nullopt;
    }
    Skip();
    const size_t start = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) {
      ++pos_;
    }
    const std::string word(text_.substr(start, pos_ - start));
    if (word.empty()) return std::nullopt;
    if (!std::isdigit(static_cast<unsigned char>(word[0]))) return Dim::Symbol(word);
    const bool digits =
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!digits || word.size() > 18) return std::nullopt;
    return Dim(std::stoll(word));
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

Dim::Dim(int64_t value) {
  if (value != 0) terms_[{}] = value;
}

Dim Dim::Symbol(std::string_view name) {
  Dim dim;
  dim.terms_[{std::string(name)}] = 1;
  return dim;
}

std::optional<Dim> Dim::Parse(std::string_view text) { return DimParser(text).Whole(); }

bool Dim::IsConstant() const {
  return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty());
}

int64_t Dim::Value() const {
  TENON_ASSERT(IsConstant(), "{} is not a number", Text());
  return terms_.empty() ? 0 : terms_.begin()->second;
}

std::optional<int64_t> Dim::Evaluate(const std::map<std::string, int64_t>& symbols) const {
  int64_t sum = 0;
  for (const auto& [factors, coefficient] : terms_) {
    int64_t product = coefficient;
    for (const std::string& factor : factors) {
      const auto found = symbols.find(factor);
      if (found == symbols.end()) return std::nullopt;
      product *= found->second;
    }
    sum += product;
  }
  return sum;
}

std::vector<std::string> Dim::Symbols() const {
  std::vector<std::string> names;
  for (const auto& [factors, coefficient] : terms_) {
    names.insert(names.end(), factors.begin(), factors.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Dim::Text() const {
  std::string text;
  // Reverse order puts the constant last: "2*d + 1".
  for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
    const int64_t coefficient = term->second;
    const int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    if (!text.empty()) {
      text += coefficient < 0 ? " - " : " + ";
    } else if (coefficient < 0) {
      text += "-";
    }
    if (magnitude != 1 || term->first.empty()) text += std::to_string(magnitude);
    bool star = magnitude != 1;
    for (const std::string& factor : term->first) {
      text += (star ? "*" : "") + factor;
      star = true;
    }
  }
  return text.empty() ? "0" : text;
}

Dim Dim::operator+(const Dim& other) const {
  Dim sum = *this;
  for (const auto& [factors, coefficient] : other.terms_) {
    int64_t& slot = sum.terms_[factors];
    slot += coefficient;
    if (slot == 0) sum.terms_.erase(factors);
  }
  return sum;
}

Dim Dim::operator-(const Dim& other) const { return *this + other * Dim(-1); }

Dim Dim::operator*(const Dim& other) const {
  Dim product;
  for (const auto& [left, a] : terms_) {
    for (const auto& [right, b] : other.terms_) {
      std::vector<std::string> factors = left;
      factors.insert(factors.end(), right.begin(), right.end());
      std::sort(factors.begin(), factors.end());
      int64_t& slot = product.terms_[factors];
      slot += a * b;
      if (slot == 0) product.terms_.erase(factors);
    }
  }
  return product;
}

std::optional<Dim> Dim::DividedBy(const Dim& other) const {
  if (other.terms_.empty()) return std::nullopt;
  if (*this == other) return Dim(1);
  if (other.terms_.size() != 1) return std::nullopt;
  const auto& [divisor, by] = *other.terms_.begin();
  Dim quotient;
  for (const auto& [factors, coefficient] : terms_) {
    if (coefficient % by != 0 ||
        !std::includes(factors.begin(), factors.end(), divisor.begin(), divisor.end())) {
      return std::nullopt;
    }
    std::vector<std::string> rest;
    std::set_difference(factors.begin(), factors.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(rest));
    quotient.terms_[rest] = coefficient / by;
  }
  return quotient;
}

Dim Product(const Shape& shape) {
  Dim product(1);
  for (const Dim& dim : shape) product = product * dim;
  return product;
}

std::string ShapeText(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + shape[i].Text();
  return text + "]";
}

}  // namespace tenon::analyze
