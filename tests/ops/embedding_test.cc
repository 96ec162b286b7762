#include <gmock/gmock.h>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/generated_row.h"
#include "ops/kernel_testing.h"
#include "ops/reference.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

using ::testing::ElementsAre;

// Rows 0 to 2 are ids 10 to 12, row 3 is padding, rows 4 and 5 are the added ids 20 and 21.
constexpr int64_t kShard[] = {10, 13, 1, 20, 22};

class Embedding : public ::testing::Test {
 protected:
  std::vector<Argument> Arguments(const Tensor& ids, const Tensor& weight) {
    std::vector<Argument> arguments = {ids, weight};
    arguments.insert(arguments.end(), std::begin(kShard), std::end(kShard));
    return arguments;
  }
  Arena arena_;
};

TEST_F(Embedding, RowsOfThisShard) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i) values.push_back(i + 1);
    const Tensor weight = arena_.Make(dtype, {6, 2}, values);
    for (DType index : {DType::kI32, DType::kI64}) {
      const Tensor ids = arena_.Make(index, {2, 4}, {10, 12, 13, 20, 21, -1, 9, 1 << 30});
      const std::vector<Argument> arguments = Arguments(ids, weight);
      const std::vector<Buffer> y =
          Op::Find("vocab_parallel_embedding").Run(std::span<const Argument>(arguments));
      EXPECT_EQ(y[0].tensor().dtype, dtype);
      EXPECT_THAT(ValuesOf(y[0].tensor()),
                  ElementsAre(1, 2, 5, 6, 0, 0, 9, 10, 11, 12, 0, 0, 0, 0, 0, 0));
      const Resolved call = Resolve(FindOperator("vocab_parallel_embedding"), arguments);
      const Tensor expected = arena_.Make(dtype, {2, 4, 2});
      RunReference(call, OutputViews(call, {&expected, 1}));
      EXPECT_EQ(BitsOf(y[0].tensor()), BitsOf(expected));
    }
  }
}

TEST_F(Embedding, StridesDoNotMatter) {
  const Tensor wide = arena_.Make(DType::kF32, {6, 6});
  for (int64_t i = 0; i < 36; ++i) StoreElement(wide.data, wide.dtype, i, i);
  Tensor weight = wide;
  weight.sizes[1] = 3;
  weight.strides[1] = 2;
  Tensor ids = arena_.Make(DType::kI64, {6}, {11, 0, 20, 0, 5, 0});
  ids.sizes[0] = 3;
  ids.strides[0] = 2;
  const Tensor target = arena_.Make(DType::kF32, {3, 4}, std::vector<double>(12, 7));
  Op::Find("vocab_parallel_embedding")
      .Run(Arguments(ids, weight), std::array<Tensor, 1>{SliceOf(target, 1, 0, 3)});
  EXPECT_THAT(ValuesOf(target), ElementsAre(6, 8, 10, 7, 24, 26, 28, 7, 0, 0, 0, 7));
}

TEST_F(Embedding, InconsistentShardsAreRefused) {
  const Tensor weight = arena_.Make(DType::kF32, {5, 2});
  const Tensor ids = arena_.Make(DType::kI64, {1}, {21});
  const std::vector<Argument> arguments = Arguments(ids, weight);
  try {
    Op::Find("vocab_parallel_embedding").Run(std::span<const Argument>(arguments));
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(
        e.what(),
        "vocab_parallel_embedding: weight must have more than 5 rows for input_ids, got 5");
  }
}

// `tenon run` judges operators without a body, too.
TEST(Functions, AreTheirOwnReference) {
  for (const char* line :
       {"rope_inv_freq rotary_dim=64 base=10000", "cos_sin_cache half=4 max_position=5 dtype=bf16",
        "prefix_causal_mask batch=2 length=4 dtype=f16",
        "vocab_parallel_embedding rows=12 hidden=8 org_vocab_start_index=0 org_vocab_end_index=3 "
        "num_org_vocab_padding=1 added_vocab_start_index=5 added_vocab_end_index=7"}) {
    CaseSpec spec = ParseCase(line);
    spec.lead = {4};
    Case test(spec);
    Dispatch(test.call(), test.OutputViews());
    EXPECT_EQ(DeviationFromReference(test), "") << line;
    EXPECT_THROW(GeneratedKernel(test.call()), UsageError);
  }
}

TEST(VocabShardIndices, PartsOfAPaddedVocabulary) {
  const Op op = Op::Find("vocab_shard_indices");
  const auto part = [&](int64_t num, int64_t org, int64_t padding, int64_t rank, int64_t ranks) {
    return ValuesOf(op.Run({num, org, padding, rank, ranks})[0].tensor());
  };
  EXPECT_THAT(part(1026, 1010, 64, 0, 2), ElementsAre(0, 512, 0, 1010, 1026, 544));
  EXPECT_THAT(part(1026, 1010, 64, 1, 2), ElementsAre(512, 1010, 14, 1026, 1026, 544));
  EXPECT_THAT(part(100, 100, 64, 0, 1), ElementsAre(0, 100, 28, 100, 100, 128));
  EXPECT_THAT(part(10, 10, 64, 3, 4), ElementsAre(10, 10, 16, 10, 10, 16));
  EXPECT_THROW(part(1026, 1010, 64, 2, 2), UsageError);
  EXPECT_THROW(part(1026, 1010, 64, 0, 7), UsageError);
  EXPECT_THROW(part(1009, 1010, 64, 0, 2), UsageError);
}

TEST(PrefixCausalMask, TypesDecide) {
  Arena arena;
  const Tensor types = arena.Make(DType::kI64, {1, 4}, {0, 1, 0, 1});
  const Op op = Op::Find("prefix_causal_mask");
  const auto seen = [&](const Argument& mask, DType dtype) {
    std::vector<double> values = ValuesOf(op.Run({types, mask, dtype})[0].tensor());
    for (double& value : values) value = value == 0;
    return values;
  };
  for (DType dtype : kStorages) {
    EXPECT_THAT(seen(std::monostate(), dtype),
                ElementsAre(1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1));
    const Tensor kept = arena.Make(DType::kI64, {1, 4}, {1, 1, 0, 1});
    EXPECT_THAT(seen(kept, dtype), ElementsAre(1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1));
  }
  const std::vector<Buffer> f16 = op.Run({types, std::monostate(), DType::kF16});
  EXPECT_EQ(LoadElement(f16[0].tensor().data, DType::kF16, 1), -65504);
  const std::vector<Buffer> bf16 = op.Run({types, std::monostate(), DType::kBF16});
  EXPECT_EQ(LoadElement(bf16[0].tensor().data, DType::kBF16, 1), -0x1.FEp127);
}

}  // namespace
}  // namespace tenon::ops
