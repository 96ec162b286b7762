#include "ops/resolve_cache.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

constexpr std::monostate kNone;

class ResolveCache : public ::testing::Test {
 protected:
  const Resolved& Call(std::string_view op, const std::vector<Argument>& arguments) {
    return ResolveRepeated(FindOperator(op), arguments).call();
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

TEST_F(ResolveCache, ResultsAreCheckedEveryTime) {
  const Tensor x = arena_.Make(DType::kF32, {2, 8});
  const Tensor y = arena_.Make(DType::kF32, {2, 8});
  const Op op = Op::Find("gelu_quick");
  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW(op.Run({x}, {y}));
    EXPECT_THROW(op.Run({x}, {x}), UsageError) << "shares memory";
    EXPECT_THROW(op.Run({x}, {arena_.Make(DType::kBF16, {2, 8})}), UsageError);
    EXPECT_THROW(op.Run({x}, {arena_.Make(DType::kF32, {2, 9})}), UsageError);
    Tensor odd = y;
    odd.data = odd.ptr<char>() + 1;
    EXPECT_THROW(op.Run({x}, {odd}), UsageError);
    odd.data = nullptr;
    EXPECT_THROW(op.Run({x}, {odd}), UsageError);
    EXPECT_THROW(op.Run({x}, {}), UsageError);
  }
}

TEST_F(ResolveCache, ResultsMayLieBetweenTheArgumentsRows) {
  const Tensor packed = arena_.Make(DType::kF32, {2, 24});
  const Tensor x = SliceOf(packed, 1, 0, 8);
  const Op op = Op::Find("gelu_quick");
  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW(op.Run({x}, {SliceOf(packed, 1, 8, 16)}));
    EXPECT_THROW(op.Run({x}, {SliceOf(packed, 1, 7, 15)}), UsageError);
  }
}

TEST_F(ResolveCache, RepeatedCallsReadTheNewElements) {
  // `dtype` casts x first: the copy is that of this call.
  const Op op = Op::Find("softmax_batch_invariant");
  for (float high : {0.0f, 100.0f}) {
    const Tensor x = arena_.Make(DType::kF32, {1, 2});
    x.ptr<float>()[0] = 0.0f;
    x.ptr<float>()[1] = high;
    const Tensor y = arena_.Make(DType::kBF16, {1, 2});
    op.Run({x, int64_t{-1}, DType::kBF16}, {y});
    EXPECT_EQ(ToFloat(y.ptr<BF16>()[1]), high == 0.0f ? 0.5f : 1.0f);
  }
}

TEST_F(ResolveCache, TheCAbiAndCppAgree) {
  const std::vector<int64_t> sizes = {2, 8};
  const Tensor x = arena_.Make(DType::kF32, sizes);
  TenonTensor view{x.data, 1, 0, 2, 2, 32, 1, sizes.data(), nullptr, 0};
  TenonArgument argument{};
  argument.kind = TENON_TENSOR;
  argument.value.tensor = &view;
  const OperatorForm& form = FindOperator("gelu_quick");
  const Resolved* call = &Call("gelu_quick", {x});
  EXPECT_EQ(&ResolveRepeated(form, &argument, 1).call(), call) << "one call, however it is made";
  view.byte_offset = 4;
  EXPECT_EQ(ResolveRepeated(form, &argument, 1).call().inputs[0].tensor.data, x.ptr<char>() + 4);
  const int64_t strides[] = {1, 2};
  view.strides = strides;
  EXPECT_EQ(ResolveRepeated(form, &argument, 1).call().inputs[0].tensor.strides[1], 2);
  view.rank = -1;
  EXPECT_THROW(ResolveRepeated(form, &argument, 1), UsageError);
  EXPECT_THROW(ResolveRepeated(form, &argument, -1), UsageError);
  argument.value.tensor = nullptr;
  EXPECT_THROW(ResolveRepeated(form, &argument, 1), UsageError);
}

TEST_F(ResolveCache, LongWordsAreNotKept) {
  const Tensor x = arena_.Make(DType::kF32, {2, 8});
  const Tensor weight = arena_.Make(DType::kF32, {8});
  const auto act = [&](const std::string& word) {
    Call("rms_norm_gated", {x, weight, x, 1e-5, kNone, kNone, false, word});
  };
  EXPECT_NO_THROW(act("silu"));
  EXPECT_NO_THROW(act("sigmoid"));
  EXPECT_THROW(act(std::string(100000, 's')), UsageError);
  EXPECT_NO_THROW(act("silu"));
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
