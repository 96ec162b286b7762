#include "ir/transform.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "host_tensor.h"
#include "ir/builder.h"
#include "ir/interpreter.h"

namespace tenon::ir {
namespace {

using testing::ElementsAre;

const Axis kTokens = NamedAxis("tokens");
const Axis kHidden = NamedAxis("hidden");

Graph RmsNorm() {
  Builder b("rms_norm");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, kHidden});
  const Value weight = b.OptionalInput("weight", Elem::Param(), {kHidden}, 1.0);
  const Value bias = b.OptionalInput("bias", Elem::Param(), {kHidden}, -0.0);
  const Value rstd = Rsqrt(Mean(x * x, "hidden") + b.Attr("eps"));
  b.Output("y", Round(x * rstd * weight + bias, Elem::Storage()));
  return b.Take();
}

Graph SplitHalves() {
  Builder b("split_halves");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, {"width", "2*d"}});
  b.Output("low", Slice(x, "width", 0, NamedAxis("d")));
  b.Output("high", Slice(x, "width", "d", NamedAxis("d")));
  return b.Take();
}

std::optional<Graph> Bodies(const Node& call) {
  if (call.name == "rms_norm") return RmsNorm();
  if (call.name == "split_halves") return SplitHalves();
  return std::nullopt;
}

TEST(BindStorage, MakesEveryTypeConcrete) {
  const Graph bound = BindStorage(RmsNorm(), DType::kF16, {{"weight", DType::kF16}});
  EXPECT_EQ(TypeText(bound.node(bound.FindInput("x")).type), "f16[tokens, hidden]");
  EXPECT_EQ(TypeText(bound.node(bound.FindInput("weight")).type), "f16[hidden]");
  EXPECT_EQ(TypeText(bound.node(bound.FindInput("bias")).type), "f32[hidden]");
  EXPECT_EQ(TypeText(bound.node(bound.outputs()[0].value).type), "f16[tokens, hidden]");
}

TEST(BindStorage, ReachesMovedParameters) {
  Builder b("gather");
  const Value table = b.Input("table", Elem::Param(), {kTokens, kHidden});
  const Value index = b.Input("index", Elem::Index(), {NamedAxis("n")});
  b.Output("y", GatherRow(table, index, IndexRule::kError));
  const Graph bound =
      BindStorage(b.graph(), DType::kF32, {{"table", DType::kBF16}, {"index", DType::kI32}});
  EXPECT_EQ(TypeText(bound.node(bound.outputs()[0].value).type), "bf16[n, hidden]");
  EXPECT_EQ(TypeText(bound.node(bound.FindInput("index")).type), "i32[n]");
}

TEST(SubstituteSizes, ReachesAxesOffsetsAndStrides) {
  Graph graph = SplitHalves();
  Output strided = graph.outputs()[1];
  strided.name = "strided";
  strided.strides = {Dim("2*d"), Dim(1)};
  graph.AddOutput(strided);
  const Graph sized = SubstituteSizes(graph, {{"d", Dim(64)}, {"tokens", Dim("batch*q")}});
  const Node& high = sized.node(sized.outputs()[1].value);
  EXPECT_EQ(TypeText(high.type), "T[tokens=batch*q, d=64]");
  EXPECT_EQ(high.offset, Dim(64));
  EXPECT_EQ(TypeText(sized.node(0).type), "T[tokens=batch*q, width=128]");
  EXPECT_EQ(sized.outputs()[2].strides[0], Dim(128));
}

TEST(EliminateDeadNodes, KeepsInputs) {
  Builder b("dead");
  const Value x = b.Input("x", DType::kF32, {kTokens});
  b.Input("unused", DType::kF32, {kTokens});
  Exp(x);
  b.Output("y", x + 1.0);
  const Graph clean = EliminateDeadNodes(b.graph());
  EXPECT_EQ(clean.nodes().size(), 4u);
  EXPECT_GE(clean.FindInput("unused"), 0);
  EXPECT_EQ(clean.node(clean.outputs()[0].value).op, Op::kAdd);
}

Graph Caller(const std::map<std::string, AttrValue>& attributes) {
  Builder b("caller");
  const Value x = b.Input("x", DType::kBF16, {{"n", "n"}, {"width", "2*k"}});
  const Value w = b.Input("w", DType::kF32, {{"channels", "k"}});
  const auto halves =
      b.Call("split_halves", {x}, {},
             {{DType::kBF16, {{"n", "n"}, {"k", "k"}}}, {DType::kBF16, {{"n", "n"}, {"k", "k"}}}});
  const auto normed = b.Call("rms_norm", {halves[1], w}, attributes, {halves[0].type()});
  b.Output("y", normed[0] * halves[0]);
  return b.Take();
}

TEST(Inline, ComputesWhatTheCallsCompute) {
  const Graph inlined = Inline(Caller({{"eps", 0.5}}), Bodies);
  for (const Node& node : inlined.nodes()) {
    EXPECT_NE(node.op, Op::kCall);
    EXPECT_NE(node.op, Op::kPresent);
    EXPECT_NE(node.op, Op::kAttr);
  }
  const HostTensor x(DType::kBF16, {1, 4}, {1, 2, 3, 4});
  const HostTensor w = Vector({10, 100});
  const auto y = Interpret(inlined, Inputs({{"x", x.tensor()}, {"w", w.tensor()}}));
  const double rstd = 1 / std::sqrt(12.5 + 0.5);
  EXPECT_THAT(y[0].Values(), ElementsAre(RoundTo(3 * rstd * 10, DType::kBF16),
                                         2 * RoundTo(4 * rstd * 100, DType::kBF16)));
}

TEST(Inline, ArgumentsMayBeNamed) {
  const Graph inlined = Inline(Caller({{"eps", 0.0}, {"args", "x,bias"}}), Bodies);
  const HostTensor x(DType::kBF16, {1, 4}, {1, 1, 2, 2});
  const HostTensor w = Vector({10, 100});
  EXPECT_THAT(Interpret(inlined, Inputs({{"x", x.tensor()}, {"w", w.tensor()}}))[0].Values(),
              ElementsAre(11, 101));
}

TEST(Inline, MergesLeadingAxes) {
  Builder b("heads");
  const Value q = b.Input("q", DType::kF32, {kTokens, NamedAxis("heads"), NamedAxis("dim")});
  b.Output("y", b.Call("rms_norm", {q}, {{"eps", 0.0}}, {q.type()})[0]);
  const Graph inlined = Inline(b.graph(), Bodies);
  EXPECT_EQ(TypeText(inlined.node(inlined.outputs()[0].value).type), "f32[tokens, heads, dim]");
  const HostTensor x(DType::kF32, {1, 2, 2}, {3, 3, -4, 4});
  EXPECT_THAT(Interpret(inlined, Inputs({{"q", x.tensor()}}))[0].Values(),
              ElementsAre(1, 1, -1, 1));
}

TEST(Inline, KeepsWhatHasNoBody) {
  Builder b("keeps");
  const Value x = b.Input("x", DType::kF32, {kTokens});
  b.Output("y", b.Call("attention", {x}, {}, {x.type()})[0]);
  const Graph inlined = Inline(b.graph(), Bodies);
  EXPECT_EQ(inlined.node(inlined.outputs()[0].value).name, "attention");
}

TEST(Inline, RefusesWhatDoesNotFit) {
  const auto error = [](const Graph& graph) -> std::string {
    try {
      Inline(graph, Bodies);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error(Caller({})), "rms_norm: attribute eps has no value");
  EXPECT_EQ(error(Caller({{"eps", 0.0}, {"args", "x,wieght"}})), "rms_norm: has no input wieght");
  Builder b("caller");
  const Value x = b.Input("x", DType::kF32, {kTokens, kHidden});
  const Value w = b.Input("w", DType::kF32, {{"wide", "2*hidden"}});
  b.Output("y", b.Call("rms_norm", {x, w}, {{"eps", 0.0}}, {x.type()})[0]);
  EXPECT_EQ(error(b.graph()), "rms_norm: weight must be W[hidden], got f32[wide=2*hidden]");
}

TEST(ExtractSubgraph, TakesTheNodesBetween) {
  Builder b("layer");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, kHidden});
  const Value gate = Sigmoid(x) * x;
  const Value scaled = gate * b.Attr("scale");
  const Value out = Round(scaled, Elem::Storage());
  b.Output("out", out);
  const std::vector<NodeId> inputs = {gate.id()};
  const std::vector<NodeId> outputs = {out.id(), scaled.id()};
  const Graph part = ExtractSubgraph(b.graph(), "scale", inputs, outputs);
  EXPECT_EQ(part.name(), "scale");
  ASSERT_EQ(part.inputs().size(), 1u);
  EXPECT_EQ(part.node(part.inputs()[0]).name, "mul");
  EXPECT_EQ(TypeText(part.node(part.inputs()[0]).type), "f32[tokens, hidden]");
  EXPECT_EQ(part.outputs()[0].name, "out");
  EXPECT_EQ(part.outputs()[1].name, "mul");
  EXPECT_EQ(part.nodes().size(), 4u);
}

TEST(ExtractSubgraph, KeepsInPlaceOutputs) {
  Builder b("add");
  const Value x = b.Input("x", DType::kF32, {kTokens});
  const Value sum = x + 1.0;
  b.Output("y", sum, "x");
  const std::vector<NodeId> inputs = {x.id()};
  const std::vector<NodeId> outputs = {sum.id()};
  EXPECT_EQ(ExtractSubgraph(b.graph(), "part", inputs, outputs).outputs()[0].in_place, "x");
  const std::vector<NodeId> none = {sum.id()};
  EXPECT_EQ(ExtractSubgraph(b.graph(), "part", none, outputs).outputs()[0].in_place, "");
}

}  // namespace
}  // namespace tenon::ir
