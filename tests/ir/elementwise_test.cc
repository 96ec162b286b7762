// Each element-wise op of the interpreter on a table of hand-computed cases.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "host_tensor.h"
#include "ir/builder.h"
#include "ir/interpreter.h"
#include "ir/op_table.h"

namespace tenon::ir {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  Op op;
  DType dtype;  // of the arguments
  std::vector<std::vector<double>> args;
  std::vector<double> expected;
};

const std::vector<Case>& Cases() {
  constexpr DType f = DType::kF32;
  constexpr DType i = DType::kI32;
  constexpr DType b = DType::kBool;
  static const std::vector<Case> cases = {
      {Op::kAdd, f, {{1, kInf, kNan}, {2, -kInf, 1}}, {3, kNan, kNan}},
      {Op::kAdd, i, {{2147483647, -3}, {1, 5}}, {-2147483648.0, 2}},
      {Op::kSub, f, {{1, 0}, {2, 0.5}}, {-1, -0.5}},
      {Op::kSub, i, {{-2147483648.0}, {1}}, {2147483647}},
      {Op::kMul, f, {{3, kInf}, {-0.5, 0}}, {-1.5, kNan}},
      {Op::kMul, i, {{65536, -7}, {65536, 6}}, {0, -42}},
      {Op::kDiv, f, {{1, 0, -1}, {0, 0, 4}}, {kInf, kNan, -0.25}},
      {Op::kDiv, i, {{7}, {2}}, {3.5}},
      {Op::kFma, f, {{2, 1.5}, {3, 2}, {1, -3}}, {7, 0}},
      {Op::kNeg, f, {{1, -kInf}}, {-1, kInf}},
      {Op::kNeg, i, {{5, -2147483648.0}}, {-5, -2147483648.0}},
      {Op::kAbs, f, {{-2.5, 3}}, {2.5, 3}},
      {Op::kAbs, i, {{-4, 4}}, {4, 4}},
      {Op::kMin, f, {{1, kNan, 2}, {3, 1, kNan}}, {1, kNan, kNan}},
      {Op::kMin, i, {{1, -9}, {3, 2}}, {1, -9}},
      {Op::kMax, f, {{1, kNan, 2}, {3, 1, kNan}}, {3, kNan, kNan}},
      {Op::kMax, i, {{1, -9}, {3, 2}}, {3, 2}},
      {Op::kSqrt, f, {{9, -1, 0}}, {3, kNan, 0}},
      {Op::kRsqrt, f, {{4, 0, kInf}}, {0.5, kInf, 0}},
      {Op::kExp, f, {{0, 1, -kInf, 1000}}, {1, 2.718281828459045, 0, kInf}},
      {Op::kLog, f, {{1, 0, -1}}, {0, -kInf, kNan}},
      {Op::kSin, f, {{0, 1}}, {0, 0.8414709848078965}},
      {Op::kCos, f, {{0, 1}}, {1, 0.5403023058681398}},
      {Op::kTanh, f, {{0, 1, 100}}, {0, 0.7615941559557649, 1}},
      {Op::kErf, f, {{0, 0.5, -10}}, {0, 0.5204998778130465, -1}},
      {Op::kSigmoid, f, {{0, 2, -1000, 1000}}, {0.5, 0.8807970779778823, 0, 1}},
      {Op::kFloor, f, {{1.5, -1.5}}, {1, -2}},
      {Op::kRoundInt, f, {{0.5, 1.5, 2.5, -0.7}}, {0, 2, 2, -1}},
      {Op::kLt, f, {{1, 2, kNan}, {2, 2, 0}}, {1, 0, 0}},
      {Op::kLe, f, {{1, 2, kNan}, {2, 2, 0}}, {1, 1, 0}},
      {Op::kEq, f, {{1, 2, kNan}, {2, 2, kNan}}, {0, 1, 0}},
      {Op::kNe, f, {{1, 2, kNan}, {2, 2, kNan}}, {1, 0, 1}},
      {Op::kLt, i, {{-1, 5}, {0, 5}}, {1, 0}},
      {Op::kAnd, b, {{1, 1, 0}, {1, 0, 0}}, {1, 0, 0}},
      {Op::kOr, b, {{1, 1, 0}, {1, 0, 0}}, {1, 1, 0}},
      {Op::kNot, b, {{1, 0}}, {0, 1}},
      {Op::kIntDiv, i, {{7, -1, -16, 5}, {2, 16, 16, 0}}, {3, -1, -1, 0}},
      {Op::kIntMod, i, {{7, -1, -16}, {2, 16, 16}}, {1, 15, 0}},
      {Op::kBitAnd, i, {{12, -1}, {10, 255}}, {8, 255}},
      {Op::kBitOr, i, {{12, 1}, {10, 2}}, {14, 3}},
      {Op::kShiftLeft, i, {{3, 1}, {4, 31}}, {48, -2147483648.0}},
      {Op::kShiftRight, i, {{48, -8}, {4, 1}}, {3, -4}},
      {Op::kBitsOf, f, {{1, -2, 0}}, {0x3F800000, -1073741824.0, 0}},
      {Op::kFromBits, i, {{0x3F800000, -1073741824.0}}, {1, -2}},
  };
  return cases;
}

Value Input(Builder* b, const std::string& name, DType dtype) {
  return b->Input(name, dtype, {NamedAxis("n")});
}

testing::Matcher<std::vector<double>> SameAs(const std::vector<double>& expected) {
  std::vector<testing::Matcher<double>> elements;
  for (double v : expected) elements.push_back(testing::NanSensitiveDoubleEq(v));
  return testing::ElementsAreArray(elements);
}

TEST(Elementwise, HandComputedCases) {
  for (const Case& c : Cases()) {
    Builder b("case");
    RunInputs inputs;
    std::vector<HostTensor> tensors;
    tensors.reserve(c.args.size());
    Node node;
    node.op = c.op;
    for (size_t k = 0; k < c.args.size(); ++k) {
      const std::string name = fmt::format("x{}", k);
      node.args.push_back(Input(&b, name, c.dtype).id());
      const auto n = static_cast<int64_t>(c.args[k].size());
      tensors.emplace_back(c.dtype, std::vector<int64_t>{n}, c.args[k]);
      inputs.tensors[name] = tensors.back().tensor();
    }
    b.Output("y", b.Add(node));
    EXPECT_THAT(Interpret(b.graph(), inputs)[0].Values(), SameAs(c.expected)) << OpName(c.op);
  }
}

TEST(Elementwise, EveryOpHasACase) {
  std::set<Op> tested = {Op::kSelect, Op::kCast, Op::kRound};  // below
  for (const Case& c : Cases()) tested.insert(c.op);
  for (int i = 0; i < kNumOps; ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(IsElementwise(op), tested.contains(op)) << OpName(op);
  }
}

TEST(Elementwise, MinAndMaxMayIgnoreNan) {
  Builder b("ignore");
  const Value x = Input(&b, "x", DType::kF32);
  b.Output("low", Min(x, 2.0, /*propagate_nan=*/false));
  b.Output("high", Max(x, 2.0, /*propagate_nan=*/false));
  const HostTensor data = Vector({1, kNan, 3});
  const auto outputs = Interpret(b.graph(), Inputs({{"x", data.tensor()}}));
  EXPECT_THAT(outputs[0].Values(), testing::ElementsAre(1, 2, 2));
  EXPECT_THAT(outputs[1].Values(), testing::ElementsAre(2, 2, 3));
}

TEST(Elementwise, FmaRoundsOnce) {
  Builder b("fma");
  const Value x = Input(&b, "x", DType::kF32);
  b.Output("y", Fma(x, x, b.Const(-1.0) * (x * x)));
  const HostTensor data = Vector({0.1});
  const double v = static_cast<double>(0.1f);
  EXPECT_EQ(Interpret(b.graph(), Inputs({{"x", data.tensor()}}))[0].Value(0),
            std::fma(v, v, -(v * v)));
}

TEST(Elementwise, SelectKeepsIntegersExact) {
  Builder b("select");
  const Value x = Input(&b, "x", DType::kI64);
  const Value y = Input(&b, "y", DType::kI64);
  b.Output("larger", Select(Binary(Op::kLt, x, y), y, x));
  b.Output("sum", x + y);
  HostTensor left(DType::kI64, {2});
  HostTensor right(DType::kI64, {2});
  left.data<int64_t>()[0] = (int64_t{1} << 53) + 1;
  right.data<int64_t>()[0] = int64_t{1} << 53;
  left.data<int64_t>()[1] = -5;
  const auto outputs = Interpret(b.graph(), Inputs({{"x", left.tensor()}, {"y", right.tensor()}}));
  EXPECT_EQ(outputs[0].words[0].i, (int64_t{1} << 53) + 1);
  EXPECT_EQ(outputs[0].words[1].i, 0);
  EXPECT_EQ(outputs[1].words[0].i, (int64_t{1} << 54) + 1);
}

TEST(Elementwise, BroadcastsByAxisName) {
  Builder b("broadcast");
  const Value x = b.Input("x", DType::kF32, {NamedAxis("a"), NamedAxis("b"), NamedAxis("c")});
  const Value y = b.Input("y", DType::kF32, {NamedAxis("a"), NamedAxis("c")});
  const Value z = b.Input("z", DType::kF32, {NamedAxis("b")});
  b.Output("sum", x + y + z);
  const HostTensor xs(DType::kF32, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const HostTensor ys(DType::kF32, {2, 2}, {10, 20, 30, 40});
  const HostTensor zs(DType::kF32, {2}, {100, 200});
  const auto outputs =
      Interpret(b.graph(), Inputs({{"x", xs.tensor()}, {"y", ys.tensor()}, {"z", zs.tensor()}}));
  EXPECT_THAT(outputs[0].Values(), testing::ElementsAre(110, 121, 212, 223, 134, 145, 236, 247));
}

double CastOne(double v, DType to, CastRule rule) {
  Builder b("cast");
  b.Output("y", Cast(b.Const(v), to, rule));
  return Interpret(b.graph(), {})[0].Value(0);
}

TEST(Elementwise, CastRules) {
  const CastRule nearest;
  const CastRule zero{Rounding::kTowardZero, true, true};
  const CastRule floor{Rounding::kFloor, true, true};
  EXPECT_EQ(CastOne(2.5, DType::kI8, nearest), 2);
  EXPECT_EQ(CastOne(-2.5, DType::kI8, zero), -2);
  EXPECT_EQ(CastOne(-2.5, DType::kI8, floor), -3);
  EXPECT_EQ(CastOne(1e9, DType::kI8, nearest), 127);
  EXPECT_EQ(CastOne(-kInf, DType::kI32, nearest), -2147483648.0);
  EXPECT_EQ(CastOne(kNan, DType::kI8, nearest), 0);
  EXPECT_EQ(CastOne(1e30, DType::kI64, nearest), 0x1p63);
  EXPECT_EQ(CastOne(kNan, DType::kBool, nearest), 1);
  EXPECT_EQ(CastOne(1000, DType::kF8E4M3, nearest), 448);
  EXPECT_EQ(CastOne(-kInf, DType::kF8E4M3, nearest), -448);
  EXPECT_TRUE(std::isnan(CastOne(kNan, DType::kF8E4M3, nearest)));
  EXPECT_TRUE(
      std::isnan(CastOne(1000, DType::kF8E4M3, CastRule{Rounding::kNearestEven, false, true})));
  EXPECT_EQ(CastOne(1e6, DType::kF16, nearest), kInf);
  EXPECT_EQ(CastOne(1e6, DType::kF16, zero), 65504);
}

TEST(Elementwise, CastRoundsInTheGivenDirection) {
  const double above = 1 + 0x1p-8 + 0x1p-12;  // nearer to the upper neighbour in bf16
  const CastRule zero{Rounding::kTowardZero, true, true};
  const CastRule floor{Rounding::kFloor, true, true};
  EXPECT_EQ(CastOne(above, DType::kBF16, {}), 1 + 0x1p-7);
  EXPECT_EQ(CastOne(above, DType::kBF16, zero), 1);
  EXPECT_EQ(CastOne(-above, DType::kBF16, zero), -1);
  EXPECT_EQ(CastOne(above, DType::kBF16, floor), 1);
  EXPECT_EQ(CastOne(-1 - 0x1p-12, DType::kBF16, floor), -1 - 0x1p-7);
  EXPECT_EQ(CastOne(-1e-42, DType::kBF16, floor), -0x1p-133);
  EXPECT_EQ(CastOne(-1e-42, DType::kBF16, zero), 0);
}

TEST(Elementwise, RoundStoresToTheBoundType) {
  Builder b("round");
  b.Output("y", Round(b.Const(1.00390625), Elem::Storage()));
  RunInputs inputs;
  inputs.storage = DType::kBF16;
  EXPECT_EQ(Interpret(b.graph(), inputs)[0].Value(0), 1.0);
  inputs.storage = DType::kF16;
  EXPECT_EQ(Interpret(b.graph(), inputs)[0].Value(0), 1.00390625);
}

}  // namespace
}  // namespace tenon::ir
