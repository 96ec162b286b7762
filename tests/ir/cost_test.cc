#include "ir/cost.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/op_table.h"
#include "random_graph.h"

namespace tenon::ir {
namespace {

const Axis kTokens = NamedAxis("tokens");
const Axis kHidden = NamedAxis("hidden");
constexpr int64_t kT = 8;
constexpr int64_t kC = 64;

Workload MakeWorkload() {
  Workload workload;
  workload.sizes = {{"tokens", kT}, {"hidden", kC}, {"d", kC / 2}, {"n", 5}, {"rows", 100}};
  workload.storage = DType::kBF16;
  return workload;
}

Value Silu(Value x) { return Sigmoid(x) * x; }

TEST(Cost, RmsNormReadsItsRowsOnce) {
  Builder b("rms_norm");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, kHidden});
  const Value weight = b.OptionalInput("weight", Elem::Param(), {kHidden}, 1.0);
  const Value rstd = Rsqrt(Mean(x * x, "hidden") + b.Attr("eps"));
  b.Output("y", Round(x * rstd * weight, Elem::Storage()));
  Workload workload = MakeWorkload();
  Cost cost = FusedCost(b.graph(), workload);
  EXPECT_EQ(cost.read_bytes, kT * kC * 2 + kC * 4);
  EXPECT_EQ(cost.written_bytes, kT * kC * 2);
  EXPECT_EQ(cost.launches, 1);
  // x*x, the mean, + eps and rsqrt per row, two products, the rounding.
  EXPECT_EQ(cost.flops, static_cast<double>(kT * kC * 5 + kT * 9));
  workload.params["weight"] = DType::kBF16;
  EXPECT_EQ(FusedCost(b.graph(), workload).read_bytes, kT * kC * 2 + kC * 2);
  workload.absent = {"weight"};
  EXPECT_EQ(FusedCost(b.graph(), workload).read_bytes, kT * kC * 2);

  // Alone: x*x, mean, +eps, rsqrt, *rstd, *weight with its rounding.
  workload.absent.clear();
  cost = UnfusedCost(b.graph(), workload);
  EXPECT_EQ(cost.launches, 6);
  EXPECT_EQ(cost.read_bytes, kT * kC * 2 + kT * kC * 4 + 2 * kT * 4 + (kT * kC * 2 + kT * 4) +
                                 (kT * kC * 4 + kC * 2));
  EXPECT_EQ(cost.written_bytes, kT * kC * 4 + 3 * kT * 4 + kT * kC * 4 + kT * kC * 2);
}

TEST(Cost, GroupsAreTheKernelsOfAnUnfusedModel) {
  Builder b("silu_and_mul");
  const Value x = b.Input("x", Elem::Storage(), {kTokens, {"wide", "2*d"}});
  const Value gate = Slice(x, "wide", 0, NamedAxis("d"));
  const Value up = Slice(x, "wide", "d", NamedAxis("d"));
  const Value act = Round(Silu(gate), Elem::Storage());
  const Value y = Round(act * up, Elem::Storage());
  b.Output("y", y);
  const Workload workload = MakeWorkload();
  const int64_t half = kT * kC / 2 * 2;  // bytes of [tokens, d]
  EXPECT_EQ(FusedCost(b.graph(), workload).bytes(), 3 * half);
  // The activation reads gate and writes act, the product reads act and up and writes y.
  const NodeId silu = b.graph().node(act.id()).args[0];
  const NodeId sigmoid = b.graph().node(silu).args[0];
  const std::vector<std::vector<NodeId>> groups = {{sigmoid, silu, act.id()}};
  const Cost cost = GroupedCost(b.graph(), workload, groups);
  EXPECT_EQ(cost.bytes(), 5 * half);
  EXPECT_EQ(cost.launches, 2);
  EXPECT_EQ(EagerKernels(b.graph()).size(), 3u);
}

TEST(Cost, ViewsInsideAGroupAreNotStored) {
  Builder b("rotate");
  const Value x = b.Input("x", DType::kF32, {kTokens, {"wide", "2*d"}});
  const Value twice = x * 2.0;
  const Value low = Slice(twice, "wide", 0, NamedAxis("d"));
  const Value y = Exp(low);
  b.Output("y", y);
  const std::vector<std::vector<NodeId>> groups = {{twice.id(), y.id()}};
  const Cost cost = GroupedCost(b.graph(), MakeWorkload(), groups);
  EXPECT_EQ(cost.launches, 1);
  EXPECT_EQ(cost.written_bytes, kT * kC / 2 * 4);
  EXPECT_EQ(cost.read_bytes, kT * kC / 2 * 4);
}

TEST(Cost, OnlyTheSlicesThatAreUsedAreRead) {
  Builder b("norm_prefix");
  const Value x = b.Input("x", DType::kF32, {kTokens, {"wide", "2*d"}});
  b.Output("s", Sum(Slice(x, "wide", "d", {"part", "d//4"}), "part"));
  EXPECT_EQ(FusedCost(b.graph(), MakeWorkload()).read_bytes, kT * (kC / 2 / 4) * 4);
}

TEST(Cost, GathersReadAsManyRowsAsIndices) {
  Builder b("embedding");
  const Value table = b.Input("table", DType::kBF16, {NamedAxis("rows"), kHidden});
  const Value index = b.Input("index", DType::kI32, {NamedAxis("n")});
  b.Output("y", GatherRow(table, index, IndexRule::kError));
  Workload workload = MakeWorkload();
  EXPECT_EQ(FusedCost(b.graph(), workload).read_bytes, 5 * kC * 2 + 5 * 4);
  EXPECT_EQ(FusedCost(b.graph(), workload).written_bytes, 5 * kC * 2);
  workload.sizes["n"] = 1000;  // every row at most once
  EXPECT_EQ(FusedCost(b.graph(), workload).read_bytes, 100 * kC * 2 + 1000 * 4);
}

TEST(Cost, InPlaceWritesTouchTheirRowsOnly) {
  const auto scatter = [](std::string_view in_place) {
    Builder b("cache_write");
    const Value cache = b.Input("cache", DType::kBF16, {NamedAxis("rows"), kHidden});
    const Value slots = b.Input("slots", DType::kI64, {NamedAxis("n")});
    const Value rows = b.Input("value", DType::kBF16, {NamedAxis("n"), kHidden});
    b.Output("cache", ScatterRow(cache, slots, rows, IndexRule::kSkip), in_place);
    return FusedCost(b.graph(), MakeWorkload());
  };
  EXPECT_EQ(scatter("cache").read_bytes, 5 * 8 + 5 * kC * 2);
  EXPECT_EQ(scatter("cache").written_bytes, 5 * kC * 2);
  EXPECT_EQ(scatter("").read_bytes, 5 * 8 + 5 * kC * 2 + 100 * kC * 2);
  EXPECT_EQ(scatter("").written_bytes, 100 * kC * 2);

  Builder b("rope_");
  const Value q = b.Input("q", DType::kF32, {kTokens, {"wide", "2*d"}});
  const Value low = Slice(q, "wide", 0, NamedAxis("d"));
  b.Output("q", WriteSlice(q, -low, 1, "d"), "q");
  EXPECT_EQ(FusedCost(b.graph(), MakeWorkload()).read_bytes, kT * kC / 2 * 4);
  EXPECT_EQ(FusedCost(b.graph(), MakeWorkload()).written_bytes, kT * kC / 2 * 4);
}

TEST(Cost, ProductsCountTwoFlopsPerMultiplication) {
  Builder b("linear");
  const Value x = b.Input("x", DType::kBF16, {kTokens, kHidden});
  const Value w = b.Input("w", DType::kBF16, {NamedAxis("d"), kHidden});
  b.Output("y", Round(Matmul(x, w, "hidden"), DType::kBF16));
  const Cost cost = FusedCost(b.graph(), MakeWorkload());
  EXPECT_EQ(cost.flops, static_cast<double>(2 * kT * kC * (kC / 2) + kT * (kC / 2)));
  EXPECT_EQ(cost.bytes(), (kT * kC + kC * kC / 2 + kT * kC / 2) * 2);
}

TEST(Cost, CopiesCallsAndConstants) {
  Builder b("copies");
  const Value x = b.Input("x", DType::kF32, {kTokens});
  const auto results = b.Call("sort", {x}, {}, {x.type(), {DType::kI32, {kTokens}}});
  const Value scale = b.Attr("scale") * 2.0;  // known before any kernel runs
  b.Output("same", x);
  b.Output("order", results[1]);
  b.Output("scaled", results[0] * scale);
  const Workload workload = MakeWorkload();
  const Cost cost = FusedCost(b.graph(), workload);
  EXPECT_EQ(cost.read_bytes, kT * 4);
  EXPECT_EQ(cost.flops, static_cast<double>(kT));
  const Cost unfused = UnfusedCost(b.graph(), workload);
  EXPECT_EQ(unfused.launches, 2);
  EXPECT_EQ(unfused.read_bytes, kT * 4 + kT * 4);
  EXPECT_EQ(unfused.written_bytes, 2 * kT * 4 + kT * 4);
}

// A layer as the analyser lowers it: add -> norm -> product, the sum read again later.
struct Layer {
  Graph graph{"layer"};
  std::vector<NodeId> calls;  // add, norm, product
};

Layer MakeLayer(std::map<std::string, AttrValue> stated) {
  Builder b("layer");
  const Type row{DType::kBF16, {kTokens, kHidden}};
  const Value x = b.Input("x", row.elem, row.axes);
  const Value residual = b.Input("residual", row.elem, row.axes);
  const Value both = b.Call("add_and_copy", {x, residual}, {}, {row, row})[0];
  const NodeId add = b.graph().node(both.id()).args[0];
  const Value normed = b.Call("rms_norm", {both}, {}, {row})[0];
  const Value weight = b.Input("w", DType::kBF16, {NamedAxis("d"), kHidden});
  const Type wide{DType::kBF16, {kTokens, NamedAxis("d")}};
  const Value out = b.Call("gate_up_proj", {normed, weight}, std::move(stated), {wide})[0];
  b.Output("out", out);
  return {b.Take(), {add, normed.id(), out.id()}};
}

TEST(Cost, CallsOfALayerMoveTheirOperandsAndResults) {
  const Layer layer = MakeLayer({});
  const Workload workload = MakeWorkload();
  const int64_t row = kT * kC * 2;
  const auto norm = CallsCost(layer.graph, workload, {&layer.calls[1], 1});
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->read_bytes, row);
  EXPECT_EQ(norm->written_bytes, row);
  EXPECT_EQ(norm->launches, 1);
  // Fused, the sum stays on chip.
  const auto both = CallsCost(layer.graph, workload, {layer.calls.data(), 2});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->read_bytes, 2 * row);
  EXPECT_EQ(both->written_bytes, row);
  EXPECT_EQ(both->launches, 1);
}

TEST(Cost, WhatACallStatesReplacesItsOperandsAndResults) {
  const Layer layer = MakeLayer({{"op_bytes_read", "8*tokens*hidden"},
                                 {"op_bytes_written", "tokens*d"},
                                 {"op_flops", "2*tokens*hidden*d"}});
  const Workload workload = MakeWorkload();
  const auto product = CallsCost(layer.graph, workload, {&layer.calls[2], 1});
  ASSERT_TRUE(product);
  EXPECT_EQ(product->read_bytes, 8 * kT * kC);
  EXPECT_EQ(product->written_bytes, kT * kC / 2);
  EXPECT_EQ(product->flops, static_cast<double>(kT * kC * kC));
  const auto fused = CallsCost(layer.graph, workload, {layer.calls.data() + 1, 2});
  ASSERT_TRUE(fused);
  EXPECT_EQ(fused->read_bytes, 8 * kT * kC) << "the norm's row in place of its result";
  EXPECT_EQ(fused->written_bytes, kT * kC / 2);
}

TEST(Cost, CallsWithUnknownSizesHaveNone) {
  const Layer layer = MakeLayer({});
  Workload workload = MakeWorkload();
  workload.sizes.erase("d");
  EXPECT_FALSE(CallsCost(layer.graph, workload, {&layer.calls[2], 1}));
  EXPECT_TRUE(CallsCost(layer.graph, workload, {&layer.calls[1], 1}));
}

TEST(Cost, FusedIsNeverMoreThanUnfused) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, 50);
    Workload workload;
    workload.sizes = random.sizes;
    const Cost fused = FusedCost(random.graph, workload);
    const Cost unfused = UnfusedCost(random.graph, workload);
    EXPECT_EQ(fused.flops, unfused.flops) << seed;
    EXPECT_LE(fused.read_bytes, unfused.read_bytes + fused.written_bytes) << seed;
    EXPECT_LE(fused.launches, std::max(1, unfused.launches)) << seed;
  }
}

TEST(Cost, MissingSizesAreNamed) {
  Builder b("f");
  b.Output("y", -b.Input("x", DType::kF32, {NamedAxis("unknown")}));
  EXPECT_THROW(FusedCost(b.graph(), MakeWorkload()), UsageError);
}

}  // namespace
}  // namespace tenon::ir
