#include "ops/resolve_cache.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/error.h"
#include "ops/arena.h"

namespace tenon::ops {
namespace {

constexpr std::monostate kNone;

class ResolveCache : public ::testing::Test {
 protected:
  const Resolved& Call(std::string_view op, const std::vector<Argument>& arguments) {
    return ResolveRepeated(FindOperator(op), arguments);
  }
  Arena arena_;
};

TEST_F(ResolveCache, RepeatedCallsTakeTheNewPointers) {
  const Tensor first = arena_.Make(DType::kBF16, {2, 8});
  const Tensor second = arena_.Make(DType::kBF16, {2, 8});
  const Resolved* call = &Call("rms_norm", {first, kNone});
  EXPECT_EQ(call->inputs[0].view.data, first.data);
  EXPECT_EQ(&Call("rms_norm", {second, kNone}), call) << "resolved once";
  EXPECT_EQ(call->inputs[0].view.data, second.data);
}

TEST_F(ResolveCache, EverythingElseCounts) {
  const Tensor x = arena_.Make(DType::kF32, {4, 8});
  const auto eps = [&](double value) {
    return std::get<double>(Call("rms_norm", {x, kNone, value}).attributes.at("eps"));
  };
  EXPECT_EQ(eps(1e-5), 1e-5);
  EXPECT_EQ(eps(1e-6), 1e-6);
  EXPECT_EQ(Call("rms_norm", {SliceOf(x, 0, 1, 3), kNone}).sizes.at("tokens"), 2);
  EXPECT_EQ(Call("rms_norm", {x, kNone}).sizes.at("tokens"), 4);
  EXPECT_EQ(Call("rms_norm", {SliceOf(x, 1, 0, 4), kNone}).inputs[0].view.strides[0], 8);
  EXPECT_EQ(Call("gemma_rms_norm", {x, arena_.Make(DType::kF32, {8})}).name(), "gemma_rms_norm");
}

TEST_F(ResolveCache, PointersAreCheckedEveryTime) {
  const Tensor packed = arena_.Make(DType::kBF16, {2, 32});
  const auto call = [&](int64_t x, int64_t residual) {
    Call("fused_add_rms_norm_",
         {SliceOf(packed, 1, x, x + 8), SliceOf(packed, 1, residual, residual + 8), kNone});
  };
  EXPECT_NO_THROW(call(0, 8));
  EXPECT_THROW(call(0, 7), UsageError);
  EXPECT_NO_THROW(call(16, 24));
  Tensor odd = arena_.Make(DType::kBF16, {2, 8});
  EXPECT_NO_THROW(Call("gelu_quick", {odd}));
  odd.data = odd.ptr<char>() + 1;
  EXPECT_THROW(Call("gelu_quick", {odd}), UsageError);
  odd.data = nullptr;
  EXPECT_THROW(Call("gelu_quick", {odd}), UsageError);
  odd.rank = -1;
  EXPECT_THROW(Call("gelu_quick", {odd}), UsageError);
}

TEST_F(ResolveCache, RefusalsAreNotRemembered) {
  const Tensor x = arena_.Make(DType::kF32, {2, 7});
  for (int i = 0; i < 2; ++i) EXPECT_THROW(Call("silu_and_mul", {x}), UsageError);
}

TEST_F(ResolveCache, ThreadsHaveTheirOwn) {
  const Tensor x = arena_.Make(DType::kF32, {2, 8});
  const Resolved* here = &Call("gelu_quick", {x});
  std::thread([&] { EXPECT_NE(&Call("gelu_quick", {x}), here); }).join();
}

}  // namespace
}  // namespace tenon::ops
