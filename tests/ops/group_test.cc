// Operators on several ranks, against one rank that has everything.
#include <gmock/gmock.h>

#include <algorithm>

#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/group_testing.h"
#include "ops/kernel_testing.h"

namespace tenon::ops {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The sum over ranks of Sample(count, rank).
Values SampleSum(int64_t count, int ranks) {
  Values sum = Sample(count, 0);
  for (int rank = 1; rank < ranks; ++rank) {
    const Values term = Sample(count, rank);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
  }
  return sum;
}

TEST(GroupOps, NormsOfSums) {
  for (int size : kSizes) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      Arena arena;
      const Tensor sum = arena.Make(dtype, {3, 40}, SampleSum(120, size));
      const Tensor residual = arena.Make(dtype, {3, 40}, Sample(120, 50));
      const Tensor weight = arena.Make(DType::kF32, {40}, Sample(40, 60));
      const auto normal = Call("rms_norm", {sum, weight, 1e-5, {}, {}, 1.0});
      const auto added = Call("fused_add_rms_norm", {sum, residual, weight, 1e-5, {}, 1.0});
      EXPECT_THAT(Group(size).Run([&](int rank, Arena& own, const std::string& group) {
        const Tensor x = own.Make(dtype, {3, 40}, Sample(120, rank));
        EXPECT_EQ(Call("all_reduce", {x, group})[0], ValuesOf(sum));
        EXPECT_EQ(Call("all_reduce_batch_invariant", {x, group})[0], ValuesOf(sum));
        const auto y = Call("all_reduce_rms_norm", {x, weight, 1e-5, group, 1.0});
        EXPECT_EQ(y[0], normal[0]);
        EXPECT_EQ(y[1], ValuesOf(sum));
        EXPECT_EQ(Call("all_reduce_add_rms_norm", {x, residual, weight, 1e-5, group, 1.0}), added);
      }),
                  Each(""));
    }
  }
}

// x[rank][i][j][k] along each axis; what is scattered and gathered comes together again.
TEST(GroupOps, AnyAxis) {
  for (int size : kSizes) {
    EXPECT_THAT(Group(size).Run([&](int rank, Arena& own, const std::string& group) {
      for (int64_t dim : {0, 1, 2, -1, -3}) {
        const Tensor x = own.Make(DType::kF32, {4, 8, 4}, Sample(128, rank));
        const std::vector<Buffer> part =
            Op::Find("reduce_scatter").Run({x, dim, int64_t{size}, group});
        EXPECT_EQ(part[0].tensor().size(static_cast<int>(dim)) * size,
                  x.size(static_cast<int>(dim)));
        EXPECT_EQ(Call("all_gather", {part[0].tensor(), dim, int64_t{size}, group})[0],
                  SampleSum(128, size));
      }
      // A view whose rows have gaps.
      Tensor wide = own.Make(DType::kF32, {2, 3}, {1.0 + rank, 2, 0, 3, 4.0 + rank, 0});
      wide = SliceOf(wide, 1, 0, 2);
      const Values gathered = Call("all_gather", {wide, int64_t{0}, int64_t{size}, group})[0];
      for (int from = 0; from < size; ++from) {
        const auto at = gathered.begin() + 4 * from;
        EXPECT_THAT(Values(at, at + 4), ElementsAre(1 + from, 2, 3, 4 + from));
      }
      const Tensor none = own.Make(DType::kF32, {0, 3});
      EXPECT_EQ(Call("all_gather", {none, int64_t{0}, int64_t{size}, group})[0], Values());
    }),
                Each(""));
  }
}

TEST(GroupOps, BlocksChangePlaces) {
  for (int size : kSizes) {
    EXPECT_THAT(Group(size).Run([&](int rank, Arena& own, const std::string& group) {
      Values sent;
      for (int to = 0; to < size; ++to) sent.insert(sent.end(), {10.0 * rank + to, 0.5});
      const Tensor x = own.Make(DType::kBF16, {size, 2}, sent);
      const Values y = Call("all_to_all", {x, int64_t{size}, group})[0];
      const Values words = Call("lmhead_all_to_all", {x, int64_t{size}, group})[0];
      EXPECT_EQ(words, y);  // one token a rank: [1, size*2]
      for (int from = 0; from < size; ++from) {
        EXPECT_EQ(y[static_cast<size_t>(2 * from)], 10 * from + rank);
      }
    }),
                Each(""));
  }
}

// Numbers of tokens differ between ranks, down to none.
TEST(GroupOps, EmbeddingOfRaggedTokens) {
  for (int size : kSizes) {
    const int64_t rows = 16 / size;
    EXPECT_THAT(Group(size).Run([&](int rank, Arena& own, const std::string& group) {
      Values values;
      for (int64_t i = 0; i < rows; ++i)
        values.push_back(100.0 + static_cast<double>(rank * rows + i));
      const Tensor weight = own.Make(DType::kF32, {rows, 1}, values);
      Values ids;
      for (int i = 0; i < 3 - std::min(rank, 3); ++i) ids.push_back(5 * i + rank);
      const Tensor input = own.Make(DType::kI64, {static_cast<int64_t>(ids.size())}, ids);
      const std::vector<int64_t> shard = {rank * rows, (rank + 1) * rows, 0, 16, 16, rows};
      const Values y =
          Call("embedding_tp", {input, weight, shard, int64_t{3}, int64_t{size}, group})[0];
      for (double& id : ids) id += 100;
      EXPECT_EQ(y, ids);
    }),
                Each(""));
  }
}

// Each rank has tokens of its own number; with twice as many ranks as shards each rank has half of
// a padded shard.
TEST(GroupOps, RaggedTokensComeAndGo) {
  constexpr int64_t kPadded = 4;
  for (int size : kSizes) {
    for (int shards : {size, size / 2}) {
      std::vector<int64_t> sizes;
      for (int s = 0; s < shards; ++s) sizes.push_back(4 - s);
      Values all;
      for (size_t s = 0; s < sizes.size(); ++s) {
        for (int64_t i = 0; i < 3 * sizes[s]; ++i)
          all.push_back(ValueAt(50 * static_cast<int64_t>(s) + i));
      }
      EXPECT_THAT(Group(size).Run([&](int rank, Arena& own, const std::string& group) {
        const int64_t part = kPadded * shards / size;  // padded rows of a rank
        const int64_t first = rank * part % kPadded;
        const int64_t shard = rank * part / kPadded;
        const int64_t rows =
            std::clamp<int64_t>(sizes[static_cast<size_t>(shard)] - first, 0, part);
        Values mine;
        for (int64_t i = 0; i < 3 * rows; ++i) mine.push_back(ValueAt(50 * shard + 3 * first + i));
        const Tensor x = own.Make(DType::kF32, {rows, 3}, mine);
        const Argument padded = kPadded;
        const Argument ranks = int64_t{size};
        EXPECT_EQ(Call("maybe_all_gather_and_maybe_unpad", {x, sizes, padded, ranks, group})[0],
                  all);
        const Tensor y = own.Make(DType::kF32, {static_cast<int64_t>(all.size()) / 3, 3}, all);
        const Values back = Call("maybe_pad_and_reduce", {y, sizes, padded, ranks, group})[0];
        Values expected = mine;  // the sum of `size` equal ones; padded where shards are shared
        for (double& value : expected) value *= size;
        if (shards != size) expected.resize(static_cast<size_t>(3 * part), 0.0);
        EXPECT_EQ(back, expected);
      }),
                  Each(""));
    }
  }
}

TEST(GroupOps, WithoutShardsRowsAreGatheredAndScattered) {
  for (int64_t size : kSizes) {
    const int ranks = static_cast<int>(size);
    EXPECT_THAT(Group(ranks).Run([&](int rank, Arena& own, const std::string& group) {
      const Tensor x = own.Make(DType::kF32, {1, 2}, {1.0 + rank, 5});
      const std::vector<int64_t> none;
      const auto all =
          Op::Find("maybe_all_gather_and_maybe_unpad").Run({x, none, int64_t{0}, size, group});
      Values expected;
      for (int from = 0; from < ranks; ++from) expected.insert(expected.end(), {1.0 + from, 5});
      EXPECT_EQ(ValuesOf(all[0].tensor()), expected);
      EXPECT_THAT(Call("maybe_pad_and_reduce", {all[0].tensor(), none, int64_t{0}, size, group})[0],
                  ElementsAre((1.0 + rank) * ranks, 5.0 * ranks));
    }),
                Each(""));
  }
}

TEST(GroupOps, NormOverHeadsOfAllRanks) {
  constexpr int64_t kTokens = 3;
  constexpr int64_t kHead = 8;
  for (int size : kSizes) {
    // q of the whole model is 4 heads, k and v are `size` heads each.
    const int64_t heads = 4 / size;
    const auto q_at = [](int64_t t, int64_t i) { return ValueAt(100 * t + i); };
    Arena arena;
    std::vector<double> all;
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t i = 0; i < 4 * kHead; ++i) all.push_back(q_at(t, i));
    }
    const Tensor q = arena.Make(DType::kF32, {kTokens, 4 * kHead}, all);
    const Tensor weight = arena.Make(DType::kF32, {4 * kHead}, Sample(4 * kHead, 7));
    const Tensor table = arena.Make(
        DType::kF32, {5, 4}, {1, 1, 0, 0, .5, .25, .5, 1, 0, 1, 1, 0, 1, 0, 1, 0, .5, .5, .5, .5});
    const Tensor positions = arena.Make(DType::kI64, {kTokens}, {4, 1, 1});
    const std::vector<Buffer> normal = Op::Find("rms_norm").Run({q, weight, 1e-6});
    const Values expected =
        Call("rotary_embedding", {positions, normal[0].tensor(), {}, kHead, table})[0];
    EXPECT_THAT(Group(size).Run([&](int rank, Arena& own, const std::string& group) {
      Values mine;
      for (int64_t t = 0; t < kTokens; ++t) {
        for (int64_t i = 0; i < heads * kHead; ++i)
          mine.push_back(q_at(t, rank * heads * kHead + i));
        for (int64_t i = 0; i < 2 * kHead; ++i) mine.push_back(i);
      }
      const Tensor qkv = own.Make(DType::kF32, {kTokens, (heads + 2) * kHead}, mine);
      const Tensor k_weight = own.Make(DType::kF32, {kHead}, Values(kHead, 1.0));
      const auto y = Call("split_qkv_tp_rmsnorm_rope",
                          {qkv, table, positions,
                           SliceOf(weight, 0, rank * heads * kHead, (rank + 1) * heads * kHead),
                           k_weight, heads, int64_t{1}, kHead, 1e-6, group});
      for (int64_t t = 0; t < kTokens; ++t) {
        for (int64_t i = 0; i < heads * kHead; ++i) {
          const double wanted =
              expected[static_cast<size_t>(t * 4 * kHead + rank * heads * kHead + i)];
          EXPECT_NEAR(y[0][static_cast<size_t>(t * heads * kHead + i)], wanted,
                      1e-5 + 1e-5 * std::abs(wanted));
        }
        EXPECT_EQ(y[2][static_cast<size_t>(t * kHead + 3)], kHead + 3);
      }
    }),
                Each(""));
  }
}

TEST(GroupOps, WhatIsRefused) {
  const int size = kSizes[0];
  Group group(size);
  EXPECT_THAT(group.Run([](int rank, Arena& own, const std::string& name) {
    const Tensor x = own.Make(DType::kF32, {2, 3 + rank});
    Op::Find("all_reduce").Run({x, name});
  }),
              Each("all_reduce: the ranks of the group do not agree: rank 0 calls all_reduce of 6 "
                   "f32, rank 1 calls all_reduce of 8 f32"));
  EXPECT_THAT(group.Run([](int, Arena& own, const std::string& name) {
    const Tensor x = own.Make(DType::kF32, {4, 3});
    Op::Find("all_gather").Run({x, int64_t{0}, int64_t{3}, name});
  }),
              Each(HasSubstr(fmt::format(
                  "world_size must be {}, the number of ranks of group \"group_test", size))));
  EXPECT_THAT(group.Run([](int, Arena& own, const std::string&) {
    const Tensor x = own.Make(DType::kF32, {4, 3});
    Op::Find("all_reduce").Run({x, std::string("nobody")});
  }),
              Each(HasSubstr("all_reduce: there is no group nobody")));
}

// `tenon run` has one rank.
TEST(GroupOps, OneRankIsTheGroupWithoutAName) {
  for (const char* line :
       {"all_reduce group_name=", "all_gather size=5 dim=1 world_size=1 group_name=",
        "reduce_scatter size=5 dim=0 world_size=1 group_name=",
        "all_to_all rows=6 world_size=1 group_name=",
        "all_reduce_rms_norm hidden=9 eps=1e-5 group_name= +weight",
        "all_reduce_add_rms_norm hidden=9 eps=1e-5 group_name=",
        "lmhead_all_to_all rows=3 words=5 world_size=1 group_name="}) {
    CaseSpec spec = ParseCase(line);
    spec.lead = {4};
    Case test(spec);
    Dispatch(test.call(), test.OutputViews());
    EXPECT_EQ(DeviationFromReference(test), "") << line;
    EXPECT_TRUE(test.GuardsIntact()) << line;
  }
}

}  // namespace
}  // namespace tenon::ops
