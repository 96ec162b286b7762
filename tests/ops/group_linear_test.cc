// Linears whose weights are spread over ranks, against one rank that has all of them.
#include <gmock/gmock.h>

#include "ops/group_testing.h"

namespace tenon::ops {
namespace {

using ::testing::Each;

Tensor Columns(const Tensor& t, int part, int parts) {
  const int64_t width = t.sizes[1] / parts;
  return SliceOf(t, 1, part * width, (part + 1) * width);
}
Tensor Rows(const Tensor& t, int part, int parts) {
  const int64_t rows = t.sizes[0] / parts;
  return SliceOf(t, 0, part * rows, (part + 1) * rows);
}
Values PartOf(const Values& values, int part, int parts) {
  const auto size = static_cast<int64_t>(values.size()) / parts;
  return {values.begin() + part * size, values.begin() + (part + 1) * size};
}

// Small integers: products and sums are exact.
Values Integers(int64_t count, int64_t seed) {
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * 7 + seed * 5) % 9 - 4));
  return values;
}

TEST(GroupOps, LinearsInParts) {
  Arena arena;
  const Tensor x = arena.Make(DType::kF32, {4, 8}, Integers(32, 1));
  const Tensor weight = arena.Make(DType::kF32, {12, 8}, Integers(96, 2));
  const Tensor bias = arena.Make(DType::kF32, {12}, Integers(12, 3));
  const Tensor residual = arena.Make(DType::kF32, {4, 12}, Integers(48, 4));
  const Values y = Call("linear", {x, weight, bias})[0];
  const Tensor sum = arena.Make(DType::kF32, {4, 12}, y);
  const auto normal = Call("fused_add_rms_norm", {sum, residual, {}, 1e-5});
  for (int64_t size : kSizes) {
    const int parts = static_cast<int>(size);
    EXPECT_THAT(Group(parts).Run([&](int rank, Arena& own, const std::string& group) {
      const Tensor rows = Rows(weight, rank, parts);
      const Tensor row_bias = SliceOf(bias, 0, rank * 12 / size, (rank + 1) * 12 / size);
      const Tensor columns = Columns(weight, rank, parts);
      EXPECT_EQ(Call("column_parallel_linear", {x, rows, row_bias, true, size, group})[0], y);
      EXPECT_EQ(Call("column_parallel_linear", {x, rows, row_bias, false, size, group}),
                Call("linear", {x, rows, row_bias}));
      const Tensor tokens = Rows(x, rank, parts);
      EXPECT_EQ(Call("all_gather_linear", {tokens, rows, row_bias, size, group}),
                Call("linear", {x, rows, row_bias}));
      const Tensor part = Columns(x, rank, parts);
      const std::string all = "all_reduce";
      const std::string scatter = "reduce_scatter";
      const std::string none = "none";
      EXPECT_EQ(Call("row_parallel_linear", {part, columns, bias, true, all, size, group})[0], y);
      EXPECT_EQ(Call("row_parallel_linear", {x, columns, bias, false, all, size, group})[0], y);
      EXPECT_EQ(Call("row_parallel_linear", {x, columns, bias, false, scatter, size, group})[0],
                PartOf(y, rank, parts));
      EXPECT_EQ(Call("row_parallel_linear", {x, columns, {}, false, none, size, group}),
                Call("linear", {part, columns}));
      EXPECT_THROW(Call("row_parallel_linear", {x, columns, bias, false, none, size, group}),
                   UsageError);
      EXPECT_EQ(Call("oproj_row_parallel_linear", {tokens, columns, bias, size, group})[0],
                PartOf(y, rank, parts));
      EXPECT_EQ(
          Call("linear_all_reduce_add_rms_norm", {part, columns, bias, residual, {}, 1e-5, group}),
          normal);
      const Tensor none_left = own.Make(DType::kF32, {0, 8});
      EXPECT_EQ(Call("all_gather_linear", {none_left, rows, row_bias, size, group})[0], Values());
    }),
                Each(""));
  }
}

TEST(GroupOps, LogitsOfASharedVocabulary) {
  Arena arena;
  const Tensor hidden = arena.Make(DType::kF32, {4, 8}, Integers(32, 1));
  const Tensor weight = arena.Make(DType::kF32, {12, 8}, Integers(96, 2));
  const Tensor bias = arena.Make(DType::kF32, {12}, Integers(12, 3));
  const std::vector<Buffer> all = Op::Find("linear").Run({hidden, weight, bias});
  const Tensor first = SliceOf(all[0].tensor(), 1, 0, 11);
  Values expected;
  for (int64_t t = 0; t < 4; ++t) {
    for (int64_t i = 0; i < 11; ++i) expected.push_back(first.ptr<float>()[12 * t + i]);
  }
  for (int64_t size : kSizes) {
    const int parts = static_cast<int>(size);
    EXPECT_THAT(Group(parts).Run([&](int rank, Arena&, const std::string& group) {
      const Tensor words = Rows(weight, rank, parts);
      const Tensor word_bias = SliceOf(bias, 0, rank * 12 / size, (rank + 1) * 12 / size);
      const auto logits = [&](const Tensor& tokens, const char* mode) {
        return Call("lm_head_logits",
                    {tokens, words, word_bias, int64_t{11}, std::string(mode), size, group})[0];
      };
      EXPECT_EQ(logits(hidden, "all_gather"), expected);
      EXPECT_EQ(logits(Rows(hidden, rank, parts), "all_to_all"), PartOf(expected, rank, parts));
      EXPECT_EQ(logits(hidden, "none"), Call("linear", {hidden, words, word_bias})[0]);
    }),
                Each(""));
  }
}

// 4 groups of 2 heads; their weights are spread over the ranks.
TEST(GroupOps, ProjectionOfGroupsOfHeads) {
  Arena arena;
  const Tensor o = arena.Make(DType::kF32, {4, 8, 4}, Integers(128, 1));
  const Tensor wo_a = arena.Make(DType::kF32, {4, 3, 8}, Integers(96, 2));
  const Tensor wo_b = arena.Make(DType::kF32, {5, 12}, Integers(60, 3));
  const Tensor table = arena.Make(DType::kF32, {3, 2}, {1, 0, 0, 1, 0, -1});  // exact rotations
  const Tensor positions = arena.Make(DType::kI64, {4}, {2, 0, 1, 1});
  const Values y = Call("dsv4_o_proj", {o, wo_a, wo_b, table, positions})[0];
  // By hand, without ranks: o[t, h, 2:] turns by -90 degrees at position 1.
  Values expected;
  for (int64_t t = 0; t < 4; ++t) {
    Values turned;
    const int64_t position = positions.ptr<int64_t>()[t];
    const double c = table.ptr<float>()[2 * position];
    const double s = table.ptr<float>()[2 * position + 1];
    for (int64_t h = 0; h < 8; ++h) {
      const float* head = o.ptr<float>() + (t * 8 + h) * 4;
      turned.insert(turned.end(),
                    {head[0], head[1], head[2] * c + head[3] * s, head[3] * c - head[2] * s});
    }
    for (int64_t n = 0; n < 5; ++n) {
      double sum = 0;
      for (int64_t z = 0; z < 12; ++z) {
        double low = 0;
        for (int64_t i = 0; i < 8; ++i) {
          low += turned[static_cast<size_t>(z / 3 * 8 + i)] * wo_a.ptr<float>()[z * 8 + i];
        }
        sum += low * wo_b.ptr<float>()[n * 12 + z];
      }
      expected.push_back(sum);
    }
  }
  EXPECT_EQ(y, expected);
  for (int64_t size : kSizes) {
    const int parts = static_cast<int>(size);
    EXPECT_THAT(Group(parts).Run([&](int rank, Arena&, const std::string& group) {
      const Tensor a = Rows(wo_a, rank, parts);
      const Tensor b = Columns(wo_b, rank, parts);
      EXPECT_EQ(Call("dsv4_o_proj",
                     {Columns(o, rank, parts), a, b, table, positions, false, size, group})[0],
                y);
      EXPECT_EQ(Call("dsv4_o_proj", {Rows(o, rank, parts), a, b, table,
                                     SliceOf(positions, 0, rank * 4 / size, (rank + 1) * 4 / size),
                                     true, size, group})[0],
                PartOf(y, rank, parts));
    }),
                Each(""));
  }
  EXPECT_THROW(Call("dsv4_o_proj", {o, wo_a, wo_b, table}), UsageError);
}

}  // namespace
}  // namespace tenon::ops
