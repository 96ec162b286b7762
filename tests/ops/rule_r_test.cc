// A fused operator returns the bits of the chain of operators that it replaces.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/dtype.h"
#include "ops/arena.h"
#include "ops/kernel_testing.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

constexpr std::monostate kNone;

class RuleR : public ::testing::TestWithParam<DType> {
 protected:
  // A filled case; the fused operator's arguments are the chain's, too.
  Case& Make(const std::string& line, std::vector<int64_t> lead, Layout layout = Layout::kDense) {
    CaseSpec spec = ParseCase(line);
    spec.lead = std::move(lead);
    spec.storage = GetParam();
    spec.param = cases_.size() % 2 ? DType::kF32 : GetParam();
    spec.fill = Fill::kAdversarial;
    spec.layout = layout;
    return cases_.emplace_back(std::move(spec));
  }
  const Tensor& Input(const Case& test, std::string_view name) {
    return test.call().FindInput(name)->tensor;
  }
  std::deque<Case> cases_;
};

INSTANTIATE_TEST_SUITE_P(, RuleR, ::testing::ValuesIn(kStorages),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

Tensor Reshaped(const Tensor& contiguous, std::vector<int64_t> shape) {
  return MakeTensor(contiguous.data, contiguous.dtype, shape);
}

TEST_P(RuleR, AddThenNorm) {
  for (int64_t hidden : {1, 33, 1024}) {
    Case& test = Make(
        fmt::format("fused_add_rms_norm hidden={} weight_offset=0.5 +weight +bias", hidden), {40});
    const Bits fused = RunBits(test);
    const Tensor& x = Input(test, "x");
    const Tensor& residual = Input(test, "residual");
    Arena arena;
    const Tensor sum = arena.Make(x.dtype, {40, hidden});
    for (int64_t i = 0; i < x.numel(); ++i) {
      const auto a = static_cast<float>(LoadElement(x.data, x.dtype, i));
      const auto b = static_cast<float>(LoadElement(residual.data, x.dtype, i));
      StoreElement(sum.data, x.dtype, i, a + b);
    }
    const std::vector<Buffer> y =
        Op::Find("rms_norm")
            .Run({sum, Input(test, "weight"), 1e-6, Input(test, "bias"), kNone, 0.5});
    EXPECT_EQ(fused[0], BitsOf(y[0].tensor()));
    for (int64_t i = 0; i < sum.numel(); ++i) {
      const double got = LoadElement(test.results()[1].data, x.dtype, i);
      const double expected = LoadElement(sum.data, x.dtype, i);
      EXPECT_TRUE(got == expected || (got != got && expected != expected)) << i;
    }
  }
}

TEST_P(RuleR, AddThenNormAsOperators) {
  for (int64_t hidden : {1, 33, 1024}) {
    Case& test = Make(fmt::format("gemma_fused_add_rms_norm hidden={}", hidden), {40});
    const Bits fused = RunBits(test);
    const std::vector<Buffer> sum =
        Op::Find("muls_add").Run({Input(test, "x"), Input(test, "residual"), 1.0});
    const std::vector<Buffer> y =
        Op::Find("gemma_rms_norm").Run({sum[0].tensor(), Input(test, "weight")});
    EXPECT_EQ(fused, (Bits{BitsOf(y[0].tensor()), BitsOf(sum[0].tensor())}));
  }
}

TEST_P(RuleR, PackedAndSeparateActivations) {
  for (const auto& [act, packed] :
       std::vector<std::pair<const char*, const char*>>{{"silu", "silu_and_mul"},
                                                        {"gelu", "gelu_and_mul"},
                                                        {"gelu_tanh", "gelu_tanh_and_mul"}}) {
    for (int64_t d : {1, 33, 1000}) {
      Case& test = Make(fmt::format("{} d={}", packed, d), {40});
      const Bits expected = RunBits(test);
      const Tensor& x = Input(test, "x");
      const std::vector<Buffer> y =
          Op::Find("act_and_mul")
              .Run({SliceOf(x, 1, 0, d), SliceOf(x, 1, d, 2 * d), std::string(act)});
      EXPECT_EQ(expected[0], BitsOf(y[0].tensor())) << act;
    }
  }
}

TEST_P(RuleR, ClampFarAwayIsNoClamp) {
  Case& test = Make("silu_and_mul d=77", {8});
  test.FillTensors();
  const Tensor& x = Input(test, "x");
  for (int64_t i = 0; i < x.numel(); ++i) {
    StoreElement(x.data, x.dtype, i, std::clamp(LoadElement(x.data, x.dtype, i), -9.0, 9.0));
  }
  EXPECT_EQ(BitsOf(Op::Find("silu_and_mul").Run({x})[0].tensor()),
            BitsOf(Op::Find("silu_and_mul_with_clamp").Run({x, 16.0})[0].tensor()));
}

TEST_P(RuleR, NormThenQuant) {
  for (int64_t hidden : {1, 33, 1024}) {
    Case& test = Make(
        fmt::format("rms_norm_dynamic_per_token_quant hidden={} dtype=i8 +weight +bias", hidden),
        {40});
    const Bits fused = RunBits(test);
    const std::vector<Buffer> n =
        Op::Find("rms_norm")
            .Run({Input(test, "x"), Input(test, "weight"), 1e-6, Input(test, "bias")});
    const std::vector<Buffer> q = Op::Find("dynamic_scaled_int8_quant").Run({n[0].tensor()});
    EXPECT_EQ(fused, (Bits{BitsOf(q[0].tensor()), BitsOf(q[1].tensor())}));
  }
}

// The two ways to write the type of a quantised result.
struct Quantiser {
  DType dtype;
  const char* per_token;
};
constexpr Quantiser kQuantisers[] = {{DType::kI8, "dynamic_scaled_int8_quant"},
                                     {DType::kF8E4M3, "dynamic_per_token_scaled_fp8_quant"}};

Bits BitsOfAll(const std::vector<Buffer>& results) {
  Bits bits;
  for (const Buffer& result : results) bits.push_back(BitsOf(result.tensor()));
  return bits;
}

TEST_P(RuleR, AddThenNormThenQuant) {
  for (const auto& [dtype, per_token] : kQuantisers) {
    for (int64_t hidden : {1, 33, 1024}) {
      Case& test = Make(fmt::format("fused_add_rms_norm_dynamic_per_token_quant hidden={} dtype={} "
                                    "+weight +bias",
                                    hidden, DTypeName(dtype)),
                        {40});
      const Bits fused = RunBits(test);
      const std::vector<Buffer> n = Op::Find("fused_add_rms_norm")
                                        .Run({Input(test, "x"), Input(test, "residual"),
                                              Input(test, "weight"), 1e-6, Input(test, "bias")});
      Bits chain = BitsOfAll(Op::Find(per_token).Run({n[0].tensor()}));
      chain.push_back(BitsOf(n[1].tensor()));
      EXPECT_EQ(fused, chain) << per_token;
    }
  }
}

TEST_P(RuleR, NormThenStaticQuant) {
  for (const Quantiser& q : kQuantisers) {
    const bool is_int = q.dtype == DType::kI8;
    for (bool adds : {false, true}) {
      Case& test =
          Make(fmt::format("{}rms_norm_static_quant hidden=77 dtype={} +weight{}",
                           adds ? "fused_add_" : "", DTypeName(q.dtype), is_int ? " +offset" : ""),
               {40});
      const Bits fused = RunBits(test);
      Bits chain;
      std::vector<Buffer> n;
      if (adds) {
        n = Op::Find("fused_add_rms_norm")
                .Run({Input(test, "x"), Input(test, "residual"), Input(test, "weight")});
      } else {
        n = Op::Find("rms_norm").Run({Input(test, "x"), Input(test, "weight")});
      }
      const Argument offset = is_int ? Argument(Input(test, "offset")) : Argument(kNone);
      chain = BitsOfAll(
          Op::Find("quantize").Run({n[0].tensor(), Input(test, "scale"), offset, q.dtype}));
      if (adds) chain.push_back(BitsOf(n[1].tensor()));
      EXPECT_EQ(fused, chain);
    }
  }
}

TEST_P(RuleR, NormThenGroupQuant) {
  for (bool ue8m0 : {false, true}) {
    Case& norm = Make(fmt::format("rms_norm_per_block_quant groups=19 group_size=24 "
                                  "scale_ue8m0={} weight_offset=1 +weight +bias",
                                  ue8m0),
                      {40});
    const Bits plain = RunBits(norm);
    const std::vector<Buffer> n =
        Op::Find("rms_norm")
            .Run({Input(norm, "x"), Input(norm, "weight"), 1e-6, Input(norm, "bias"), kNone, 1.0});
    const Op group_quant = Op::Find("per_token_group_quant_fp8");
    EXPECT_EQ(plain, BitsOfAll(group_quant.Run({n[0].tensor(), int64_t{24}, ue8m0})));

    Case& added = Make(fmt::format("fused_add_rms_norm_per_block_quant groups=3 group_size=128 "
                                   "scale_ue8m0={} +weight",
                                   ue8m0),
                       {40}, Layout::kRowGaps);
    const Bits fused = RunBits(added);
    const std::vector<Buffer> sum =
        Op::Find("fused_add_rms_norm")
            .Run({Input(added, "x"), Input(added, "residual"), Input(added, "weight")});
    Bits chain = BitsOfAll(group_quant.Run({sum[0].tensor(), int64_t{128}, ue8m0}));
    chain.push_back(BitsOf(sum[1].tensor()));
    EXPECT_EQ(fused, chain);

    Case& gated = Make(
        fmt::format("silu_and_mul_per_block_quant groups=19 group_size=24 scale_ue8m0={}", ue8m0),
        {40});
    const Bits silu = RunBits(gated);
    const std::vector<Buffer> h = Op::Find("silu_and_mul").Run({Input(gated, "x")});
    EXPECT_EQ(silu, BitsOfAll(group_quant.Run({h[0].tensor(), int64_t{24}, ue8m0})));
  }
}

TEST_P(RuleR, GatedActivationThenQuant) {
  for (const auto& [dtype, per_token] : kQuantisers) {
    Case& dynamic = Make(fmt::format("swiglu_quant d=77 dtype={}", DTypeName(dtype)), {40});
    const Bits fused = RunBits(dynamic);
    const std::vector<Buffer> h = Op::Find("silu_and_mul").Run({Input(dynamic, "x")});
    EXPECT_EQ(fused, BitsOfAll(Op::Find(per_token).Run({h[0].tensor()}))) << per_token;

    Case& fixed =
        Make(fmt::format("silu_and_mul_quant hidden=77 dtype={}", DTypeName(dtype)), {40});
    const Bits with_scale = RunBits(fixed);
    const std::vector<Buffer> g = Op::Find("silu_and_mul").Run({Input(fixed, "x")});
    EXPECT_EQ(
        with_scale,
        BitsOfAll(Op::Find("quantize").Run({g[0].tensor(), Input(fixed, "scale"), kNone, dtype})));
  }
}

TEST_P(RuleR, OtherNamesOfTheQuantisations) {
  Case& test = Make("quantize hidden=77 dtype=i8", {40});
  const Tensor& x = Input(test, "x");
  const Tensor& scale = Input(test, "scale");
  Arena arena;
  const Tensor offset = arena.Make(DType::kI32, {1}, {-5});
  const Op quantize = Op::Find("quantize");
  EXPECT_EQ(BitsOfAll(quantize.Run({x, scale, offset, DType::kI8})),
            BitsOfAll(Op::Find("static_scaled_int8_quant").Run({x, scale, offset})));
  EXPECT_EQ(BitsOfAll(quantize.Run({x, scale, kNone, DType::kF8E4M3})),
            BitsOfAll(Op::Find("static_scaled_fp8_quant").Run({x, scale})));
}

TEST_P(RuleR, OtherNamesOfTheNorm) {
  for (int64_t hidden : {1, 33, 1024}) {
    Case& gemma = Make(fmt::format("gemma_rms_norm hidden={}", hidden), {40});
    const Bits bits = RunBits(gemma);
    const std::vector<Buffer> y =
        Op::Find("rms_norm")
            .Run({Input(gemma, "x"), Input(gemma, "weight"), 1e-6, kNone, kNone, 1.0});
    EXPECT_EQ(bits[0], BitsOf(y[0].tensor()));

    Case& gated = Make(fmt::format("rms_norm_gated groups=1 group_size={} +bias", hidden), {40});
    const Bits plain = RunBits(gated);
    const std::vector<Buffer> z =
        Op::Find("rms_norm")
            .Run({Input(gated, "x"), Input(gated, "weight"), 1e-5, Input(gated, "bias")});
    EXPECT_EQ(plain[0], BitsOf(z[0].tensor()));

    Case& layer = Make(fmt::format("layer_norm_gated groups=1 group_size={} +bias", hidden), {40});
    const Bits centred = RunBits(layer);
    const std::vector<Buffer> n =
        Op::Find("layer_norm")
            .Run({Input(layer, "x"), Input(layer, "weight"), Input(layer, "bias"), 1e-5});
    EXPECT_EQ(centred[0], BitsOf(n[0].tensor()));
  }
}

TEST_P(RuleR, GroupsAreRowsOfTheirOwn) {
  Case& test = Make("rms_norm_gated groups=11 group_size=20", {8});
  const Bits grouped = RunBits(test);
  std::vector<uint8_t> rows;
  const Tensor& weight = Input(test, "weight");
  const Tensor x = Reshaped(Input(test, "x"), {8, 11, 20});
  for (int64_t token = 0; token < 8; ++token) {
    for (int64_t group = 0; group < 11; ++group) {
      Tensor row = SliceOf(SliceOf(x, 0, token, token + 1), 1, group, group + 1);
      const std::vector<Buffer> y =
          Op::Find("rms_norm").Run({row, SliceOf(weight, 0, group * 20, group * 20 + 20), 1e-5});
      const std::vector<uint8_t> bits = BitsOf(y[0].tensor());
      rows.insert(rows.end(), bits.begin(), bits.end());
    }
  }
  EXPECT_EQ(grouped[0], rows);
}

TEST_P(RuleR, NormThenRope) {
  for (bool is_neox : {true, false}) {
    for (const char* sizes : {"heads=11 head_size=80 half=20 rope_dim_offset=8 rows=19",
                              "heads=2 head_size=128 half=64 rows=50"}) {
      Case& test =
          Make(fmt::format("rms_norm_rope {} is_neox={} weight_offset=1 +weight", sizes, is_neox),
               {21}, Layout::kRowGaps);
      const Bits fused = RunBits(test);
      const std::vector<Buffer> n =
          Op::Find("rms_norm")
              .Run({Input(test, "x"), Input(test, "weight"), 1e-6, kNone, kNone, 1.0});
      const std::vector<Buffer> y =
          Op::Find("rotary_embedding")
              .Run({Input(test, "positions"), n[0].tensor(), kNone,
                    test.call().sizes.at("head_size"), Input(test, "cos_sin_cache"), is_neox,
                    test.call().sizes.at("rope_dim_offset")});
      EXPECT_EQ(fused[0], BitsOf(y[0].tensor()));
    }
  }
}

TEST_P(RuleR, SplitThenNormThenRope) {
  constexpr int64_t kTokens = 21, kHeads = 10, kKvHeads = 2, kDim = 96;
  for (bool is_neox : {true, false}) {
    Case& test = Make(fmt::format("split_qkv_rmsnorm_rope num_heads=10 num_kv_heads=2 head_dim=96 "
                                  "half=40 rows=30 is_neox={} +q_weight +k_weight +q_bias",
                                  is_neox),
                      {kTokens}, Layout::kRowGaps);
    const Bits fused = RunBits(test);
    const Tensor& qkv = Input(test, "qkv");
    const auto heads = [&](int64_t begin, int64_t count) {
      Tensor part = SliceOf(qkv, 1, begin * kDim, (begin + count) * kDim);
      part.rank = 3;
      part.sizes = {kTokens, count, kDim};
      part.strides = {qkv.strides[0], kDim, 1};
      return part;
    };
    const Op norm = Op::Find("rms_norm");
    const std::vector<Buffer> q =
        norm.Run({heads(0, kHeads), Input(test, "q_weight"), 1e-6, Input(test, "q_bias")});
    const std::vector<Buffer> k = norm.Run({heads(kHeads, kKvHeads), Input(test, "k_weight")});
    const std::vector<Buffer> rotated =
        Op::Find("rotary_embedding")
            .Run({Input(test, "positions"), Reshaped(q[0].tensor(), {kTokens, kHeads * kDim}),
                  Reshaped(k[0].tensor(), {kTokens, kKvHeads * kDim}), kDim,
                  Input(test, "cos_sin_cache"), is_neox});
    EXPECT_EQ(fused, (Bits{BitsOf(rotated[0].tensor()), BitsOf(rotated[1].tensor()),
                           BitsOf(heads(kHeads + kKvHeads, kKvHeads))}));
  }
}

TEST_P(RuleR, ScalingByPowersOfTwoKeepsTheBits) {
  Case& test = Make("rms_norm hidden=100 eps=0 +weight", {4});
  Arena arena;
  const Tensor x = arena.Make(GetParam(), {4, 100});
  const Tensor scaled = arena.Make(GetParam(), {4, 100});
  for (int64_t i = 0; i < 400; ++i) {
    const double v = (i * 37 % 101 - 50) / 16.0;
    StoreElement(x.data, x.dtype, i, v);
    StoreElement(scaled.data, x.dtype, i, v * 8);
  }
  const Op norm = Op::Find("rms_norm");
  const Tensor& weight = Input(test, "weight");
  EXPECT_EQ(BitsOf(norm.Run({x, weight, 0.0})[0].tensor()),
            BitsOf(norm.Run({scaled, weight, 0.0})[0].tensor()));
}

TEST_P(RuleR, InverseUndoesTheRotation) {
  Arena arena;
  const Tensor positions = arena.Make(DType::kI32, {2}, {0, 1});
  const Tensor cache = arena.Make(DType::kF32, {2, 4}, {1, 1, 0, 0, 0.6, 0.28, 0.8, 0.96});
  const Tensor query = arena.Make(GetParam(), {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<uint8_t> before = BitsOf(query);
  const Op rope = Op::Find("rotary_embedding_");
  rope.Run({positions, query, kNone, int64_t{4}, cache});
  EXPECT_EQ(BitsOf(SliceOf(query, 0, 0, 1)),
            std::vector<uint8_t>(before.begin(),
                                 before.begin() + static_cast<int64_t>(before.size()) / 2))
      << "position 0 is the identity";
  rope.Run({positions, query, kNone, int64_t{4}, cache, true, int64_t{0}, true});
  const double u = GetParam() == DType::kF32 ? 1e-6 : GetParam() == DType::kF16 ? 2e-3 : 1.6e-2;
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(LoadElement(query.data, query.dtype, i), static_cast<double>(i + 1), 11 * u);
  }
}

}  // namespace
}  // namespace tenon::ops
