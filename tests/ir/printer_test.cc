#include "ir/printer.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/op_table.h"
#include "ir/parser.h"
#include "random_graph.h"

namespace tenon::ir {
namespace {

const Axis kTokens = NamedAxis("tokens");
const Axis kHidden = NamedAxis("hidden");

void ExpectEqual(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name(), b.name());
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    EXPECT_EQ(NodeKey(a.nodes()[i]), NodeKey(b.nodes()[i]));
    EXPECT_EQ(a.nodes()[i].results, b.nodes()[i].results);
    EXPECT_EQ(a.nodes()[i].call, b.nodes()[i].call);
    EXPECT_EQ(a.nodes()[i].span, b.nodes()[i].span);
  }
  ASSERT_EQ(a.outputs().size(), b.outputs().size());
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    EXPECT_EQ(a.outputs()[i].name, b.outputs()[i].name);
    EXPECT_EQ(a.outputs()[i].value, b.outputs()[i].value);
    EXPECT_EQ(a.outputs()[i].in_place, b.outputs()[i].in_place);
    EXPECT_EQ(a.outputs()[i].strides, b.outputs()[i].strides);
  }
}

constexpr const char* kRmsNorm = R"(graph rms_norm {
  %x = input "x" : T[tokens, hidden]
  %weight = input optional(1.0) "weight" : W[hidden]
  %2 = mul %x, %x : f32[tokens, hidden]
  %3 = reduce mean axis=hidden %2 : f32[tokens]
  %eps = attr "eps" : f32[]
  %5 = add %3, %eps : f32[tokens]
  %6 = rsqrt %5 : f32[tokens] loc("norm.py":12, "RMSNorm.forward")
  %7 = mul %x, %6 : f32[tokens, hidden]
  %8 = mul %7, %weight : f32[tokens, hidden]
  %9 = round %8 : T[tokens, hidden]
  output "y" = %9 in_place "x" strides (2*hidden, 1)
}
)";

TEST(Printer, RmsNorm) {
  Builder b("rms_norm");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, kHidden});
  const Value w = b.OptionalInput("weight", Elem::Param(), {kHidden}, 1.0);
  const Value mean = Mean(x * x, "hidden");
  const Value shifted = mean + b.Attr("eps");
  b.SetSpan({"norm.py", 12, "RMSNorm.forward"});
  const Value rstd = Rsqrt(shifted);
  b.SetSpan({});
  b.Output("y", Round(x * rstd * w, Elem::Storage()), "x", {"2*hidden", 1});
  EXPECT_EQ(PrintGraph(b.graph()), kRmsNorm);
  ExpectEqual(ParseGraph(kRmsNorm), b.graph());
  EXPECT_EQ(NodeText(b.graph(), 6), "%6 = rsqrt %5 : f32[tokens]");
}

// Every field of every op away from its usual value.
TEST(Printer, EveryField) {
  Builder b("every \"field\"\n");
  const Value x = b.Input("x", DType::kBF16, {kTokens, {"width", "2*(d//4) + 1"}});
  const Value index = b.Input("2nd", Elem::Index(), {{"n", "ceil(tokens, 2)"}});
  b.OptionalInput("with space", DType::kI8, {}, -0.0);
  b.Present("with space");
  b.Attr("x");  // an input's name, too
  b.Const(1e-6);
  b.Const(-0.0);
  b.Const(std::numeric_limits<double>::infinity());
  b.Const(-7, DType::kI64);
  b.Iota(kTokens);
  Max(x, 0.1, /*propagate_nan=*/false);
  Reduce(ReduceKind::kAmax, x, "width", false);
  Reduce(ReduceKind::kArgmax, x, "tokens");
  Cast(x, DType::kI8, {Rounding::kTowardZero, false, false});
  Cast(x, DType::kF16, {Rounding::kFloor, true, true});
  Slice(x, "width", "d//4", {"part", "d//4 + 1"});
  Slice(x, "width", "ceil(d, 3)", {"part", 1});
  Concat({x, x}, 1, "both");
  GatherRow(x, index, IndexRule::kZero);
  Matmul(x, Transpose(x, {"width", "tokens"}), "width");
  LimitRows(x, b.Const(3, DType::kI32), 1);
  b.SetSpan({"a\\b.py", 3, ""});
  const auto results = b.Call("split_qkv", {x, index},
                              {{"bias", true},
                               {"heads", int64_t{-8}},
                               {"scale", 2.0},
                               {"big", 1e30},
                               {"mode", std::string("neox \"x\"")},
                               {"sections", std::vector<int64_t>{16, 24, 24}},
                               {"odd name", std::vector<int64_t>{}}},
                              {x.type(), {DType::kF32, {}}});
  b.Call("one", {}, {}, {x.type()});
  b.Opaque("loop over a tensor: \"for i in x\"", {x}, {x.type()});
  b.Output("y", results[1]);
  b.Output("z", x, "x");
  const std::string text = PrintGraph(b.graph());
  const Graph parsed = ParseGraph(text);
  ExpectEqual(parsed, b.graph());
  EXPECT_EQ(PrintGraph(parsed), text);
  EXPECT_THAT(text, testing::HasSubstr("call \"split_qkv\" {bias=true, big=1e+30, heads=-8, "
                                       "mode=\"neox \\\"x\\\"\", \"odd name\"=[], scale=2.0, "
                                       "sections=[16, 24, 24]} %x, %1 : (bf16["));
}

TEST(Printer, RandomGraphsReadBack) {
  std::vector<bool> seen(kNumOps, false);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = MakeRandomGraph(seed, 50, /*spans=*/true).graph;
    const std::string text = PrintGraph(graph);
    const Graph parsed = ParseGraph(text);
    ExpectEqual(parsed, graph);
    ASSERT_EQ(PrintGraph(parsed), text) << seed;
    for (const Node& node : graph.nodes()) seen[static_cast<size_t>(node.op)] = true;
  }
  for (int i = 0; i < kNumOps; ++i) {
    const Op op = static_cast<Op>(i);
    const bool structure = RowOf(op).op_class == OpClass::kStructure;  // in EveryField
    EXPECT_TRUE(structure || seen[static_cast<size_t>(i)]) << OpName(op);
  }
}

TEST(Parser, CommentsAndSpacingDoNotMatter) {
  ExpectEqual(ParseGraph("graph f{%a=input \"x\":f32[n]  # one\n%b=neg %a\n:f32[ n ]"
                         "output \"y\"=%b}"),
              ParseGraph("graph f {\n  %x = input \"x\" : f32[n=n]\n  %1 = neg %x : f32[n]\n"
                         "  output \"y\" = %1\n}\n"));
}

TEST(Parser, ErrorsNameThePlace) {
  const auto error = [](const std::string& body) -> std::string {
    try {
      ParseGraph("graph f {\n  %x = input \"x\" : f32[n]\n" + body + "}\n", "f.ir");
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("  %1 = subb %x : f32[n]\n"),
            "f.ir:3:8: expected an operation (like sub, abs, mul, shl, shr), got 'subb'");
  EXPECT_EQ(error("  %1 = neg %y : f32[n]\n"), "f.ir:3:13: expected a defined label, got %y");
  EXPECT_EQ(error("  %1 = neg %x, : f32[n]\n"), "f.ir:3:16: expected '%', got ':'");
  EXPECT_EQ(error("  %1 = neg %x : f32[m]\n"), "f.ir:3:15: expected : f32[n], got f32[m]");
  EXPECT_EQ(error("  %1 = neg %x, %x : f32[n]\n"),
            "f.ir:3:4: expected a valid node, got neg: takes 1 arguments, got 2");
  EXPECT_EQ(error("  %1 = neg %x : f31[n]\n"),
            "f.ir:3:17: expected an element type (T, W, I, f32, bf16 ...), got 'f31'");
  EXPECT_EQ(error("  %1 = iota : i32[n=2*]\n"),
            "f.ir:3:21: expected a size, got '2*' (size expression '2*': expected a name or a "
            "number at offset 2)");
  EXPECT_EQ(error("  %x = neg %x : f32[n]\n"), "f.ir:3:4: expected a new label, got %x again");
  EXPECT_EQ(error("  %1 = attr \"eps : f32[]\n"),
            "f.ir:3:25: expected '\"', got the end of the line");
  EXPECT_EQ(error("  result\n"), "f.ir:3:3: expected a node ('%'), 'output' or '}', got 'result'");
  EXPECT_EQ(error("  %1 = slice dim=x %x : f32[n]\n"), "f.ir:3:18: expected a number, got 'x'");
  EXPECT_EQ(error("} x"), "f.ir:3:3: expected nothing after the graph, got 'x'");
  EXPECT_EQ(error("  output \"y\" = %x\n  # to the end "),
            "f.ir:5:1: expected a node ('%'), 'output' or '}', got the end");
}

}  // namespace
}  // namespace tenon::ir
