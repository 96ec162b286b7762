// The schema of every contract, and of its in-place forms, against tests/ops/schemas.txt.
#include <gmock/gmock.h>

#include <charconv>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "ops/registry.h"

namespace tenon::ops {
namespace {

struct Argument {
  std::string type;  // "Tensor(a!)?"
  std::string name;
  std::string fallback;
  bool operator==(const Argument&) const = default;
  friend void PrintTo(const Argument& a, std::ostream* os) {
    *os << a.type << ' ' << a.name << '=' << a.fallback;
  }
};

struct Schema {
  std::string name;
  std::vector<Argument> arguments;  // "*" is one, without a type
  std::string results;
};

// Defaults that are equal as numbers get equal texts: 1e-6 and 1e-06.
std::string NormalDefault(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const bool is_float = text.find_first_of(".e") != std::string_view::npos;
  return is_number && is_float ? fmt::format("{:a}", value) : std::string(text);
}

Argument ParseArgument(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return {"", std::string(text), ""};
  const std::string_view rest = text.substr(space + 1);
  const size_t equals = rest.find('=');
  Argument argument{std::string(text.substr(0, space)), std::string(rest.substr(0, equals)), ""};
  if (equals != std::string_view::npos) argument.fallback = NormalDefault(rest.substr(equals + 1));
  return argument;
}

Schema ParseSchema(std::string_view line) {
  const size_t open = line.find('(');
  const size_t close = line.find(") -> ");
  Schema schema;
  schema.name = line.substr(7, open - 7);  // after "tenon::"
  schema.results = line.substr(close + 5);
  for (const std::string& argument : Split(line.substr(open + 1, close - open - 1), ',')) {
    schema.arguments.push_back(ParseArgument(Strip(argument)));
  }
  return schema;
}

std::map<std::string, Schema> Expected() {
  std::map<std::string, Schema> schemas;
  const std::string text = ReadFile(TENON_SOURCE_DIR "/tests/ops/schemas.txt");
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    Schema schema = ParseSchema(line);
    schemas[schema.name] = std::move(schema);
  }
  return schemas;
}

TEST(Schema, EqualsTheSpecification) {
  const std::map<std::string, Schema> expected = Expected();
  for (const std::string& name : OperatorNames()) {
    SCOPED_TRACE(name);
    const OperatorForm form = FindOperator(name);
    const Schema schema = ParseSchema(form.op->contract().Schema(form.in_place));
    ASSERT_TRUE(expected.contains(name)) << "the specification has no such operator";
    EXPECT_EQ(schema.name, name);
    EXPECT_THAT(schema.arguments, ::testing::ElementsAreArray(expected.at(name).arguments));
    EXPECT_EQ(schema.results, expected.at(name).results);
  }
}

TEST(Schema, EveryLineOfTheSpecificationIsAnOperator) {
  const std::map<std::string, Schema> expected = Expected();
  EXPECT_EQ(expected.size(), 99u);
  for (const auto& [name, schema] : expected) {
    EXPECT_NO_THROW(FindOperator(name)) << name;
  }
}

TEST(Schema, ReadsLikeTheSpecification) {
  EXPECT_EQ(FindOperator("rms_norm").op->contract().Schema(),
            "tenon::rms_norm(Tensor x, Tensor? weight, float eps=1e-6, *, Tensor? bias=None, int? "
            "variance_size=None, float weight_offset=0.0) -> Tensor");
  const OperatorForm form = FindOperator("fused_add_rms_norm_");
  EXPECT_EQ(form.op->contract().Schema(form.in_place),
            "tenon::fused_add_rms_norm_(Tensor(a!) x, Tensor(b!) residual, Tensor? weight, float "
            "eps=1e-6, *, Tensor? bias=None, float weight_offset=0.0) -> ()");
}

}  // namespace
}  // namespace tenon::ops
