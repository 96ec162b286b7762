#include "ir/verifier.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/normal_form.h"
#include "ir/op_table.h"
#include "ir/parser.h"
#include "random_graph.h"

namespace tenon::ir {
namespace {

using testing::HasSubstr;

const Axis kTokens = NamedAxis("tokens");
const Axis kHidden = NamedAxis("hidden");

// A graph with inputs %0 x T[tokens, hidden], %1 rows bf16[tokens, hidden], %2 index I[tokens],
// %3 optional scale f32[], and one more node as it is, its type not inferred.
std::string ViolationOf(const Node& node) {
  Builder b("g");
  b.Input("x", Elem::Storage(), {kTokens, kHidden});
  b.Input("rows", DType::kBF16, {kTokens, kHidden});
  b.Input("index", Elem::Index(), {kTokens});
  b.OptionalInput("scale", DType::kF32, {}, 1.0);
  Graph graph = b.Take();
  graph.Add(node);
  return FindViolation(graph).value_or("");
}

Node MakeNode(Op op, std::vector<NodeId> args, Type type) {
  Node node;
  node.op = op;
  node.args = std::move(args);
  node.type = std::move(type);
  return node;
}

const Type kRowsF32 = {DType::kF32, {kTokens, kHidden}};
const Type kRowsT = {Elem::Storage(), {kTokens, kHidden}};

TEST(Verifier, RandomGraphsAreValid) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Graph graph = MakeRandomGraph(seed, 50).graph;
    EXPECT_EQ(FindViolation(graph), std::nullopt) << seed;
    EXPECT_EQ(FindViolation(NormalForm(graph)), std::nullopt) << seed;
  }
}

TEST(Verifier, TypesAreThoseOfTheArguments) {
  EXPECT_EQ(ViolationOf(MakeNode(Op::kNeg, {0}, kRowsT)),
            "g: %4 = neg %x : T[tokens, hidden]: its arguments give f32[tokens, hidden]");
  EXPECT_THAT(ViolationOf(MakeNode(Op::kAdd, {0}, kRowsF32)),
              HasSubstr("takes 2 arguments, got 1"));
  EXPECT_THAT(ViolationOf(MakeNode(Op::kMul, {0, 2, 1}, kRowsF32)), HasSubstr("takes 2 arguments"));
}

TEST(Verifier, ArgumentsComeFirst) {
  Builder b("g");
  const Value x = b.Input("x", DType::kF32, {kTokens});
  b.Output("y", -x);
  Graph graph = b.Take();
  Node& node = const_cast<Node&>(graph.node(1));  // Graph::Add refuses to build this
  node.args[0] = 1;
  EXPECT_EQ(FindViolation(graph),
            "g: %1 = neg %1 : f32[tokens]: argument %1 does not come before it");
  node.args[0] = 9;
  EXPECT_EQ(FindViolation(graph), "g: neg: argument %9 does not come before it");
}

// For every op and every field that it does not use, a value there is refused.
TEST(Verifier, UnusedFieldsKeepTheirDefaults) {
  const std::vector<std::pair<NodeField, std::function<void(Node*)>>> fields = {
      {kFieldName, [](Node* n) { n->name = "x"; }},
      {kFieldValue, [](Node* n) { n->value = 2; }},
      {kFieldOptional, [](Node* n) { n->optional = true; }},
      {kFieldReduce, [](Node* n) { n->reduce = ReduceKind::kMax; }},
      {kFieldPropagateNan, [](Node* n) { n->propagate_nan = false; }},
      {kFieldAxis, [](Node* n) { n->axis = "hidden"; }},
      {kFieldDim, [](Node* n) { n->dim = 1; }},
      {kFieldOffset, [](Node* n) { n->offset = Dim(1); }},
      {kFieldCast, [](Node* n) { n->cast.saturate = false; }},
      {kFieldIndexRule, [](Node* n) { n->index_rule = IndexRule::kClamp; }},
      {kFieldCall, [](Node* n) { n->call["a"] = true; }},
      {kFieldResults, [](Node* n) { n->results = {kRowsF32}; }},
  };
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Graph graph = MakeRandomGraph(seed, 40).graph;
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      for (const auto& [field, change] : fields) {
        if (RowOf(graph.node(id).op).fields & field) continue;
        Graph broken = graph;
        change(const_cast<Node*>(&broken.node(id)));
        EXPECT_THAT(FindViolation(broken).value_or(""), HasSubstr("does not use the field"))
            << OpName(graph.node(id).op) << " " << field;
      }
    }
  }
}

TEST(Verifier, NamesAndScalars) {
  Node input = MakeNode(Op::kInput, {}, kRowsF32);
  EXPECT_THAT(ViolationOf(input), HasSubstr("has no name"));
  input.name = "rows";
  EXPECT_THAT(ViolationOf(input), HasSubstr("is the second input of that name"));
  input.name = "z";
  input.value = 1;
  EXPECT_THAT(ViolationOf(input), HasSubstr("input does not use the field value"));
  Node attr = MakeNode(Op::kAttr, {}, kRowsF32);
  attr.name = "eps";
  EXPECT_THAT(ViolationOf(attr), HasSubstr("must be a scalar"));
  Node present = MakeNode(Op::kPresent, {}, {DType::kBool, {}});
  present.name = "x";
  EXPECT_THAT(ViolationOf(present), HasSubstr("names no optional input"));
  present.name = "scale";
  EXPECT_EQ(ViolationOf(present), "");
  EXPECT_THAT(ViolationOf(MakeNode(Op::kIota, {}, {DType::kF32, {kTokens}})),
              HasSubstr("must be integers along one axis"));
  EXPECT_THAT(ViolationOf(MakeNode(Op::kConst, {}, {DType::kF32, {{"a", Dim(2)}}})),
              HasSubstr("must be a scalar"));
  Node opaque = MakeNode(Op::kOpaque, {0}, kRowsF32);
  opaque.results = {kRowsF32};
  EXPECT_THAT(ViolationOf(opaque), HasSubstr("has no reason"));
  Node call = MakeNode(Op::kCall, {0}, kRowsF32);
  call.name = "f";
  EXPECT_THAT(ViolationOf(call), HasSubstr("must have the type of its first result"));
}

TEST(Verifier, ElementTypes) {
  EXPECT_THAT(ViolationOf(MakeNode(Op::kNot, {0}, {DType::kBool, {kTokens, kHidden}})),
              HasSubstr("takes bool"));
  EXPECT_THAT(ViolationOf(MakeNode(Op::kBitsOf, {0}, {DType::kI32, {kTokens, kHidden}})),
              HasSubstr("takes f32"));
  EXPECT_THAT(ViolationOf(MakeNode(Op::kFromBits, {2}, {DType::kF32, {kTokens}})),
              HasSubstr("takes i32"));
  EXPECT_THAT(ViolationOf(MakeNode(Op::kRound, {0}, {Elem::Param(), {kTokens, kHidden}})),
              HasSubstr("W is a type of inputs, not one to round to"));
  EXPECT_THAT(ViolationOf(MakeNode(Op::kLimitRows, {0, 2}, kRowsT)),
              HasSubstr("takes one number as its count"));
}

TEST(Verifier, WritesAreRounded) {
  Node scatter = MakeNode(Op::kScatterRow, {0, 2, 1}, kRowsT);
  EXPECT_THAT(ViolationOf(scatter),
              HasSubstr("the value must be T[tokens, hidden], got bf16[tokens, hidden]"));
  scatter.args[2] = 0;
  EXPECT_EQ(ViolationOf(scatter), "");
  scatter.index_rule = IndexRule::kZero;
  EXPECT_THAT(ViolationOf(scatter), HasSubstr("must be error, skip or clamp"));
  Node gather = MakeNode(Op::kGatherRow, {0, 2}, kRowsT);
  gather.index_rule = IndexRule::kSkip;
  EXPECT_THAT(ViolationOf(gather), HasSubstr("must be error, zero or clamp"));
  Node write = MakeNode(Op::kWriteSlice, {0, 0}, kRowsT);
  write.offset = Dim(1);
  EXPECT_THAT(ViolationOf(write),
              HasSubstr("tokens elements at 1 do not lie within axis tokens of T[tokens, hidden]"));
}

TEST(Verifier, Outputs) {
  const auto violation = [](const Output& first, std::optional<Output> second = {}) {
    Builder b("g");
    const Value x = b.Input("x", Elem::Storage(), {kTokens, kHidden});
    b.Input("h", Elem::Storage(), {kHidden});
    Round(x + 1.0, Elem::Storage());
    Graph graph = b.Take();
    graph.AddOutput(first);
    if (second) graph.AddOutput(*second);
    return FindViolation(graph).value_or("");
  };
  EXPECT_EQ(violation({"y", 4, "x", {}}), "");
  EXPECT_EQ(violation({"y", 3, "x", {}}),
            "g: output y: f32[tokens, hidden] does not fit the memory of x, T[tokens, hidden]");
  EXPECT_THAT(violation({"y", 4, "h", {}}), HasSubstr("does not fit the memory of h"));
  EXPECT_EQ(violation({"y", 4, "z", {}}), "g: output y: there is no input z to overwrite");
  EXPECT_EQ(violation({"y", 4, "x", {}}, Output{"z", 0, "x", {}}),
            "g: output z: input x is overwritten by another output");
  EXPECT_THAT(violation({"y", 4, "", {}}, Output{"y", 0, "", {}}), HasSubstr("second output"));
  EXPECT_THAT(violation({"", 4, "", {}}), HasSubstr("has no name"));
  EXPECT_THAT(violation({"y", 40, "", {}}), HasSubstr("%40 does not exist"));
  EXPECT_THAT(violation({"y", 4, "", {Dim(1)}}), HasSubstr("has 1 strides"));
}

TEST(Verifier, PassesAreNamed) {
  const Graph graph = MakeRandomGraph(1, 20).graph;
  EXPECT_EQ(RunPass("clean", EliminateDeadNodes, graph).name(), "random");
  const auto breaks = [](const Graph& g) {
    Graph broken = g;
    broken.AddOutput({"", 0, "", {}});
    return broken;
  };
  try {
    RunPass("break", breaks, graph);
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("pass break made an invalid graph: random: output : has no name"));
  }
}

constexpr const char* kBefore = R"(graph add_norm {
  %x = input "x" : bf16[tokens, hidden]
  %residual = input "residual" : bf16[tokens, hidden]
  %bias = input optional(-0.0) "bias" : f32[hidden]
  %eps = attr "eps" : f32[]
  %sum = add %x, %residual : f32[tokens, hidden]
  %s = round %sum : bf16[tokens, hidden]
  %sq = mul %s, %s : f32[tokens, hidden]
  %mean = reduce mean axis=hidden %sq : f32[tokens]
  %shifted = add %mean, %eps : f32[tokens]
  %rstd = rsqrt %shifted : f32[tokens]
  %n = mul %s, %rstd : f32[tokens, hidden]
  %b = add %n, %bias : f32[tokens, hidden]
  %y = round %b : bf16[tokens, hidden]
  output "y" = %y
  output "s" = %s in_place "residual"
}
)";

std::string LossOf(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text = kBefore;
  for (const auto& [from, to] : changes) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  return FindLoss(ParseGraph(kBefore), ParseGraph(text)).value_or("");
}

TEST(VerifyRewrite, OtherSpellingsLoseNothing) {
  EXPECT_EQ(LossOf({}), "");
  EXPECT_EQ(LossOf({{"add %x, %residual", "add %residual, %x"},
                    {"mul %s, %rstd", "mul %rstd, %s"},
                    {"round %b", "cast %b"}}),
            "");
}

TEST(VerifyRewrite, NamesWhatWasLost) {
  EXPECT_THAT(LossOf({{"add %mean, %eps", "mul %mean, %mean"}}),
              HasSubstr("output y lost add of (mean, eps), attribute eps"));
  EXPECT_THAT(LossOf({{"add %n, %bias", "add %n, %n"}}), HasSubstr("input bias"));
  EXPECT_THAT(LossOf({{"reduce mean", "reduce amax"}}), HasSubstr("mean of (mul)"));
  EXPECT_THAT(LossOf({{"output \"s\" = %s in_place \"residual\"", ""}}),
              HasSubstr("there were 2 outputs, are 1"));
  EXPECT_THAT(LossOf({{" in_place \"residual\"", ""}}), HasSubstr("output s lies elsewhere"));
  EXPECT_THAT(LossOf({{"optional(-0.0) \"bias\"", "optional(0.0) \"bias\""}}),
              HasSubstr("input bias was optional(-0) f32[hidden], is optional(0) f32[hidden]"));
}

TEST(VerifyRewrite, RoundingPointsAndTheirConsumersSurvive) {
  // The norm reads the sum before it was rounded; the stored sum is still rounded.
  EXPECT_THAT(LossOf({{"mul %s, %s", "mul %sum, %sum"}, {"mul %s, %rstd", "mul %sum, %rstd"}}),
              HasSubstr("output y lost mul of (rounding to bf16, "));
  EXPECT_THAT(LossOf({{"%b = add %n, %bias",
                       "%m = round %n : bf16[tokens, hidden]\n  %b = add %m, %bias"}}),
              HasSubstr("output y lost"));
  EXPECT_THAT(LossOf({{"round %sum : bf16", "round %sum : f16"},
                      {"output \"s\" = %s", "output \"s\" = %residual"}}),
              HasSubstr("lost"));
}

// y = silu(x[:d]) * x[d:], with the halves as the offsets say.
Graph GatedActivation(const std::string& gate, const std::string& up) {
  return ParseGraph(fmt::format(R"(graph silu_and_mul {{
    %x = input "x" : T[tokens, wide=2*d]
    %gate = slice dim=1 offset=({}) %x : T[tokens, d]
    %up = slice dim=1 offset=({}) %x : T[tokens, d]
    %s = sigmoid %gate : f32[tokens, d]
    %silu = mul %gate, %s : f32[tokens, d]
    %m = mul %silu, %up : f32[tokens, d]
    %y = round %m : T[tokens, d]
    output "y" = %y
  }})",
                                gate, up));
}

TEST(VerifyRewrite, MovementReadsTheSameElements) {
  EXPECT_EQ(FindLoss(GatedActivation("0", "d"), GatedActivation("0", "d")), std::nullopt);
  EXPECT_THAT(FindLoss(GatedActivation("0", "d"), GatedActivation("d", "0")).value_or(""),
              HasSubstr("output y is computed from other elements: element 0 of "));
  EXPECT_THROW(VerifyRewrite(GatedActivation("0", "d"), GatedActivation("0", "0")), InternalError);
}

TEST(VerifyRewrite, ValuesAreComparedThroughCallsThatStay) {
  const auto call = [](const std::string& args) {
    return ParseGraph(R"(graph two {
    %x = input "x" : f32[tokens, d]
    %r = input "r" : f32[tokens, d]
    %0 = call "unknown" )" +
                      args + R"( : f32[tokens, d]
    output "y" = %0
  })");
  };
  EXPECT_EQ(FindDifference(call("%x, %r"), call("%x, %r")), std::nullopt);
  EXPECT_NE(FindDifference(call("%x, %r"), call("%r, %x")), std::nullopt);
}

TEST(VerifyRewrite, CallsAreComparedByTheirBodies) {
  const Graph fused = ParseGraph(R"(graph add_norm {
    %x = input "x" : bf16[tokens, hidden]
    %residual = input "residual" : bf16[tokens, hidden]
    %0 = call "add_square" {scale=2.0} %x, %residual : bf16[tokens, hidden]
    output "y" = %0
  })");
  const Graph body = ParseGraph(R"(graph add_square {
    %a = input "a" : T[rows, cols]
    %b = input "b" : T[rows, cols]
    %scale = attr "scale" : f32[]
    %1 = add %a, %b : f32[rows, cols]
    %2 = mul %1, %scale : f32[rows, cols]
    %3 = round %2 : T[rows, cols]
    output "y" = %3
  })");
  const auto unfused = [](const std::string& factor) {
    return ParseGraph(R"(graph add_norm {
    %x = input "x" : bf16[tokens, hidden]
    %residual = input "residual" : bf16[tokens, hidden]
    %f = const )" + factor +
                      R"( : f32[]
    %1 = add %residual, %x : f32[tokens, hidden]
    %2 = mul %f, %1 : f32[tokens, hidden]
    %3 = round %2 : bf16[tokens, hidden]
    output "y" = %3
  })");
  };
  const CallResolver resolver = [&](const Node&) { return body; };
  EXPECT_NO_THROW(VerifyRewrite(unfused("2.0"), fused, resolver));
  EXPECT_THROW(VerifyRewrite(unfused("2.5"), fused, resolver), InternalError);
  EXPECT_THAT(FindLoss(unfused("2.5"), fused, resolver).value_or(""), HasSubstr("constant 2.5"));
}

}  // namespace
}  // namespace tenon::ir
