#include "ir/interpreter.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "host_tensor.h"
#include "ir/builder.h"

namespace tenon::ir {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

const Axis kRows = NamedAxis("rows");
const Axis kCols = NamedAxis("cols");

std::string ErrorOf(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

Graph RmsNorm() {
  Builder b("rms_norm");
  const Value x = b.Input("x", Elem::Storage(), {kRows, kCols});
  const Value weight = b.OptionalInput("weight", Elem::Param(), {kCols}, 1.0);
  const Value rstd = Rsqrt(Mean(x * x, "cols") + b.Attr("eps"));
  b.Output("y", Round(x * rstd * weight, Elem::Storage()));
  return b.Take();
}

TEST(Interpreter, RmsNorm) {
  const HostTensor x(DType::kBF16, {2, 2}, {3, 4, 0, 2});
  const HostTensor weight(DType::kF32, {2}, {2, -1});
  HostTensor y(DType::kBF16, {2, 2});
  RunInputs inputs = Inputs({{"x", x.tensor()}, {"weight", weight.tensor()}});
  inputs.storage = DType::kBF16;
  inputs.attributes["eps"] = 0.0;
  Interpret(RmsNorm(), inputs, std::vector<Tensor>{y.tensor()});
  const double rstd = 1 / std::sqrt(12.5);
  EXPECT_EQ(y[0], RoundTo(3 * rstd * 2, DType::kBF16));
  EXPECT_EQ(y[1], RoundTo(-4 * rstd, DType::kBF16));
  EXPECT_EQ(y[3], RoundTo(-std::sqrt(2.0), DType::kBF16));

  inputs.tensors.erase("weight");
  EXPECT_EQ(Interpret(RmsNorm(), inputs)[0].Value(0), RoundTo(3 * rstd, DType::kBF16));
}

TEST(Interpreter, AttributesAreFloat32) {
  Builder b("attribute");
  b.Output("eps", b.Attr("eps"));
  b.Output("count", b.Attr("count", DType::kI64));
  RunInputs inputs;
  inputs.attributes = {{"eps", 1e-6}, {"count", int64_t{1} << 60}};
  const auto outputs = Interpret(b.graph(), inputs);
  EXPECT_EQ(outputs[0].Value(0), static_cast<double>(1e-6f));
  EXPECT_EQ(outputs[1].words[0].i, int64_t{1} << 60);
}

TEST(Interpreter, ReadsAndWritesStridedTensors) {
  Builder b("copy");
  b.Output("y", Copy(b.Input("x", DType::kF32, {kRows, kCols})));
  HostTensor data(DType::kF32, {6}, {0, 1, 2, 3, 4, 5});
  Tensor column_major = data.tensor();
  column_major.rank = 2;
  column_major.sizes = {2, 3};
  column_major.strides = {1, 2};
  HostTensor out(DType::kF32, {2, 6}, std::vector<double>(12, -1));
  Tensor every_other = out.tensor();
  every_other.sizes = {2, 3};
  every_other.strides = {6, 2};
  Interpret(b.graph(), Inputs({{"x", column_major}}), std::vector<Tensor>{every_other});
  EXPECT_THAT(out.Values(), ElementsAre(0, -1, 2, -1, 4, -1, 1, -1, 3, -1, 5, -1));
}

TEST(Interpreter, OutputsMayBeTheInputsMemory) {
  Builder b("swap");
  const Value x = b.Input("x", DType::kF32, {kRows});
  const Value y = b.Input("y", DType::kF32, {kRows});
  b.Output("x", Copy(y), "x");
  b.Output("y", Copy(x), "y");
  const HostTensor first = Vector({1, 2});
  const HostTensor second = Vector({3, 4});
  Interpret(b.graph(), Inputs({{"x", first.tensor()}, {"y", second.tensor()}}),
            std::vector<Tensor>{first.tensor(), second.tensor()});
  EXPECT_THAT(first.Values(), ElementsAre(3, 4));
  EXPECT_THAT(second.Values(), ElementsAre(1, 2));
}

TEST(Interpreter, MovementKeepsBits) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kI8,
                            DType::kI32, DType::kI64}) {
    Builder b("move");
    const Value x = b.Input("x", dtype, {kRows, kCols});
    const Value flipped = Transpose(Slice(x, "rows", 1, {"rows", 2}), {"cols", "rows"});
    const Value padded = Concat({flipped, flipped}, 1, "rows");
    b.Output("y", MergeAxes(Slice(padded, "rows", 2, {"rows", 2}), "cols", "rows", "flat"));
    HostTensor in(dtype, {3, 2});
    HostTensor out(dtype, {4});
    const auto size = static_cast<size_t>(ItemSize(dtype));
    for (size_t i = 0; i < 6 * size; ++i) {  // among them NaNs, quiet and signalling
      in.data<uint8_t>()[i] = static_cast<uint8_t>(i % size + 1 == size ? 0x7F : 0x81 + i);
    }
    Interpret(b.graph(), Inputs({{"x", in.tensor()}}), std::vector<Tensor>{out.tensor()});
    for (const auto& [to, from] : {std::pair{0, 2}, {1, 4}, {2, 3}, {3, 5}}) {
      EXPECT_EQ(0, std::memcmp(out.data<char>() + static_cast<size_t>(to) * size,
                               in.data<char>() + static_cast<size_t>(from) * size, size))
          << DTypeName(dtype) << " " << to;
    }
  }
}

TEST(Interpreter, BitsOfANanSurvive) {
  Builder b("bits");
  const Value x = b.Input("x", DType::kF32, {kRows});
  b.Output("bits", Unary(Op::kBitsOf, x));
  b.Output("back", Unary(Op::kFromBits, Unary(Op::kBitsOf, x)));
  HostTensor in(DType::kF32, {1});
  in.data<uint32_t>()[0] = 0xFFA12345;
  HostTensor bits(DType::kI32, {1});
  HostTensor back(DType::kF32, {1});
  Interpret(b.graph(), Inputs({{"x", in.tensor()}}),
            std::vector<Tensor>{bits.tensor(), back.tensor()});
  EXPECT_EQ(bits.data<uint32_t>()[0], 0xFFA12345);
  EXPECT_EQ(back.data<uint32_t>()[0], 0xFFA12345);
}

TEST(Interpreter, IotaAndBroadcast) {
  Builder b("iota");
  const Value i = b.Iota(kCols);
  b.Output("y", Broadcast(i, {kRows, kCols}));
  RunInputs inputs;
  inputs.sizes = {{"rows", 2}, {"cols", 3}};
  const auto outputs = Interpret(b.graph(), inputs);
  EXPECT_EQ(outputs[0].dtype, DType::kI32);
  EXPECT_THAT(outputs[0].Values(), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Interpreter, PresentTellsWhatWasGiven) {
  Builder b("present");
  const Value bias = b.OptionalInput("bias", DType::kF32, {kRows}, -0.0);
  b.Output("y", bias);
  b.Output("present", b.Present("bias"));
  RunInputs inputs;
  auto outputs = Interpret(b.graph(), inputs);
  EXPECT_TRUE(std::signbit(outputs[0].Value(0)));
  EXPECT_EQ(outputs[1].Value(0), 0);
  const HostTensor data = Vector({5});
  outputs = Interpret(b.graph(), Inputs({{"bias", data.tensor()}}));
  EXPECT_EQ(outputs[0].Value(0), 5);
  EXPECT_EQ(outputs[1].Value(0), 1);
}

std::vector<double> ReduceOf(ReduceKind kind, const std::vector<double>& values, bool nan = true) {
  Builder b("reduce");
  b.Output("y", Reduce(kind, b.Input("x", DType::kF32, {kRows}), "rows", nan));
  const HostTensor data = Vector(values);
  return Interpret(b.graph(), Inputs({{"x", data.tensor()}}))[0].Values();
}

TEST(Interpreter, Reductions) {
  const std::vector<double> values = {1, -5, 3};
  EXPECT_THAT(ReduceOf(ReduceKind::kSum, values), ElementsAre(-1));
  EXPECT_THAT(ReduceOf(ReduceKind::kMean, {1, 2, 6}), ElementsAre(3));
  EXPECT_THAT(ReduceOf(ReduceKind::kMax, values), ElementsAre(3));
  EXPECT_THAT(ReduceOf(ReduceKind::kMin, values), ElementsAre(-5));
  EXPECT_THAT(ReduceOf(ReduceKind::kAmax, values), ElementsAre(5));
  EXPECT_THAT(ReduceOf(ReduceKind::kArgmax, {1, 7, 7}), ElementsAre(1));
  const auto is_nan = ElementsAre(testing::IsNan());
  EXPECT_THAT(ReduceOf(ReduceKind::kSum, {1, kNan}), is_nan);
  EXPECT_THAT(ReduceOf(ReduceKind::kMax, {1, kNan}), is_nan);
  EXPECT_THAT(ReduceOf(ReduceKind::kMax, {1, kNan}, false), ElementsAre(1));
  EXPECT_THAT(ReduceOf(ReduceKind::kMin, {kNan, 1}, false), ElementsAre(1));
  EXPECT_THAT(ReduceOf(ReduceKind::kAmax, {kNan, -2}, false), ElementsAre(2));
  EXPECT_THAT(ReduceOf(ReduceKind::kAmax, {kNan, kNan}, false), ElementsAre(0));
  EXPECT_THAT(ReduceOf(ReduceKind::kAmax, {kNan, -2}), is_nan);
  EXPECT_THAT(ReduceOf(ReduceKind::kArgmax, {1, kNan, 7}), ElementsAre(1));
  EXPECT_THAT(ReduceOf(ReduceKind::kArgmax, {kNan, -kInf}, false), ElementsAre(1));
}

TEST(Interpreter, ReductionsOverNothing) {
  EXPECT_THAT(ReduceOf(ReduceKind::kSum, {}), ElementsAre(0));
  EXPECT_THAT(ReduceOf(ReduceKind::kAmax, {}), ElementsAre(0));
  EXPECT_THAT(ReduceOf(ReduceKind::kMean, {}), ElementsAre(testing::IsNan()));
  EXPECT_EQ(ErrorOf([] { ReduceOf(ReduceKind::kMax, {}); }),
            "reduce max: axis rows is empty and has no max");
}

TEST(Interpreter, ReducesAnyAxis) {
  Builder b("columns");
  b.Output("y", Sum(b.Input("x", DType::kF32, {kRows, kCols}), "rows"));
  const HostTensor x(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Interpret(b.graph(), Inputs({{"x", x.tensor()}}))[0].Values(), ElementsAre(9, 12));
}

std::vector<double> GatherOf(IndexRule rule, const std::vector<double>& indices) {
  Builder b("gather");
  const Value table = b.Input("table", DType::kF32, {kRows, kCols});
  b.Output("y", GatherRow(table, b.Input("index", Elem::Index(), {NamedAxis("n")}), rule));
  const HostTensor rows(DType::kF32, {3, 2}, {0, 1, 10, 11, 20, 21});
  const HostTensor index(DType::kI64, {static_cast<int64_t>(indices.size())}, indices);
  return Interpret(b.graph(), Inputs({{"table", rows.tensor()}, {"index", index.tensor()}}))[0]
      .Values();
}

TEST(Interpreter, GatherFollowsItsRule) {
  EXPECT_THAT(GatherOf(IndexRule::kError, {2, 0}), ElementsAre(20, 21, 0, 1));
  EXPECT_THAT(GatherOf(IndexRule::kZero, {-1, 1}), ElementsAre(0, 0, 10, 11));
  EXPECT_THAT(GatherOf(IndexRule::kClamp, {-7, 9}), ElementsAre(0, 1, 20, 21));
  EXPECT_EQ(ErrorOf([] {
              GatherOf(IndexRule::kError, {0, 3});
            }),
            "gather: gather_row: index 3 (element 1 of index) lies outside the 3 rows of table");
}

std::vector<double> ScatterOf(IndexRule rule, const std::vector<double>& indices) {
  Builder b("scatter");
  const Value target = b.Input("cache", DType::kF32, {kRows, kCols});
  const Value index = b.Input("slots", Elem::Index(), {NamedAxis("n")});
  const Value value = b.Input("value", DType::kF32, {NamedAxis("n"), kCols});
  b.Output("cache", ScatterRow(target, index, value, rule), "cache");
  const HostTensor cache(DType::kF32, {3, 2}, {0, 1, 10, 11, 20, 21});
  const HostTensor slots(DType::kI32, {2}, indices);
  const HostTensor rows(DType::kF32, {2, 2}, {5, 6, 7, 8});
  Interpret(
      b.graph(),
      Inputs({{"cache", cache.tensor()}, {"slots", slots.tensor()}, {"value", rows.tensor()}}),
      std::vector<Tensor>{cache.tensor()});
  return cache.Values();
}

TEST(Interpreter, ScatterFollowsItsRule) {
  EXPECT_THAT(ScatterOf(IndexRule::kError, {2, 0}), ElementsAre(7, 8, 10, 11, 5, 6));
  EXPECT_THAT(ScatterOf(IndexRule::kSkip, {-1, 1}), ElementsAre(0, 1, 7, 8, 20, 21));
  EXPECT_THAT(ScatterOf(IndexRule::kClamp, {9, 0}), ElementsAre(7, 8, 10, 11, 5, 6));
  EXPECT_THAT(ScatterOf(IndexRule::kError, {1, 1}), ElementsAre(0, 1, 7, 8, 20, 21));
  EXPECT_THROW(ScatterOf(IndexRule::kError, {0, -1}), UsageError);
}

TEST(Interpreter, WriteSliceReplacesPartOfAnAxis) {
  Builder b("write");
  const Value target = b.Input("x", DType::kF32, {kRows, kCols});
  const Value value = b.Input("v", DType::kF32, {kRows, {"part", 1}});
  b.Output("x", WriteSlice(target, value, 1, Dim("cols - 1")), "x");
  const HostTensor x(DType::kF32, {2, 3}, {0, 1, 2, 3, 4, 5});
  const HostTensor v(DType::kF32, {2, 1}, {8, 9});
  EXPECT_THAT(Interpret(b.graph(), Inputs({{"x", x.tensor()}, {"v", v.tensor()}}))[0].Values(),
              ElementsAre(0, 1, 8, 3, 4, 9));
}

TEST(Interpreter, LimitedRowsAreNotWritten) {
  Builder b("limit");
  const Value x = b.Input("x", DType::kF32, {kRows, kCols});
  b.Output("y", LimitRows(x + 1.0, b.Input("count", Elem::Index(), {}), 0));
  const HostTensor rows(DType::kF32, {3, 2}, {0, 1, 2, 3, 4, 5});
  const HostTensor count(DType::kI32, {}, {2});
  const HostTensor y(DType::kF32, {3, 2}, std::vector<double>(6, -1));
  Interpret(b.graph(), Inputs({{"x", rows.tensor()}, {"count", count.tensor()}}),
            std::vector<Tensor>{y.tensor()});
  EXPECT_THAT(y.Values(), ElementsAre(1, 2, 3, 4, -1, -1));
}

TEST(Interpreter, MatmulJoinsAxesByName) {
  Builder b("matmul");
  const Value a = b.Input("a", DType::kF32, {NamedAxis("m"), NamedAxis("g"), NamedAxis("k")});
  const Value w = b.Input("w", DType::kF32, {NamedAxis("g"), NamedAxis("n"), NamedAxis("k")});
  const Value y = Matmul(a, w, "k");
  EXPECT_EQ(TypeText(y.type()), "f32[m, g, n]");
  b.Output("y", y);
  const HostTensor left(DType::kF32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const HostTensor right(DType::kF32, {2, 1, 2}, {1, 10, 2, 20});
  EXPECT_THAT(
      Interpret(b.graph(), Inputs({{"a", left.tensor()}, {"w", right.tensor()}}))[0].Values(),
      ElementsAre(21, 86, 65, 174));
}

TEST(Interpreter, CallsGoThroughTheTable) {
  Builder b("caller");
  const Value x = b.Input("x", DType::kF32, {kRows});
  const auto results = b.Call("split", {x * 2.0}, {{"shift", 3.0}}, {x.type(), x.type()});
  b.Output("low", results[0]);
  b.Output("high", results[1] + 1.0);
  const CallTable calls = {
      {"split", [](const std::map<std::string, AttrValue>& attributes, std::span<const Tensor> args,
                   std::span<const Tensor> outputs) {
         const auto shift = static_cast<float>(std::get<double>(attributes.at("shift")));
         for (int64_t i = 0; i < args[0].numel(); ++i) {
           outputs[0].ptr<float>()[i] = args[0].ptr<float>()[i] - shift;
           outputs[1].ptr<float>()[i] = args[0].ptr<float>()[i] + shift;
         }
       }}};
  const HostTensor data = Vector({1, 2});
  RunInputs inputs = Inputs({{"x", data.tensor()}});
  EXPECT_EQ(ErrorOf([&] { Interpret(b.graph(), inputs); }),
            "caller: no reference of operator split was given");
  inputs.calls = &calls;
  const auto outputs = Interpret(b.graph(), inputs);
  EXPECT_THAT(outputs[0].Values(), ElementsAre(-1, 1));
  EXPECT_THAT(outputs[1].Values(), ElementsAre(6, 8));
}

TEST(Interpreter, OpaqueNodesCountOnlyWhenNeeded) {
  Builder b("opaque");
  const Value x = b.Input("x", DType::kF32, {kRows});
  b.SetSpan({"model.py", 7, "Model.forward"});
  const Value odd = b.Opaque("data-dependent loop", {x}, {x.type()})[0];
  b.Output("y", x);
  const HostTensor data = Vector({1});
  EXPECT_EQ(Interpret(b.graph(), Inputs({{"x", data.tensor()}}))[0].Value(0), 1);
  b.Output("z", odd);
  EXPECT_EQ(ErrorOf([&] {
              Interpret(b.graph(), Inputs({{"x", data.tensor()}}));
            }),
            "opaque: node %1 is opaque and cannot be evaluated: data-dependent loop "
            "(model.py:7, Model.forward)");
}

TEST(Interpreter, SizesComeFromShapesAttributesAndBindings) {
  Builder b("sizes");
  b.Input("x", DType::kF32, {kRows, {"wide", "2*d"}});
  b.Output("y", b.Iota({"n", "rows + d + g"}));
  const HostTensor x(DType::kF32, {3, 8});
  RunInputs inputs = Inputs({{"x", x.tensor()}});
  inputs.attributes["g"] = int64_t{5};
  EXPECT_EQ(Interpret(b.graph(), inputs)[0].shape, std::vector<int64_t>{12});
  const HostTensor odd(DType::kF32, {3, 7});
  inputs.tensors["x"] = odd.tensor();
  EXPECT_EQ(ErrorOf([&] { Interpret(b.graph(), inputs); }), "size 'd' has no value");
}

TEST(Interpreter, BadInputsGetASentence) {
  const Graph graph = RmsNorm();
  const HostTensor x(DType::kF32, {2, 4});
  const HostTensor weight(DType::kF32, {3});
  RunInputs inputs = Inputs({{"x", x.tensor()}, {"weight", weight.tensor()}});
  inputs.attributes["eps"] = 1e-6;
  const auto error = [&] { return ErrorOf([&] { Interpret(graph, inputs); }); };
  EXPECT_EQ(error(), "rms_norm: weight must be W[cols] with cols = 4, got [3]");
  inputs.tensors.erase("weight");
  inputs.storage = DType::kF16;
  EXPECT_EQ(error(), "rms_norm: x must be T[rows, cols] with T = f16, got f32");
  inputs.storage = DType::kF32;
  inputs.attributes.clear();
  EXPECT_EQ(error(), "rms_norm: attribute eps has no value");
  inputs.tensors["wieght"] = weight.tensor();
  EXPECT_EQ(error(), "rms_norm: has no input wieght; its inputs are weight, x");
  inputs.tensors.clear();
  EXPECT_EQ(error(), "rms_norm: input x is missing");
}

TEST(Interpreter, EmptyTensors) {
  const HostTensor x(DType::kF32, {0, 4});
  RunInputs inputs = Inputs({{"x", x.tensor()}});
  inputs.attributes["eps"] = 1e-6;
  EXPECT_EQ(Interpret(RmsNorm(), inputs)[0].shape, (std::vector<int64_t>{0, 4}));
}

}  // namespace
}  // namespace tenon::ir
