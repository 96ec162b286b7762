// Symbolic sizes: integer expressions over named sizes, kept in a normal form so that equal sizes
// compare equal however they were written ("2*d + d" == "3*d").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::ir {

using Bindings = std::map<std::string, int64_t>;  // size name -> value

// A polynomial with integer coefficients; divisions are opaque factors of it. Dividing exactly
// (2*d // 2) simplifies. Immutable.
class Dim {
 public:
  Dim(int64_t value = 0);                                        // NOLINT: sizes read like numbers
  Dim(int value) : Dim(static_cast<int64_t>(value)) {}           // NOLINT
  Dim(std::string_view text);                                    // NOLINT: "(heads + 2*kv)*d"
  Dim(const char* text) : Dim(std::string_view(text)) {}         // NOLINT
  Dim(const std::string& text) : Dim(std::string_view(text)) {}  // NOLINT
  // Nothing where Dim(text) would be a UsageError.
  static std::optional<Dim> Parse(std::string_view text);

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  static Dim FloorDiv(const Dim& a, const Dim& b);  // written a//b
  static Dim CeilDiv(const Dim& a, const Dim& b);   // written ceil(a, b)
  // a / b when no sizes leave a remainder: both are equal, or b is one term that each term of a
  // contains.
  static std::optional<Dim> DivideExactly(const Dim& a, const Dim& b);

  bool operator==(const Dim& other) const { return text_ == other.text_; }
  bool operator<(const Dim& other) const { return text_ < other.text_; }

  // Normal form, the number last ("2*d + 1"); Dim(text) reads it back.
  const std::string& text() const { return text_; }
  std::optional<int64_t> constant() const;
  int64_t constant_term() const;             // what is left when every size is 0
  std::vector<std::string> symbols() const;  // sorted, unique

  // UsageError naming the size that has no value, or on a division by zero.
  int64_t Eval(const Bindings& bindings) const;
  bool HasValue(const Bindings& bindings) const;                   // every symbol is bound
  std::optional<int64_t> TryEval(const Bindings& bindings) const;  // nothing unless HasValue
  Dim Substitute(const std::map<std::string, Dim>& values) const;

  // The value of the only unbound symbol for which this expression equals `value`: the expression
  // must be linear in it. nullopt when there is no integer solution or not exactly one unknown.
  std::optional<std::pair<std::string, int64_t>> Solve(int64_t value,
                                                       const Bindings& bindings) const;

  // (q, r) with *this == q*divisor + r, where q takes every term that the divisor divides; of the
  // constant term it takes what fits. Says nothing about the size of r.
  std::pair<Dim, Dim> SplitBy(const Dim& divisor) const;
  // (c, rest) with *this == c*symbol + rest; nullopt when the symbol appears otherwise.
  std::optional<std::pair<int64_t, Dim>> LinearIn(const std::string& symbol) const;
  // True when no coefficient is negative: then the value is not negative for any sizes >= 0.
  bool NonNegative() const;

 private:
  struct Division;
  using Monomial = std::vector<std::string>;  // sorted factors: symbols and divisions, by text
  std::map<Monomial, int64_t> terms_;
  std::map<std::string, std::shared_ptr<const Division>> divisions_;
  std::string text_;

  static Dim Divide(const Dim& a, const Dim& b, bool ceil);
  void Normalise();
  int64_t FactorValue(const std::string& factor, const Bindings& bindings) const;
};

Dim Product(std::span<const Dim> sizes);
std::string DimsText(std::span<const Dim> sizes);  // "[tokens, 2*hidden]"

}  // namespace tenon::ir
