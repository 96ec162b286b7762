// The rotary operators against each other, bit by bit, and against their formulas.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "ops/kernel_testing.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

constexpr std::monostate kNone;
constexpr int64_t kTokens = 7, kHalf = 12, kRows = 30;

class Rope : public ::testing::TestWithParam<DType> {
 protected:
  Tensor Random(std::vector<int64_t> shape) { return RandomOf(GetParam(), std::move(shape)); }
  Tensor RandomOf(DType dtype, std::vector<int64_t> shape) {
    const Tensor t = arena_.Make(dtype, std::move(shape));
    for (int64_t i = 0; i < t.numel(); ++i) StoreElement(t.data, dtype, i, std::sin(7.0 * ++seed_));
    return t;
  }
  Tensor Positions(std::vector<int64_t> shape) {
    const Tensor t = arena_.Make(DType::kI64, std::move(shape));
    for (int64_t i = 0; i < t.numel(); ++i) t.ptr<int64_t>()[i] = ++seed_ * 5 % kRows;
    return t;
  }
  static std::vector<Buffer> Run(const char* op, std::vector<Argument> arguments) {
    return Op::Find(op).Run(std::span<const Argument>(arguments));
  }
  Arena arena_;
  int seed_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, Rope, ::testing::ValuesIn(kStorages),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

TEST_P(Rope, GatheredRowsThenRotation) {
  const Tensor x = Random({kTokens, 3, 40});
  for (DType table : {GetParam(), DType::kF32}) {
    const Tensor cache = RandomOf(table, {kRows, 2 * kHalf});
    const Tensor positions = Positions({kTokens});
    const std::vector<Buffer> rows = Run("gather_cos_sin", {cache, positions});
    for (bool is_neox : {true, false}) {
      for (bool inverse : {true, false}) {
        const std::vector<Buffer> once =
            Run("rotary_embedding",
                {positions, x, kNone, int64_t{40}, cache, is_neox, int64_t{8}, inverse});
        const std::vector<Buffer> apart =
            Run("apply_rotary_emb",
                {x, rows[0].tensor(), rows[1].tensor(), is_neox, int64_t{8}, inverse});
        EXPECT_EQ(BitsOf(once[0].tensor()), BitsOf(apart[0].tensor()));
      }
    }
  }
}

TEST_P(Rope, AnglesOfASequenceServeEveryBatch) {
  const Tensor x = Random({2, 5, 3, 2 * kHalf});
  const Tensor cos = Random({5, kHalf});
  const Tensor sin = Random({5, kHalf});
  const std::vector<Buffer> both = Run("apply_rotary_emb", {x, cos, sin});
  for (int64_t batch = 0; batch < 2; ++batch) {
    Tensor one = SliceOf(x, 0, batch, batch + 1);
    const std::vector<Buffer> y = Run("apply_rotary_emb", {one, cos, sin});
    EXPECT_EQ(BitsOf(SliceOf(both[0].tensor(), 0, batch, batch + 1)), BitsOf(y[0].tensor()));
  }
  EXPECT_THROW(Run("apply_rotary_emb", {x, Random({4, kHalf}), sin}), UsageError);
}

TEST_P(Rope, LayoutsOfGatheredRows) {
  const Tensor cache = Random({kRows, 2 * kHalf});
  const Tensor positions = Positions({kTokens});
  const std::vector<Buffer> half = Run("gather_cos_sin", {cache, positions});
  const std::vector<Buffer> neox = Run("gather_cos_sin", {cache, positions, std::string("neox")});
  const std::vector<Buffer> pairs =
      Run("gather_cos_sin", {cache, positions, std::string("interleave")});
  for (size_t k = 0; k < 2; ++k) {
    const std::vector<double> once = ValuesOf(half[k].tensor());
    const std::vector<double> twice = ValuesOf(neox[k].tensor());
    const std::vector<double> each = ValuesOf(pairs[k].tensor());
    for (int64_t t = 0; t < kTokens; ++t) {
      const int64_t position = positions.ptr<int64_t>()[t];
      for (int64_t i = 0; i < kHalf; ++i) {
        const double value = LoadElement(
            cache.data, cache.dtype, position * 2 * kHalf + static_cast<int64_t>(k) * kHalf + i);
        const auto at = [&](int64_t index) { return static_cast<size_t>(t * 2 * kHalf + index); };
        EXPECT_EQ(once[static_cast<size_t>(t * kHalf + i)], value);
        EXPECT_EQ(twice[at(i)], value);
        EXPECT_EQ(twice[at(kHalf + i)], value);
        EXPECT_EQ(each[at(2 * i)], value);
        EXPECT_EQ(each[at(2 * i + 1)], value);
      }
    }
  }
}

TEST_P(Rope, GatherIntoLargerBuffers) {
  const Tensor cache = Random({kRows, 2 * kHalf});
  const Tensor positions = Positions({kTokens});
  const std::vector<Buffer> rows = Run("gather_cos_sin", {cache, positions});
  const Tensor cos = Random({kTokens + 3, kHalf});
  const Tensor sin = Random({kTokens + 3, kHalf});
  const std::vector<uint8_t> behind = BitsOf(SliceOf(cos, 0, kTokens, kTokens + 3));
  Run("gather_cos_sin_", {cos, sin, cache, positions});
  EXPECT_EQ(BitsOf(SliceOf(cos, 0, 0, kTokens)), BitsOf(rows[0].tensor()));
  EXPECT_EQ(BitsOf(SliceOf(sin, 0, 0, kTokens)), BitsOf(rows[1].tensor()));
  EXPECT_EQ(BitsOf(SliceOf(cos, 0, kTokens, kTokens + 3)), behind);
  const Tensor few = Random({kTokens - 1, kHalf});
  EXPECT_THROW(Run("gather_cos_sin_", {few, sin, cache, positions}), UsageError);
  EXPECT_THROW(Run("gather_cos_sin_", {cos, sin, cache, positions, std::string("neox")}),
               UsageError);
  EXPECT_THROW(Op::Find("gather_cos_sin_").Infer(std::vector<Argument>{}), UsageError);
}

// The rows of cos_sin_cache that turn channel `channel`: time, height or width.
int SectionOf(int64_t channel, const std::vector<int64_t>& sections, bool interleaved) {
  if (interleaved) {
    if (channel % 3 == 1 && channel < 3 * sections[1]) return 1;
    if (channel % 3 == 2 && channel < 3 * sections[2]) return 2;
    return 0;
  }
  return channel < sections[0] ? 0 : channel < sections[0] + sections[1] ? 1 : 2;
}

TEST_P(Rope, SectionsChooseTheAngles) {
  const std::vector<int64_t> sections = {5, 4, 3};
  const Tensor cache = Random({kRows, 2 * kHalf});
  const Tensor positions = Positions({3, kTokens});
  const Tensor q = Random({kTokens, 2, 32});
  const Tensor k = Random({kTokens, 1, 32});
  for (bool interleaved : {false, true}) {
    const Tensor cos = arena_.Make(GetParam(), {kTokens, kHalf});
    const Tensor sin = arena_.Make(GetParam(), {kTokens, kHalf});
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t i = 0; i < kHalf; ++i) {
        const int section = SectionOf(i, sections, interleaved);
        const int64_t row = positions.ptr<int64_t>()[section * kTokens + t];
        const auto value = [&](int64_t at) {
          return LoadElement(cache.data, cache.dtype, row * 2 * kHalf + at);
        };
        StoreElement(cos.data, cos.dtype, t * kHalf + i, value(i));
        StoreElement(sin.data, sin.dtype, t * kHalf + i, value(kHalf + i));
      }
    }
    for (bool is_neox : {true, false}) {
      const std::vector<Buffer> y =
          Run("mrope", {positions, q, k, int64_t{32}, cache, sections, is_neox, interleaved});
      EXPECT_EQ(BitsOf(y[0].tensor()),
                BitsOf(Run("apply_rotary_emb", {q, cos, sin, is_neox})[0].tensor()));
      EXPECT_EQ(BitsOf(y[1].tensor()),
                BitsOf(Run("apply_rotary_emb", {k, cos, sin, is_neox})[0].tensor()));
    }
  }
  EXPECT_THROW(
      Run("mrope", {positions, q, kNone, int64_t{32}, cache, std::vector<int64_t>{5, 4, 2}}),
      UsageError);
  EXPECT_THROW(Run("mrope", {Positions({2, kTokens}), q, kNone, int64_t{32}, cache, sections}),
               UsageError);
}

TEST_P(Rope, OnePositionForAllSections) {
  const Tensor cache = Random({kRows, 2 * kHalf});
  const Tensor positions = Positions({kTokens});
  const Tensor q = Random({kTokens, 2 * 32});
  const std::vector<int64_t> sections = {4, 4, 4};
  EXPECT_EQ(BitsOf(Run("mrope", {positions, q, kNone, int64_t{32}, cache, sections})[0].tensor()),
            BitsOf(Run("rotary_embedding", {positions, q, kNone, int64_t{32}, cache})[0].tensor()));
}

TEST_P(Rope, SplitThenNormThenSections) {
  constexpr int64_t kHeads = 4, kKvHeads = 2, kDim = 32;
  const std::vector<int64_t> sections = {6, 3, 3};
  const Tensor cache = Random({kRows, 2 * kHalf});
  const Tensor positions = Positions({3, kTokens});
  const Tensor weight = Random({kDim});
  for (bool has_gate : {false, true}) {
    for (bool interleaved : {false, true}) {
      const int64_t q_width = kHeads * kDim * (has_gate ? 2 : 1);
      const Tensor qkv = Random({kTokens, q_width + 2 * kKvHeads * kDim});
      const auto part = [&](int64_t begin, int64_t heads, int64_t head_stride) {
        Tensor t = SliceOf(qkv, 1, begin, begin + 1);
        t.rank = 3;
        t.sizes = {kTokens, heads, kDim};
        t.strides = {qkv.strides[0], head_stride, 1};
        return t;
      };
      const std::vector<Buffer> fused = Run(
          "split_qkv_rmsnorm_mrope", {qkv, cache, positions, weight, kNone, kHeads, kKvHeads, kDim,
                                      sections, 1e-6, kNone, kNone, interleaved, has_gate});
      const int64_t step = has_gate ? 2 * kDim : kDim;
      const std::vector<Buffer> q = Run("rms_norm", {part(0, kHeads, step), weight});
      const std::vector<Buffer> k = Run("rms_norm", {part(q_width, kKvHeads, kDim), kNone});
      const std::vector<Buffer> turned = Run("mrope", {positions, q[0].tensor(), k[0].tensor(),
                                                       kDim, cache, sections, true, interleaved});
      EXPECT_EQ(BitsOf(fused[0].tensor()), BitsOf(turned[0].tensor()));
      EXPECT_EQ(BitsOf(fused[1].tensor()), BitsOf(turned[1].tensor()));
      EXPECT_EQ(BitsOf(fused[2].tensor()), BitsOf(part(q_width + kKvHeads * kDim, kKvHeads, kDim)));
      ASSERT_EQ(fused[3].tensor().sizes[1], has_gate ? kHeads * kDim : 0);
      if (has_gate) {
        EXPECT_EQ(BitsOf(fused[3].tensor()), BitsOf(part(kDim, kHeads, step)));
      }
    }
  }
}

TEST_P(Rope, InPlaceNormAndRotation) {
  constexpr int64_t kHeads = 4, kKvHeads = 2, kDim = 32;
  const Tensor cache = Random({kRows, 2 * kHalf});
  const Tensor positions = Positions({kTokens});
  const Tensor q_weight = Random({kDim});
  const Tensor k_weight = Random({kDim});
  for (bool is_neox : {false, true}) {
    const Tensor wide = Random({kTokens, (kHeads + 2 * kKvHeads) * kDim + 5});
    const Tensor qkv = SliceOf(wide, 1, 2, (kHeads + 2 * kKvHeads) * kDim + 2);
    const std::vector<Buffer> parts =
        Run("split_qkv_rmsnorm_rope", {qkv, cache, positions, q_weight, k_weight, kHeads, kKvHeads,
                                       kDim, 1e-5, kNone, kNone, is_neox});
    const std::vector<uint8_t> before = BitsOf(SliceOf(wide, 1, 0, 2));
    Run("fused_qk_norm_rope_", {qkv, kHeads, kKvHeads, kKvHeads, kDim, 1e-5, q_weight, k_weight,
                                cache, is_neox, positions});
    EXPECT_EQ(BitsOf(SliceOf(qkv, 1, 0, kHeads * kDim)), BitsOf(parts[0].tensor()));
    EXPECT_EQ(BitsOf(SliceOf(qkv, 1, kHeads * kDim, (kHeads + kKvHeads) * kDim)),
              BitsOf(parts[1].tensor()));
    EXPECT_EQ(BitsOf(SliceOf(qkv, 1, (kHeads + kKvHeads) * kDim, (kHeads + 2 * kKvHeads) * kDim)),
              BitsOf(parts[2].tensor()));
    EXPECT_EQ(BitsOf(SliceOf(wide, 1, 0, 2)), before);
  }
}

TEST(RopeTables, Frequencies) {
  const auto run = [](const char* op, std::vector<Argument> arguments) {
    return ValuesOf(Op::Find(op).Run(std::span<const Argument>(arguments))[0].tensor());
  };
  const std::vector<double> plain = run("rope_inv_freq", {int64_t{4}, 10000.0});
  EXPECT_THAT(plain, ::testing::ElementsAre(1, static_cast<double>(0.01f)));
  EXPECT_THROW(run("rope_inv_freq", {int64_t{5}, 10000.0}), UsageError);
  EXPECT_THROW(run("rope_inv_freq", {int64_t{0}, 10000.0}), UsageError);
  // Fast pairs keep their frequency, slow ones are divided.
  const std::vector<double> base = run("rope_inv_freq", {int64_t{64}, 10000.0});
  for (const std::vector<double>& scaled :
       {run("yarn_inv_freq", {int64_t{64}, 10000.0, 32.0, int64_t{4096}}),
        run("llama3_inv_freq", {int64_t{64}, 10000.0, 32.0, 1.0, 4.0, int64_t{4096}})}) {
    EXPECT_EQ(scaled.front(), base.front());
    EXPECT_EQ(scaled.back(), base.back() / 32);
    for (size_t i = 1; i < scaled.size(); ++i) EXPECT_LT(scaled[i], scaled[i - 1]);
  }
}

TEST(RopeTables, ScaleOfTheAttention) {
  const auto mscale = [](double scale, double factor) {
    const Op op = Op::Find("yarn_get_mscale");
    return std::bit_cast<double>(*op.Run({scale, factor})[0].tensor().ptr<int64_t>());
  };
  EXPECT_DOUBLE_EQ(mscale(32.0, 1.0), 1.3465735902799727);
  EXPECT_DOUBLE_EQ(mscale(40.0, 0.707), 0.1 * 0.707 * std::log(40.0) + 1);
  EXPECT_EQ(mscale(1.0, 5.0), 1.0);
  EXPECT_EQ(mscale(0.5, 5.0), 1.0);
}

TEST(RopeTables, CosinesOfTheRoundedAngle) {
  Arena arena;
  const Tensor inv_freq = arena.Make(DType::kF32, {2}, {1.0, 0.37});
  const auto table = [&](double mscale, DType dtype) {
    return Op::Find("cos_sin_cache").Run({inv_freq, int64_t{200000}, mscale, dtype});
  };
  const std::vector<Buffer> cache = table(1.0, DType::kF32);
  for (int64_t position : {0, 1, 777, 199999}) {
    for (int64_t i = 0; i < 2; ++i) {
      const float angle = static_cast<float>(position) * inv_freq.ptr<float>()[i];
      const float* row = cache[0].tensor().ptr<float>() + 4 * position;
      EXPECT_FLOAT_EQ(row[i], static_cast<float>(std::cos(static_cast<double>(angle))));
      EXPECT_FLOAT_EQ(row[2 + i], static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
  const std::vector<Buffer> scaled = table(1.5, DType::kBF16);
  EXPECT_EQ(LoadElement(scaled[0].tensor().data, DType::kBF16, 0), 1.5);
}

}  // namespace
}  // namespace tenon::ops
