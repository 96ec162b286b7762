#include "ops/alias.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ops/arena.h"

namespace tenon::ops {
namespace {

TEST(Alias, SlicesOfOnePackedRow) {
  Arena arena;
  const Tensor packed = arena.Make(DType::kBF16, {4096, 6144});
  const Tensor q = SliceOf(packed, 1, 0, 4096);
  const Tensor k = SliceOf(packed, 1, 4096, 5120);
  EXPECT_FALSE(ShareMemory(q, k));
  EXPECT_TRUE(ShareMemory(q, SliceOf(packed, 1, 4095, 5120)));
  EXPECT_TRUE(ShareMemory(q, q));
  EXPECT_FALSE(ShareMemory(SliceOf(packed, 0, 0, 7), SliceOf(packed, 0, 7, 9)));
}

TEST(Alias, InterleavedColumns) {
  Arena arena;
  const Tensor packed = arena.Make(DType::kF32, {8, 6});
  Tensor even = packed;
  even.sizes[1] = 3;
  even.strides[1] = 2;
  Tensor odd = even;
  odd.data = packed.ptr<float>() + 1;
  EXPECT_FALSE(ShareMemory(even, odd));
  odd.sizes[1] = 1;
  odd.data = packed.ptr<float>() + 4;
  EXPECT_TRUE(ShareMemory(even, odd));
}

TEST(Alias, OverlapsItself) {
  Arena arena;
  Tensor t = arena.Make(DType::kF32, {3, 4});
  EXPECT_FALSE(OverlapsItself(t));
  t.strides[0] = 0;
  EXPECT_TRUE(OverlapsItself(t));
  t.strides[0] = 3;
  EXPECT_TRUE(OverlapsItself(t));
  t.sizes[0] = 1;
  EXPECT_FALSE(OverlapsItself(t));
}

std::set<int64_t> Bytes(const Tensor& t) {
  std::set<int64_t> bytes;
  for (int64_t i = 0; i < t.sizes[0]; ++i) {
    for (int64_t j = 0; j < t.sizes[1]; ++j) {
      const int64_t start = reinterpret_cast<int64_t>(t.data) +
                            (i * t.strides[0] + j * t.strides[1]) * ItemSize(t.dtype);
      for (int64_t b = 0; b < ItemSize(t.dtype); ++b) bytes.insert(start + b);
    }
  }
  return bytes;
}

// Against the sets of bytes, over every kind of small layout.
TEST(Alias, AgreesWithEnumeration) {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<char> memory(4096);
  const auto view = [&] {
    const DType dtype = draw(0, 1) ? DType::kF32 : DType::kBF16;
    const int64_t shape[] = {draw(0, 4), draw(1, 4)};
    Tensor t = MakeTensor(memory.data() + 1024 + 4 * draw(0, 20), dtype, shape);
    t.strides[0] = draw(-9, 12);
    t.strides[1] = draw(-3, 5);
    return t;
  };
  int shared = 0;
  for (int i = 0; i < 3000; ++i) {
    const Tensor a = view();
    const Tensor b = view();
    const std::set<int64_t> in_a = Bytes(a);
    bool expected = false;
    for (int64_t byte : Bytes(b)) expected = expected || in_a.contains(byte);
    EXPECT_EQ(ShareMemory(a, b), expected);
    shared += expected;
    const bool distinct = static_cast<int64_t>(in_a.size()) == a.numel() * ItemSize(a.dtype);
    EXPECT_TRUE(distinct || OverlapsItself(a));
  }
  EXPECT_GT(shared, 500);
  EXPECT_LT(shared, 2500);
}

}  // namespace
}  // namespace tenon::ops
