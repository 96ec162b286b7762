#include "analyze/lower.h"

#include <gtest/gtest.h>

#include "ir/source_op.h"

namespace tenon::analyze {
namespace {

TensorUse Tensor(int id, Shape shape, std::string view = "") {
  TensorUse use;
  use.id = id;
  use.shape = std::move(shape);
  use.dtype = "bfloat16";
  use.view = std::move(view);
  for (size_t i = 0; i < use.shape.size(); ++i) {
    use.axes.push_back(i == 0 ? "tokens" : i == 1 ? "channels" : "head_dim");
  }
  return use;
}

Op MakeOp(int i, std::string name, std::vector<TensorUse> in, std::vector<TensorUse> out) {
  Op op;
  op.i = i;
  op.op = std::move(name);
  op.in = std::move(in);
  op.out = std::move(out);
  op.file = "vllm/x.py";
  op.line = 10 + i;
  return op;
}

const Dim kTokens = Dim("T");

TEST(Lower, OperatorsBecomeCallsWithTheirAttributesAndSpans) {
  Variant variant;
  variant.layer_class = "Layer";
  TensorUse weight = Tensor(7, {Dim(64)});
  weight.param = "norm.weight";
  Op norm = MakeOp(0, "rms_norm", {Tensor(0, {kTokens, Dim(64)}), weight},
                   {Tensor(1, {kTokens, Dim(64)})});
  norm.attrs = {{"eps", 1e-6}, {"sizes", Attr::List{Attr(3), Attr(4)}}};
  norm.name = "input_layernorm";
  variant.ops = {norm};
  const ir::Graph graph = LowerVariant(variant);
  EXPECT_GE(graph.FindInput("norm.weight"), 0);
  EXPECT_GE(graph.FindInput("t0"), 0);
  ASSERT_EQ(graph.outputs().size(), 1u);
  const ir::Node& call = graph.node(graph.outputs()[0].value);
  EXPECT_EQ(call.name, "rms_norm");
  EXPECT_EQ(call.span, (ir::Span{"vllm/x.py", 10, ""}));
  EXPECT_EQ(std::get<double>(call.call.at("eps")), 1e-6);
  EXPECT_EQ(std::get<std::vector<int64_t>>(call.call.at("sizes")), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(std::get<std::string>(call.call.at(std::string(ir::source_op::kModule))),
            "input_layernorm");
  EXPECT_EQ(call.type.axes[0].size, ir::Dim("T"));
}

TEST(Lower, ViewsBecomeSlicesAndReshapes) {
  Variant variant;
  variant.ops = {
      MakeOp(0, "qkv_proj", {Tensor(0, {kTokens, Dim(64)})}, {Tensor(1, {kTokens, Dim(96)})}),
      MakeOp(1, "rms_norm", {Tensor(1, {kTokens, Dim(2), Dim(32)}, "[..., 0:64]")},
             {Tensor(2, {kTokens, Dim(2), Dim(32)})}),
      MakeOp(2, "add", {Tensor(1, {kTokens, Dim(32)}, "[..., ::3]")},
             {Tensor(3, {kTokens, Dim(32)})})};
  const ir::Graph graph = LowerVariant(variant);
  const ir::Node& norm = graph.node(graph.outputs()[0].value);
  const ir::Node& reshape = graph.node(norm.args[0]);
  EXPECT_EQ(reshape.op, ir::Op::kReshape);
  const ir::Node& slice = graph.node(reshape.args[0]);
  EXPECT_EQ(slice.op, ir::Op::kSlice);
  EXPECT_EQ(slice.type.axes[1].size, ir::Dim(64));
  const ir::Node& add = graph.node(graph.outputs()[1].value);
  EXPECT_EQ(graph.node(add.args[0]).name, ir::source_op::kView);
}

TEST(Lower, WhatTheIrCannotSayIsOpaqueWithItsReason) {
  Variant variant;
  Op odd = MakeOp(0, "cast", {Tensor(0, {kTokens})}, {Tensor(1, {kTokens})});
  odd.out[0].dtype = "complex64";
  Op opaque = MakeOp(1, "opaque", {Tensor(0, {kTokens})}, {Tensor(2, {kTokens})});
  opaque.attrs = {{"reason", "metaclass"}};
  variant.ops = {odd, opaque};
  const ir::Graph graph = LowerVariant(variant);
  ASSERT_EQ(graph.outputs().size(), 2u);
  const ir::Node& first = graph.node(graph.outputs()[0].value);
  EXPECT_EQ(first.op, ir::Op::kOpaque);
  EXPECT_EQ(first.name, "cast with element type complex64");
  const ir::Node& second = graph.node(graph.outputs()[1].value);
  EXPECT_EQ(second.op, ir::Op::kOpaque);
  EXPECT_EQ(second.name, "metaclass");
}

TEST(Lower, SharesOfARankAreIdentifiers) {
  Variant variant;
  TensorUse q = Tensor(0, {kTokens, Dim("2*heads")});
  q.axes[1] = "q/tp";
  variant.ops = {MakeOp(0, "neg", {q}, {Tensor(1, q.shape)})};
  const ir::Graph graph = LowerVariant(variant);
  const ir::Axis& axis = graph.node(graph.FindInput("t0")).type.axes[1];
  EXPECT_EQ(axis.name, "q_tp");
  EXPECT_EQ(axis.size, ir::Dim("2*heads"));
}

TEST(Lower, AFunctionsScalarsAreAttributes) {
  FunctionTrace trace;
  trace.name = "scale";
  FunctionArgument x;
  x.name = "x";
  x.tensor = Tensor(0, {Dim("tokens"), Dim("hidden")});
  FunctionArgument factor;
  factor.name = "factor";
  factor.scalar_type = "float";
  trace.arguments = {x, factor};
  Op mul = MakeOp(0, "mul", {*x.tensor}, {Tensor(1, x.tensor->shape)});
  mul.attrs = {{"scalar_arg", "factor"}};
  trace.ops = {mul};
  trace.results = {mul.out[0]};
  const ir::Graph graph = LowerFunction(trace);
  EXPECT_EQ(graph.node(graph.FindInput("x")).type.axes[1].size, ir::Dim("hidden"));
  EXPECT_EQ(graph.outputs()[0].name, "y");
  const auto& nodes = graph.nodes();
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [](const ir::Node& node) {
    return node.op == ir::Op::kAttr && node.name == "factor";
  }));
}

}  // namespace
}  // namespace tenon::analyze
