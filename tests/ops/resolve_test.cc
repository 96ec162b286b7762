// What calls are taken for, and the sentences that refuse them.
#include "ops/resolve.h"

#include <gmock/gmock.h>

#include <limits>

#include "ops/arena.h"

namespace tenon::ops {
namespace {

using ::testing::ElementsAre;

constexpr std::monostate kNone;

std::string Refusal(std::string_view op, const std::vector<Argument>& arguments) {
  try {
    Resolve(FindOperator(op), arguments);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

class ResolveTest : public ::testing::Test {
 protected:
  Tensor F32(std::vector<int64_t> shape) { return arena_.Make(DType::kF32, std::move(shape)); }
  Tensor BF16(std::vector<int64_t> shape) { return arena_.Make(DType::kBF16, std::move(shape)); }
  Tensor I64(std::vector<int64_t> shape) { return arena_.Make(DType::kI64, std::move(shape)); }
  Arena arena_;
};

TEST_F(ResolveTest, SolvesSizesAndFillsDefaults) {
  const Resolved call =
      Resolve(FindOperator("rms_norm"), std::vector<Argument>{BF16({2, 3, 64}), F32({64})});
  EXPECT_EQ(call.sizes.at("hidden"), 64);
  EXPECT_EQ(call.sizes.at("tokens"), 6);
  EXPECT_EQ(call.storage, DType::kBF16);
  EXPECT_EQ(std::get<double>(call.attributes.at("eps")), 1e-6);
  EXPECT_EQ(std::get<int64_t>(call.attributes.at("variance_size")), 64);
  EXPECT_EQ(call.variant->name, "has_variance_size=false");
  EXPECT_EQ(call.outputs[0].spec, (TensorSpec{DType::kBF16, {2, 3, 64}}));
  EXPECT_FALSE(call.FindInput("bias")->present);
}

TEST_F(ResolveTest, HeadsAreSeenHoweverTheQueryIsWritten) {
  for (const auto& shape : {std::vector<int64_t>{5, 256}, std::vector<int64_t>{5, 4, 64}}) {
    const Resolved call =
        Resolve(FindOperator("rotary_embedding"),
                std::vector<Argument>{I64({5}), BF16(shape), kNone, int64_t{64}, F32({100, 32})});
    EXPECT_THAT(call.FindInput("query")->view.shape(), ElementsAre(5, 4, 64));
    EXPECT_EQ(call.FindInput("query")->view.strides[1], 64);
    EXPECT_EQ(call.sizes.at("half"), 16);
    EXPECT_EQ(call.outputs[0].spec.shape, shape);
    EXPECT_EQ(call.outputs[1].spec.shape, std::vector<int64_t>{0});
    EXPECT_TRUE(call.outputs[1].none);
  }
}

TEST_F(ResolveTest, OneScaleStandsForAll) {
  for (const auto& shape : {std::vector<int64_t>{}, {1}, {8}}) {
    const Resolved call = Resolve(FindOperator("static_scaled_int8_quant"),
                                  std::vector<Argument>{BF16({4, 8}), F32(shape)});
    const Tensor& scale = call.FindInput("scale")->view;
    EXPECT_THAT(scale.shape(), ElementsAre(8));
    EXPECT_EQ(scale.strides[0], shape == std::vector<int64_t>{8} ? 1 : 0);
  }
}

TEST_F(ResolveTest, SoftmaxMovesItsAxisLast) {
  const Resolved call = Resolve(FindOperator("softmax_batch_invariant"),
                                std::vector<Argument>{BF16({2, 3, 5}), int64_t{-2}, DType::kF32});
  const Tensor& view = call.inputs[0].view;
  EXPECT_THAT(view.shape(), ElementsAre(2, 5, 3));
  EXPECT_EQ(view.strides[2], 5);
  EXPECT_EQ(call.storage, DType::kF32);
  EXPECT_EQ(call.outputs[0].spec, (TensorSpec{DType::kF32, {2, 3, 5}}));
  const Tensor y = F32({2, 3, 5});
  const std::vector<Tensor> views = OutputViews(call, std::vector<Tensor>{y});
  EXPECT_THAT(views[0].shape(), ElementsAre(2, 5, 3));
}

TEST_F(ResolveTest, GroupsFollowFromTheGroupSize) {
  const Resolved call =
      Resolve(FindOperator("rms_norm_gated"),
              std::vector<Argument>{F32({6, 96}), F32({96}), F32({6, 96}), 1e-5, kNone, int64_t{24},
                                    true, std::string("swish")});
  EXPECT_THAT(call.inputs[0].view.shape(), ElementsAre(6, 4, 24));
  EXPECT_EQ(call.variant->name, "act=silu,has_z=true,norm_before_gate=true");
  const Resolved whole =
      Resolve(FindOperator("rms_norm_gated"), std::vector<Argument>{F32({6, 96}), F32({96})});
  EXPECT_EQ(std::get<int64_t>(whole.attributes.at("group_size")), 96);
  EXPECT_EQ(whole.variant->name,
            Resolve(FindOperator("rms_norm_gated"),
                    std::vector<Argument>{F32({6, 96}), F32({96}), kNone, 1e-5, kNone, kNone, true,
                                          std::string("sigmoid")})
                .variant->name)
      << "without z neither the gate's place nor its function matters";
}

TEST_F(ResolveTest, InPlaceTakesSlicesOfOneBuffer) {
  const Tensor packed = BF16({4, 160});
  const auto form = FindOperator("fused_add_rms_norm_");
  const Resolved call = Resolve(
      form, std::vector<Argument>{SliceOf(packed, 1, 0, 64), SliceOf(packed, 1, 64, 128), kNone});
  EXPECT_EQ(call.outputs[0].over, 0);
  EXPECT_EQ(call.outputs[1].over, 1);
  EXPECT_EQ(OutputViews(call, {})[1].data, call.inputs[1].tensor.data);
  EXPECT_EQ(Refusal("fused_add_rms_norm_",
                    {SliceOf(packed, 1, 0, 64), SliceOf(packed, 1, 63, 127), kNone}),
            "fused_add_rms_norm_: x is written, but shares memory with residual");
  Tensor expanded = BF16({1, 64});
  expanded.sizes[0] = 4;
  expanded.strides[0] = 0;
  EXPECT_EQ(Refusal("fused_add_rms_norm_", {expanded, BF16({4, 64}), kNone}),
            "fused_add_rms_norm_: x is written, but its elements overlap (strides [0, 1])");
  EXPECT_EQ(Refusal("fused_add_rms_norm", {expanded, expanded, kNone}), "accepted");
}

TEST_F(ResolveTest, ResultsAreChecked) {
  const Tensor x = BF16({4, 8});
  const Resolved call = Resolve(FindOperator("gelu_quick"), std::vector<Argument>{x});
  const auto refusal = [&](const std::vector<Tensor>& results) -> std::string {
    try {
      OutputViews(call, results);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({}), "gelu_quick: gives 1 results, got 0 tensors for them");
  EXPECT_EQ(refusal({F32({4, 8})}), "gelu_quick: y must be bf16, got f32");
  EXPECT_EQ(refusal({BF16({8, 4})}), "gelu_quick: y must be [4, 8], got [8, 4]");
  EXPECT_EQ(refusal({x}), "gelu_quick: y is written, but shares memory with x");
  EXPECT_EQ(refusal({BF16({4, 8})}), "accepted");
}

TEST_F(ResolveTest, EmptyRowsAreFineEmptyChannelsAreNot) {
  EXPECT_EQ(Refusal("silu_and_mul", {F32({0, 8})}), "accepted");
  EXPECT_EQ(Refusal("silu_and_mul", {F32({4, 0})}),
            "silu_and_mul: x must not be empty along its last axis, got [4, 0]");
  EXPECT_EQ(Refusal("rms_norm", {F32({0}), kNone}),
            "rms_norm: x must not be empty along its last axis, got [0]");
}

TEST_F(ResolveTest, ShapesThatDoNotFit) {
  EXPECT_EQ(Refusal("fused_add_rms_norm", {BF16({2, 4096}), BF16({2, 4096}), BF16({4095})}),
            "fused_add_rms_norm: weight must be [4096] like x's last axis, got [4095]");
  EXPECT_EQ(Refusal("fused_add_rms_norm", {BF16({2, 64}), BF16({3, 64}), kNone}),
            "fused_add_rms_norm: residual must be [2, 64] like x, got [3, 64]");
  EXPECT_EQ(Refusal("fused_add_rms_norm", {BF16({2, 64}), BF16({2, 63}), kNone}),
            "fused_add_rms_norm: residual must be [2, 64] like x, got [2, 63]");
  EXPECT_EQ(Refusal("silu_and_mul", {F32({2, 7})}),
            "silu_and_mul: x must be [..., 2*d], got [2, 7]");
  EXPECT_EQ(Refusal("silu_and_mul", {F32({})}), "silu_and_mul: x must be [..., 2*d], got []");
  EXPECT_EQ(Refusal("rms_norm", {F32({2, 8}), F32({8, 1})}),
            "rms_norm: weight must be [8] like x's last axis, got [8, 1]");
  EXPECT_EQ(Refusal("rms_norm_gated", {F32({6, 96}), F32({96}), kNone, 1e-5, kNone, int64_t{36}}),
            "rms_norm_gated: x must be [..., group_size*groups] with group_size = 36, got [6, 96]");
  EXPECT_EQ(Refusal("static_scaled_int8_quant", {F32({2, 8}), F32({3})}),
            "static_scaled_int8_quant: scale must be [8] like x's last axis, got [3]");
  EXPECT_EQ(Refusal("static_scaled_int8_quant", {F32({2, 8}), F32({2, 8})}),
            "static_scaled_int8_quant: scale must be [8], [1] or [], got [2, 8]");
}

TEST_F(ResolveTest, RotaryShapes) {
  const auto rotary = [&](Tensor positions, Tensor query, Argument key, int64_t head_size,
                          Tensor cache) {
    return Refusal("rotary_embedding", {positions, query, key, head_size, cache});
  };
  EXPECT_EQ(rotary(I64({5}), BF16({5, 250}), kNone, 64, F32({9, 64})),
            "rotary_embedding: query must be [5, head_size*heads] with head_size = 64, got [5, "
            "250]");
  EXPECT_EQ(rotary(I64({5}), BF16({4, 256}), kNone, 64, F32({9, 64})),
            "rotary_embedding: query must be [5, head_size*heads] like positions' leading axes, "
            "got [4, 256]");
  EXPECT_EQ(rotary(I64({5}), BF16({5, 4, 32}), kNone, 64, F32({9, 64})),
            "rotary_embedding: query must be [5, heads, 64] with head_size = 64, got [5, 4, 32]");
  EXPECT_EQ(rotary(I64({5}), BF16({5}), kNone, 64, F32({9, 64})),
            "rotary_embedding: query must be [5, head_size*heads] or [5, heads, 64], got [5]");
  EXPECT_EQ(rotary(I64({5}), BF16({5, 256}), BF16({6, 64}), 64, F32({9, 64})),
            "rotary_embedding: key must be [5, head_size*kv_heads] like positions' leading axes, "
            "got [6, 64]");
  EXPECT_EQ(rotary(I64({5}), BF16({5, 256}), kNone, 64, F32({9, 63})),
            "rotary_embedding: cos_sin_cache must be [rows, 2*half], got [9, 63]");
  EXPECT_EQ(rotary(I64({5}), BF16({5, 256}), kNone, 64, F32({9, 66})),
            "rotary_embedding: cos_sin_cache's last axis plus rope_dim_offset must not exceed "
            "head_size, got 66 and 64");
  EXPECT_EQ(rotary(I64({5}), BF16({5, 256}), kNone, 0, F32({9, 64})),
            "rotary_embedding: head_size must be positive, got 0");
  EXPECT_EQ(rotary(I64({5}), BF16({5, 256}), kNone, int64_t{1} << 62, F32({9, 64})),
            "rotary_embedding: head_size must be at most 1073741824, got 4611686018427387904");
  EXPECT_EQ(Refusal("split_qkv_rmsnorm_rope", {BF16({5, 500}), F32({9, 64}), I64({5}), kNone, kNone,
                                               int64_t{4}, int64_t{2}, int64_t{64}}),
            "split_qkv_rmsnorm_rope: qkv must be [5, 512] with head_dim = 64, num_heads = 4, "
            "num_kv_heads = 2, got [5, 500]");
}

TEST_F(ResolveTest, KindsAndDTypes) {
  const Tensor x = BF16({2, 8});
  EXPECT_EQ(Refusal("rms_norm", {kNone, kNone}), "rms_norm: x must be a tensor, got None");
  EXPECT_EQ(Refusal("rms_norm", {x, 1.0}), "rms_norm: weight must be a tensor or None, got 1");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, x}),
            "rms_norm: eps must be a float, got a tensor bf16[2, 8]");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, 1e-6, kNone, kNone, 0.0, true}),
            "rms_norm: takes at most 6 arguments, got 7");
  EXPECT_EQ(Refusal("rms_norm", {I64({2, 8}), kNone}),
            "rms_norm: x must be f32, f16 or bf16, got i64");
  EXPECT_EQ(Refusal("rms_norm", {x, arena_.Make(DType::kF16, {8})}),
            "rms_norm: weight must be bf16 like x, or f32, got f16");
  EXPECT_EQ(Refusal("rms_norm", {F32({2, 8}), BF16({8})}),
            "rms_norm: weight must be f32 like x, got bf16");
  EXPECT_EQ(Refusal("fused_add_rms_norm", {x, F32({2, 8}), kNone}),
            "fused_add_rms_norm: residual must be bf16 like x, got f32");
  EXPECT_EQ(Refusal("rotary_embedding", {F32({2}), x, kNone, int64_t{8}, F32({9, 8})}),
            "rotary_embedding: positions must be i32 or i64, got f32");
  EXPECT_EQ(Refusal("static_scaled_int8_quant", {x, BF16({1})}),
            "static_scaled_int8_quant: scale must be f32, got bf16");
  EXPECT_EQ(Refusal("rms_norm_dynamic_per_token_quant", {x, kNone}),
            "rms_norm_dynamic_per_token_quant: dtype must be given");
  EXPECT_EQ(Refusal("rms_norm_dynamic_per_token_quant", {x, kNone, 1e-6, DType::kBF16}),
            "rms_norm_dynamic_per_token_quant: dtype must be i8 or f8e4m3, got bf16");
  EXPECT_EQ(
      Refusal("rms_norm_dynamic_per_token_quant", {x, kNone, 1e-6, std::string("float8_e4m3fn")}),
      "accepted");
  Tensor on_gpu = BF16({8});
  on_gpu.device = Device::kCuda;
  EXPECT_EQ(Refusal("rms_norm", {x, on_gpu}), "rms_norm: weight must be on cpu like x, got cuda:0");
}

TEST_F(ResolveTest, AttributesOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = F32({2, 8});
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, -1.0}), "rms_norm: eps must be at least 0, got -1");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, nan}), "rms_norm: eps must be at least 0, got nan");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, 0.0}), "accepted");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, int64_t{0}}), "accepted");
  EXPECT_EQ(Refusal("swiglustep_and_mul", {x, 0.0}),
            "swiglustep_and_mul: limit must be positive, got 0");
  EXPECT_EQ(Refusal("swigluoai_and_mul", {x, 1.702, nan}),
            "swigluoai_and_mul: limit must be positive, got nan");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, 1e-6, kNone, int64_t{9}}),
            "rms_norm: variance_size must not exceed the size of x's last axis, got 9 and 8");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, 1e-6, kNone, int64_t{0}}),
            "rms_norm: variance_size must be positive, got 0");
  EXPECT_EQ(Refusal("rms_norm", {x, kNone, 1e-6, kNone, kNone, 1.0}),
            "rms_norm: weight_offset must be 0 when weight is None, got 1");
  EXPECT_EQ(Refusal("softmax_batch_invariant", {x, int64_t{2}}),
            "softmax_batch_invariant: dim must be in [-2, 1] for x of 2 axes, got 2");
  EXPECT_EQ(Refusal("softmax_batch_invariant", {F32({})}),
            "softmax_batch_invariant: x must have at least one axis, got []");
  EXPECT_EQ(
      Refusal("rms_norm_gated", {x, F32({8}), x, 1e-5, kNone, kNone, false, std::string("relu")}),
      "rms_norm_gated: act must be silu or sigmoid, got relu");
}

TEST_F(ResolveTest, MemoryThatMakesNoSense) {
  Tensor x = BF16({2, 8});
  x.data = x.ptr<char>() + 1;
  EXPECT_EQ(Refusal("gelu_quick", {x}), "gelu_quick: x is not aligned to its elements of 2 bytes");
  x.data = nullptr;
  EXPECT_EQ(Refusal("gelu_quick", {x}), "gelu_quick: x has no memory");
  x.rank = 9;
  EXPECT_EQ(Refusal("gelu_quick", {x}), "gelu_quick: x must have at most 8 axes, got 9");
}

TEST(FindOperator, NamesTheNearest) {
  try {
    FindOperator("rmsnorm");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "there is no operator rmsnorm; did you mean rms_norm?");
  }
}

}  // namespace
}  // namespace tenon::ops
