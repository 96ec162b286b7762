#include "cli/flags.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace tenon::cli {
namespace {

template <typename T>
T Parse(const std::string& text, std::string_view flag, std::string_view expected) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  TENON_CHECK(error == std::errc() && stop == end && !text.empty(), "{}: expected {}, got '{}'",
              flag, expected, text);
  return value;
}

}  // namespace

void AddFormat(CLI::App* command, std::string& format, const std::vector<std::string>& formats) {
  format = formats.front();
  command->add_option("--format", format, "Form of the output: " + Join(formats, ", "))
      ->check(CLI::IsMember(formats))
      ->option_text("FORMAT");
}

std::pair<std::string, std::string> SplitPair(const std::string& text, std::string_view flag) {
  const size_t equals = text.find('=');
  TENON_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < text.size(),
              "{}: expected NAME=VALUE, got '{}'", flag, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int64_t ParseInteger(const std::string& text, std::string_view flag) {
  return Parse<int64_t>(text, flag, "an integer");
}

double ParseReal(const std::string& text, std::string_view flag) {
  return Parse<double>(text, flag, "a number");
}

DType ParseStorage(const std::string& text, std::string_view flag) {
  const std::optional<DType> dtype = ParseDType(text);
  TENON_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16,
              "{}: expected f32, f16 or bf16, got '{}'", flag, text);
  return *dtype;
}

}  // namespace tenon::cli
