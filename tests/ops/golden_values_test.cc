// Values worked out by hand from the operators' formulas, for the reference and for what dispatch
// chooses.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ops/arena.h"
#include "ops/dispatch.h"
#include "ops/reference.h"

namespace tenon::ops {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr std::monostate kNone;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class GoldenValues : public ::testing::TestWithParam<bool> {
 protected:
  // The values of every result.
  std::vector<std::vector<double>> Run(std::string_view op,
                                       const std::vector<Argument>& arguments) {
    const Resolved call = Resolve(FindOperator(op), arguments);
    std::vector<Tensor> results;
    if (call.in_place == nullptr) {
      for (const BoundOutput& output : call.outputs) {
        results.push_back(arena_.Make(output.spec.dtype, output.spec.shape));
      }
    }
    const std::vector<Tensor> outputs = OutputViews(call, results);
    if (GetParam()) {
      RunReference(call, outputs);
    } else {
      Dispatch(call, outputs);
    }
    std::vector<std::vector<double>> values;
    for (const Tensor& result : results) values.push_back(ValuesOf(result));
    return values;
  }

  Tensor F32(std::vector<int64_t> shape, const std::vector<double>& values) {
    return arena_.Make(DType::kF32, std::move(shape), values);
  }
  Tensor BF16(std::vector<int64_t> shape, const std::vector<double>& values) {
    return arena_.Make(DType::kBF16, std::move(shape), values);
  }
  Arena arena_;
};

INSTANTIATE_TEST_SUITE_P(, GoldenValues, ::testing::Values(true, false), [](const auto& instance) {
  return instance.param ? "reference" : "dispatch";
});

MATCHER(IsNan, "") { return std::isnan(arg); }

TEST_P(GoldenValues, ClampedActivations) {
  EXPECT_THAT(Run("swiglustep_and_mul", {F32({1, 2}, {100, -100})})[0], ElementsAre(-49));
  EXPECT_NEAR(Run("swigluoai_and_mul", {F32({1, 2}, {100, 100})})[0][0], 55.99963, 1e-5);
  // Interleaved: gate 1 and 0, up 2 and 3.
  EXPECT_NEAR(Run("swigluoai_and_mul", {F32({1, 4}, {1, 2, 0, 3})})[0][0],
              3 / (1 + std::exp(-1.702)), 1e-6);
  for (const char* op : {"swiglustep_and_mul", "swigluoai_and_mul", "silu_and_mul"}) {
    EXPECT_THAT(Run(op, {F32({2, 2}, {kNaN, 1, 1, kNaN})})[0], Each(IsNan())) << op;
  }
}

TEST_P(GoldenValues, ClampComesBeforeTheSigmoid) {
  // g = 2, u = -2: 2 * sigmoid(1) * (-2 + 1).
  EXPECT_NEAR(Run("silu_and_mul_with_clamp", {F32({2}, {100, -100}), 2.0, 0.5, 1.0})[0][0],
              -2 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_THAT(Run("silu_and_mul_with_clamp", {F32({2, 2}, {kNaN, 1, 1, kNaN}), 7.0})[0],
              Each(IsNan()));
}

TEST_P(GoldenValues, ElementwiseRoundsOnce) {
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, which a rounded product loses.
  const double x = 1 + 0x1p-12;
  const Tensor addend = F32({1}, {-1 - 0x1p-11});
  EXPECT_THAT(Run("muls_add", {F32({1}, {x}), addend, x})[0], ElementsAre(0x1p-24));
  EXPECT_THAT(Run("mul_add", {F32({1}, {x}), F32({1}, {x}), addend})[0], ElementsAre(0x1p-24));
}

TEST_P(GoldenValues, ActivationsByName) {
  const auto run = [&](const char* act) {
    return Run("act_and_mul", {F32({3}, {-2, 3, kNaN}), F32({3}, {5, 7, 1}), std::string(act)})[0];
  };
  EXPECT_THAT(run("relu"), ElementsAre(0, 21, IsNan()));
  EXPECT_THAT(run("relu2"), ElementsAre(0, 63, IsNan()));
}

TEST_P(GoldenValues, ActivationsSaturate) {
  for (const char* op : {"gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul"}) {
    EXPECT_THAT(Run(op, {BF16({2, 2}, {-3e38, 1, 3e38, 0})})[0], Each(0.0)) << op;
  }
  EXPECT_THAT(Run("gelu_quick", {BF16({2}, {-3e38, 0})})[0], Each(0.0));
  EXPECT_THAT(Run("silu_and_mul", {F32({2}, {-kInf, 1})})[0], ElementsAre(IsNan()));
}

TEST_P(GoldenValues, NormsOfSpecialRows) {
  const Tensor bias = F32({2}, {0.5, -2});
  EXPECT_THAT(Run("rms_norm", {F32({1, 2}, {0, 0}), kNone, 1e-6, bias})[0], ElementsAre(0.5, -2));
  EXPECT_THAT(Run("rms_norm", {F32({1, 2}, {0, 0}), kNone, 0.0})[0], Each(IsNan()));
  EXPECT_THAT(Run("rms_norm", {F32({1, 2}, {kInf, 3}), kNone})[0], ElementsAre(IsNan(), 0));
  const Tensor wide = arena_.Make(DType::kF16, {1, 4}, {300, -300, 300, 300});
  EXPECT_THAT(Run("rms_norm", {wide, kNone, 0.0})[0], ElementsAre(1, -1, 1, 1));
  EXPECT_THAT(Run("layer_norm", {F32({1, 4}, {1, 3, 1, 3}), kNone, kNone, 0.0})[0],
              ElementsAre(-1, 1, -1, 1));
  // The statistics of the first two elements scale all three.
  EXPECT_THAT(Run("rms_norm", {F32({3}, {2, 2, 8}), kNone, 0.0, kNone, int64_t{2}})[0],
              ElementsAre(1, 1, 4));
}

TEST_P(GoldenValues, OffsetIsAddedInFloat32) {
  const Tensor x = arena_.Make(DType::kBF16, {1, 2}, {256, -256});
  const Tensor weight = BF16({2}, {0x1p-7, 0x1p-7});  // 1 + 2^-7 is exact in bf16
  EXPECT_THAT(Run("gemma_rms_norm", {x, weight, 0.0})[0], ElementsAre(1.0078125, -1.0078125));
  const Tensor fine = BF16({2}, {0x1p-10, 0x1p-10});
  const Tensor x32 = F32({1, 2}, {1, -1});
  const Tensor fine32 = F32({2}, {0x1p-10, 0x1p-10});
  EXPECT_THAT(Run("gemma_rms_norm", {x32, fine32, 0.0})[0], ElementsAre(1 + 0x1p-10, -1 - 0x1p-10));
  EXPECT_EQ(Run("gemma_rms_norm", {x, fine, 0.0}),
            Run("rms_norm", {x, fine, 0.0, kNone, kNone, 1.0}));
}

TEST_P(GoldenValues, FusedAddReadsTheRoundedSum) {
  // 256 + 1 rounds to 256 in bf16.
  const auto results =
      Run("fused_add_rms_norm", {BF16({1, 2}, {256, -256}), BF16({1, 2}, {1, -1}), kNone, 0.0});
  EXPECT_THAT(results[0], ElementsAre(1, -1));
  EXPECT_THAT(results[1], ElementsAre(256, -256));
}

TEST_P(GoldenValues, InPlaceWritesTheArguments) {
  const Tensor x = F32({1, 2}, {3, -3});
  const Tensor residual = F32({1, 2}, {1, -1});
  Run("fused_add_rms_norm_", {x, residual, kNone, 0.0});
  EXPECT_THAT(ValuesOf(x), ElementsAre(1, -1));
  EXPECT_THAT(ValuesOf(residual), ElementsAre(4, -4));
}

TEST_P(GoldenValues, GatedNorms) {
  const Tensor x = F32({1, 4}, {2, -2, 3, 3});
  const Tensor one = F32({4}, {1, 1, 1, 1});
  const Tensor z = F32({1, 4}, {0, 0, 0, 0});
  const auto run = [&](Argument gate, int64_t group, bool before, const char* act) {
    return Run("rms_norm_gated", {x, one, gate, 0.0, kNone, group, before, std::string(act)})[0];
  };
  EXPECT_THAT(run(kNone, 2, false, "silu"), ElementsAre(1, -1, 1, 1));
  EXPECT_THAT(run(z, 2, true, "sigmoid"), ElementsAre(0.5, -0.5, 0.5, 0.5));
  EXPECT_THAT(run(z, 2, false, "sigmoid"), ElementsAre(1, -1, 1, 1));
  EXPECT_THAT(run(z, 2, true, "swish"), Each(0.0));
}

TEST_P(GoldenValues, Quantisation) {
  const auto zero = Run("dynamic_scaled_int8_quant", {F32({1, 3}, {0, 0, 0})});
  EXPECT_THAT(zero[0], Each(0.0));
  EXPECT_EQ(zero[1][0], static_cast<double>(1e-10f / 127.0f));
  const auto row = Run("dynamic_scaled_int8_quant", {F32({1, 4}, {-127, 63.5, kNaN, 126.4})});
  EXPECT_THAT(row[0], ElementsAre(-127, 64, 0, 126));
  EXPECT_EQ(row[1][0], 1.0);
  EXPECT_THAT(
      Run("static_scaled_int8_quant", {F32({1, 5}, {2.5, 3.5, -1e9, 1e9, kNaN}), F32({}, {1})})[0],
      ElementsAre(2, 4, -128, 127, 0));
  const Tensor azp = arena_.Make(DType::kI32, {1}, {-3});
  EXPECT_THAT(Run("static_scaled_int8_quant", {F32({1, 2}, {2.5, 6}), F32({2}, {1, 2}), azp})[0],
              ElementsAre(-1, 0));
  const auto fp8 =
      Run("rms_norm_dynamic_per_token_quant", {F32({1, 2}, {1, -1}), kNone, 0.0, DType::kF8E4M3});
  EXPECT_THAT(fp8[0], ElementsAre(448, -448));
  EXPECT_EQ(fp8[1][0], static_cast<double>(1.0f / 448.0f));
}

TEST_P(GoldenValues, Float8Quantisation) {
  const Tensor x = F32({2, 4}, {896, -3, kNaN, 1e9, 0, 0, 0, 0});
  const auto fixed = Run("static_scaled_fp8_quant", {x, F32({1}, {2})});
  EXPECT_THAT(fixed[0], ElementsAre(448, -1.5, IsNan(), 448, 0, 0, 0, 0));
  const auto row = Run("dynamic_per_token_scaled_fp8_quant", {F32({2, 2}, {896, -3, 0, 0})});
  EXPECT_THAT(row[0], ElementsAre(448, -1.5, 0, 0));
  EXPECT_THAT(row[1], ElementsAre(2, static_cast<double>(1e-10f / 448.0f)));
  const auto capped =
      Run("dynamic_per_token_scaled_fp8_quant", {F32({1, 2}, {896, -3}), F32({1}, {448})});
  EXPECT_THAT(capped[0], ElementsAre(448, -3));
  EXPECT_THAT(capped[1], ElementsAre(1));
  const auto whole = Run("dynamic_scaled_fp8_quant", {F32({2, 2}, {896, -3, 4, 448})});
  EXPECT_THAT(whole[0], ElementsAre(448, -1.5, 2, 224));
  EXPECT_THAT(whole[1], ElementsAre(2));
  const auto zeros = Run("dynamic_scaled_fp8_quant", {F32({2, 2}, {0, 0, 0, 0})});
  EXPECT_THAT(zeros[0], Each(0.0));
  EXPECT_EQ(zeros[1][0], static_cast<double>(1e-10f / 448.0f));
}

TEST_P(GoldenValues, GroupScales) {
  const Tensor x = F32({1, 4}, {896, -3, 448, 0.5});
  const auto plain = Run("per_token_group_quant_fp8", {x, int64_t{2}});
  EXPECT_THAT(plain[0], ElementsAre(448, -1.5, 448, 0.5));
  EXPECT_THAT(plain[1], ElementsAre(2, 1));
  // A power of two stays, everything else goes up.
  const auto power =
      Run("per_token_group_quant_fp8", {F32({1, 4}, {896, -3, 449, 1}), int64_t{2}, true});
  EXPECT_THAT(power[0], ElementsAre(448, -1.5, 224, 0.5));
  EXPECT_THAT(power[1], ElementsAre(2, 2));
}

TEST_P(GoldenValues, OffsetsOfEveryType) {
  const Tensor x = F32({2, 2}, {2.5, 6, -2.5, 300});
  for (DType dtype : {DType::kI8, DType::kI32, DType::kF32}) {
    const Tensor one = arena_.Make(dtype, {1}, {-3});
    EXPECT_THAT(Run("quantize", {x, F32({1}, {1}), one, DType::kI8})[0],
                ElementsAre(-1, 3, -5, 127));
    const Tensor each = arena_.Make(dtype, {2}, {-3, 1});
    EXPECT_THAT(Run("quantize", {x, F32({1}, {1}), each, DType::kI8})[0],
                ElementsAre(-1, 7, -5, 127));
  }
  const Tensor offset = F32({1}, {1});
  EXPECT_THROW(Run("quantize", {x, F32({1}, {1}), offset, DType::kF8E4M3}), UsageError);
}

TEST_P(GoldenValues, AnInfiniteRowLeavesTheOthersAlone) {
  const Tensor x = F32({3, 2}, {127, -127, kInf, 1, 254, 2});
  const auto quantised = Run("dynamic_scaled_int8_quant", {x});
  EXPECT_THAT(quantised[0], ElementsAre(127, -127, ::testing::_, ::testing::_, 127, 1));
  EXPECT_THAT(quantised[1], ElementsAre(1, ::testing::_, 2));
}

TEST_P(GoldenValues, Rotation) {
  // One pair turned by 90 degrees at position 1, not at all at position 0.
  const Tensor cache = F32({2, 2}, {1, 0, 0, 1});
  const Tensor positions = arena_.Make(DType::kI32, {2}, {0, 1});
  const Tensor query = F32({2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  const auto run = [&](bool is_neox, int64_t offset, bool inverse) {
    return Run("rotary_embedding",
               {positions, query, kNone, int64_t{4}, cache, is_neox, offset, inverse})[0];
  };
  EXPECT_THAT(run(true, 0, false), ElementsAre(1, 2, 3, 4, -2, 1, 3, 4));
  EXPECT_THAT(run(true, 2, false), ElementsAre(1, 2, 3, 4, 1, 2, -4, 3));
  EXPECT_THAT(run(true, 1, true), ElementsAre(1, 2, 3, 4, 1, 3, -2, 4));
  const Tensor wide = F32({2, 4}, {1, 1, 0, 0, 0, 0, 1, 1});
  const auto rotate = [&](bool is_neox) {
    return Run("rotary_embedding", {positions, query, kNone, int64_t{4}, wide, is_neox})[0];
  };
  EXPECT_THAT(rotate(true), ElementsAre(1, 2, 3, 4, -3, -4, 1, 2));
  EXPECT_THAT(rotate(false), ElementsAre(1, 2, 3, 4, -2, 1, -4, 3));
}

TEST_P(GoldenValues, PositionsOutsideTheCacheAreRefused) {
  const Tensor cache = F32({2, 2}, {1, 0, 0, 1});
  for (double position : {-1.0, 2.0}) {
    const Tensor positions = arena_.Make(DType::kI64, {1}, {position});
    const Tensor query = F32({1, 2}, {5, 6});
    EXPECT_THROW(Run("rotary_embedding_", {positions, query, kNone, int64_t{2}, cache}),
                 UsageError);
    EXPECT_THAT(ValuesOf(query), ElementsAre(5, 6)) << "nothing is written";
  }
}

TEST_P(GoldenValues, SplitNormRope) {
  // Two query heads, one key and value head of two elements; every norm divides by the magnitude.
  const Tensor qkv = F32({1, 8}, {3, -3, 2, 2, -5, 5, 7, 8});
  const Tensor cache = F32({2, 2}, {1, 0, 0, 1});
  const Tensor positions = arena_.Make(DType::kI64, {1}, {1});
  const auto results = Run("split_qkv_rmsnorm_rope", {qkv, cache, positions, kNone, kNone,
                                                      int64_t{2}, int64_t{1}, int64_t{2}, 0.0});
  EXPECT_THAT(results[0], ElementsAre(1, 1, -1, 1));
  EXPECT_THAT(results[1], ElementsAre(-1, -1));
  EXPECT_THAT(results[2], ElementsAre(7, 8));
}

TEST_P(GoldenValues, Softmax) {
  EXPECT_THAT(Run("softmax_batch_invariant", {F32({2, 2}, {1, 1, -kInf, 5})})[0],
              ElementsAre(0.5, 0.5, 0, 1));
  EXPECT_THAT(Run("softmax_batch_invariant", {F32({2}, {-kInf, -kInf})})[0], Each(IsNan()));
  EXPECT_THAT(Run("softmax_batch_invariant", {F32({2, 2}, {1, 3, 1, 3}), int64_t{0}})[0],
              Each(0.5));
  EXPECT_THAT(Run("softmax_batch_invariant", {BF16({2}, {4, 4}), int64_t{-1}, DType::kF32})[0],
              Each(0.5));
}

TEST_P(GoldenValues, NoRowsNoWork) {
  EXPECT_THAT(Run("silu_and_mul", {F32({0, 8}, {})})[0], ElementsAre());
  EXPECT_THAT(Run("dynamic_scaled_int8_quant", {F32({3, 0, 8}, {})})[1], ElementsAre());
}

TEST(Dispatch, AllKernelsDeclining) {
  Arena arena;
  Tensor x = arena.Make(DType::kF32, {2, 8});
  x.device = Device::kCuda;
  try {
    ChooseKernel(Resolve(FindOperator("gelu_quick"), std::vector<Argument>{x}));
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(),
                 "gelu_quick: no kernel takes this call (cpu.row: the tensors are on cuda:0)");
  }
}

}  // namespace
}  // namespace tenon::ops
