// What counts as right, row by row of the documented table.
#include "ops/compare.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "base/dtype.h"
#include "ir/builder.h"
#include "ops/arena.h"

namespace tenon::ops {
namespace {

using ::testing::HasSubstr;

ir::HostArray Reference(DType dtype, std::vector<int64_t> shape,
                        const std::vector<double>& values) {
  ir::HostArray array(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    if (array.is_float()) {
      array.words[i].f = values[i];
    } else {
      array.words[i].i = static_cast<int64_t>(values[i]);
    }
  }
  return array;
}

Deviation CompareValues(DType dtype, const std::vector<double>& got,
                        const std::vector<double>& want, const Tolerance& tolerance = {}) {
  Arena arena;
  const std::vector<int64_t> shape = {1, static_cast<int64_t>(got.size())};
  return Compare(arena.Make(dtype, shape, got), Reference(dtype, shape, want), tolerance);
}

// The tolerance of what `body` makes of x and r.
Tolerance OfBody(DType dtype, const std::function<ir::Value(ir::Value, ir::Value)>& body) {
  const ir::Axis tokens = ir::NamedAxis("tokens");
  const ir::Axis width = ir::NamedAxis("width");
  ir::Builder b("test");
  const ir::Value x = b.Input("x", ir::Elem::Storage(), {tokens, width});
  const ir::Value r = b.Input("r", ir::Elem::Storage(), {tokens, width});
  b.Output("y", Round(body(x, r), ir::Elem::Storage()));
  return ToleranceOf(b.graph(), b.graph().outputs()[0].value, dtype);
}

TEST(Compare, QuantisedValuesAreOneStepOffInOnePercent) {
  for (DType dtype : {DType::kI8, DType::kF8E4M3}) {
    std::vector<double> want(200, 64);
    std::vector<double> got = want;
    const double next = dtype == DType::kI8 ? 65 : 72;
    got[7] = got[8] = next;
    EXPECT_EQ(CompareValues(dtype, got, want).text, "");
    EXPECT_EQ(CompareValues(dtype, got, want).worst, 1);
    got[9] = next;
    EXPECT_EQ(CompareValues(dtype, got, want).text,
              "3 of 200 elements are off by one step, allowed is 1 %");
    EXPECT_EQ(CompareValues(dtype, {next, 1}, {64, 1}).beyond, 0) << "one of few";
    EXPECT_EQ(CompareValues(dtype, {next, next}, {64, 64}).beyond, 2);
    got = want;
    got[7] = dtype == DType::kI8 ? 66 : 80;
    EXPECT_EQ(CompareValues(dtype, got, want).beyond, 1);
  }
}

TEST(Compare, FloatsAreWithinTheDocumentedTolerance) {
  const Tolerance bf16{8e-3, 1e-3};
  EXPECT_EQ(CompareValues(DType::kBF16, {1.0, 128}, {1.0089, 127.1}, bf16).beyond, 0);
  const Deviation off = CompareValues(DType::kBF16, {1.0, 0.5}, {1.01, 0.5}, bf16);
  EXPECT_THAT(off.text, HasSubstr("1 of 2 elements differ: element 0 (row 0) is 1"));
  EXPECT_GT(off.worst, 1);
  // Of a row that holds 100, a difference of 0.05 may be what cancellation left.
  EXPECT_EQ(CompareValues(DType::kBF16, {0.05, 100}, {0, 100}, bf16).beyond, 1);
  EXPECT_EQ(CompareValues(DType::kBF16, {0.05, 100}, {0, 100}, {8e-3, 1e-3, true}).beyond, 0);
}

TEST(Compare, SpecialValuesAreInTheSamePlaces) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tolerance f32{1e-5, 1e-5};
  EXPECT_EQ(CompareValues(DType::kF32, {kNan, kInf, -kInf}, {kNan, kInf, -kInf}, f32).beyond, 0);
  EXPECT_EQ(CompareValues(DType::kF32, {kNan, kInf, 1}, {1, -kInf, kNan}, f32).beyond, 3);
  EXPECT_EQ(CompareValues(DType::kF16, {kInf}, {70000}, f32).beyond, 0) << "rounds to infinity";
}

TEST(Compare, IntegersThatAreNoQuantisedValuesAreExact) {
  EXPECT_EQ(CompareValues(DType::kI32, {5, 6}, {5, 7}).beyond, 1);
}

TEST(Compare, ChainsHaveTheSecondColumn) {
  const auto single = [](ir::Value x, ir::Value r) { return Sigmoid(x) * r; };
  EXPECT_EQ(OfBody(DType::kBF16, single).rtol, 8e-3);
  EXPECT_EQ(OfBody(DType::kBF16, single).atol, 1e-3);
  const auto chain = [](ir::Value x, ir::Value r) {
    return Round(Sigmoid(x), ir::Elem::Storage()) * r;
  };
  EXPECT_EQ(OfBody(DType::kBF16, chain).rtol, 1.6e-2);
  EXPECT_EQ(OfBody(DType::kF16, chain).atol, 1e-3);
  EXPECT_EQ(OfBody(DType::kF32, chain).rtol, 2e-5);
  EXPECT_FALSE(OfBody(DType::kBF16, chain).relative_to_row);
  const auto longer = [](ir::Value x, ir::Value r) {
    for (int i = 0; i < 4; ++i) x = Round(x * r, ir::Elem::Storage());
    return x;
  };
  EXPECT_EQ(OfBody(DType::kBF16, longer).rtol, 1.6e-2);
}

TEST(Compare, SumsOfComputedTermsAreRelativeToTheRow) {
  const auto relative = [](const std::function<ir::Value(ir::Value, ir::Value)>& body) {
    return OfBody(DType::kBF16, body).relative_to_row;
  };
  EXPECT_TRUE(relative([](ir::Value x, ir::Value r) { return x * r - x * x; }));
  EXPECT_TRUE(
      relative([](ir::Value x, ir::Value r) { return Round(x * x, ir::Elem::Storage()) + r; }));
  EXPECT_FALSE(relative([](ir::Value x, ir::Value r) { return x + r; }));
  EXPECT_FALSE(relative([](ir::Value x, ir::Value r) { return x * x + r; }));
  EXPECT_FALSE(
      relative([](ir::Value x, ir::Value r) { return (Round(x, ir::Elem::Storage()) * r) + 1.0; }));
}

}  // namespace
}  // namespace tenon::ops
