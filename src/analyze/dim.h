// Sizes of tensors: integer polynomials over named symbols ("T", "2*d", "T*32 + 1").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::analyze {

class Dim {
 public:
  Dim() = default;
  Dim(int64_t value);  // NOLINT: sizes are written as plain numbers everywhere
  static Dim Symbol(std::string_view name);
  // Parses "tokens", "4096", "2*d + 1", "(a + b)*3"; nothing when it is not such an expression.
  static std::optional<Dim> Parse(std::string_view text);

  bool IsConstant() const;
  // The number; only when IsConstant().
  int64_t Value() const;
  // The value with every symbol replaced; nothing when a symbol has no value.
  std::optional<int64_t> Evaluate(const std::map<std::string, int64_t>& symbols) const;
  std::vector<std::string> Symbols() const;
  std::string Text() const;

  Dim operator+(const Dim& other) const;
  Dim operator-(const Dim& other) const;
  Dim operator*(const Dim& other) const;
  // Exact quotient; nothing when there is a remainder or the divisor has several terms that do not
  // divide.
  std::optional<Dim> DividedBy(const Dim& other) const;

  bool operator==(const Dim& other) const = default;

 private:
  // Product of symbols, sorted -> coefficient; zero coefficients are dropped. {} is the constant.
  std::map<std::vector<std::string>, int64_t> terms_;
};

using Shape = std::vector<Dim>;

Dim Product(const Shape& shape);
std::string ShapeText(const Shape& shape);

}  // namespace tenon::analyze
