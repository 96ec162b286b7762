// The C++ interface and the C ABI, through libtenon.
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tenon/c.h"
#include "tenon/tenon.h"

extern "C" const TenonOp* find_from_c(const char* name);

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor View(std::vector<float>& values, std::vector<int64_t> shape) {
  return MakeTensor(values.data(), DType::kF32, shape);
}

TEST(Cpp, RunsIntoFreshMemory) {
  std::vector<float> x = {3, -3, 4, 4};
  const std::vector<Buffer> y = Op::Find("rms_norm").Run({View(x, {2, 2}), std::monostate(), 0.0});
  ASSERT_EQ(y.size(), 1u);
  const float* values = y[0].tensor().ptr<float>();
  EXPECT_THAT(std::vector<float>(values, values + 4), ElementsAre(1, -1, 1, 1));
}

TEST(Cpp, RunsIntoGivenMemory) {
  std::vector<float> x = {3, -3};
  std::vector<float> y(2);
  Op::Find("rms_norm").Run({View(x, {2}), std::monostate(), 0.0}, {View(y, {2})});
  EXPECT_THAT(y, ElementsAre(1, -1));
}

TEST(Cpp, NamedArguments) {
  const Op op = Op::Find("rms_norm");
  std::vector<float> x = {3, -3};
  const std::vector<std::pair<std::string, Argument>> named = {{"eps", 0.0}, {"x", View(x, {2})}};
  EXPECT_EQ(op.Infer(op.Arrange(named)), std::vector<TensorSpec>({{DType::kF32, {2}}}));
  const std::vector<std::pair<std::string, Argument>> wrong = {{"epsilon", 0.0}};
  try {
    op.Arrange(wrong);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rms_norm: has no argument epsilon; its schema is tenon::"));
  }
}

TEST(Cpp, RefusalsAreUsageErrors) {
  std::vector<float> x(6);
  EXPECT_THROW(Op::Find("silu_and_mul").Run({View(x, {2, 3})}), UsageError);
  EXPECT_THROW(Op::Find("no_such_operator"), UsageError);
}

class CTest : public ::testing::Test {
 protected:
  static TenonTensor Float(float* data, const int64_t* sizes, int rank) {
    return {data, 1, 0, rank, 2, 32, 1, sizes, nullptr, 0};
  }
  static TenonArgument Of(const TenonTensor* tensor) {
    TenonArgument argument{};
    argument.kind = TENON_TENSOR;
    argument.value.tensor = tensor;
    return argument;
  }
};

TEST_F(CTest, ListsOperators) {
  EXPECT_STREQ(tenon_version(), "0.1.0");
  ASSERT_GT(tenon_num_ops(), 18);
  for (int64_t i = 0; i < tenon_num_ops(); ++i) {
    const TenonOp* op = find_from_c(tenon_op_name(i));
    ASSERT_NE(op, nullptr);
    EXPECT_THAT(tenon_schema(op), HasSubstr(tenon_op_name(i)));
  }
  EXPECT_EQ(tenon_op_name(-1), nullptr);
  EXPECT_EQ(tenon_call(nullptr, nullptr, 0, nullptr, 0), -1);
  EXPECT_EQ(tenon_schema(nullptr), nullptr);
  EXPECT_STREQ(tenon_last_error(), "the operator is a null pointer");
  EXPECT_EQ(tenon_find("rms_nrm"), nullptr);
  EXPECT_THAT(tenon_last_error(), HasSubstr("there is no operator rms_nrm; did you mean rms_norm"));
}

TEST_F(CTest, CallsByName) {
  const TenonOp* op = tenon_find("silu_and_mul");
  float x[] = {1, 2, 0, 0, 3, 0.5f};
  const int64_t x_sizes[] = {2, 2};
  const int64_t x_strides[] = {4, 1};
  TenonTensor input = Float(x, x_sizes, 2);
  input.strides = x_strides;
  const TenonArgument arguments[] = {Of(&input)};

  TenonSpec spec;
  ASSERT_EQ(tenon_infer(op, arguments, 1, &spec, 1), 1) << tenon_last_error();
  EXPECT_EQ(spec.rank, 2);
  EXPECT_EQ(spec.sizes[1], 1);
  EXPECT_EQ(spec.dtype_code, 2);

  float y[2] = {};
  const TenonTensor result = Float(y, spec.sizes, spec.rank);
  ASSERT_EQ(tenon_call(op, arguments, 1, &result, 1), 0) << tenon_last_error();
  EXPECT_NEAR(y[0], 2 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(y[1], 1.5 / (1 + std::exp(-3.0)), 1e-6);

  EXPECT_EQ(tenon_call(op, arguments, 1, nullptr, 0), -1);
  EXPECT_STREQ(tenon_last_error(), "silu_and_mul: gives 1 results, got 0 tensors for them");
  input.dtype_lanes = 4;
  EXPECT_EQ(tenon_call(op, arguments, 1, &result, 1), -1);
  EXPECT_THAT(tenon_last_error(), HasSubstr("element type with DLPack code 2, 32 bits, 4 lanes"));
}

std::atomic<int> hook_calls = 0;

void CountingHook(int64_t count, int64_t grain, TenonRangeFn fn, void* context) {
  ++hook_calls;
  for (int64_t begin = 0; begin < count; begin += grain) {
    std::thread([&] { fn(context, begin, std::min(begin + grain, count)); }).join();
  }
}

TEST_F(CTest, RowsGoToTheCallersThreads) {
  std::vector<float> x(64 * 8192, 1.0f);
  std::vector<float> y(64 * 4096);
  const int64_t x_sizes[] = {64, 8192};
  const int64_t y_sizes[] = {64, 4096};
  const TenonTensor input = Float(x.data(), x_sizes, 2);
  const TenonTensor result = Float(y.data(), y_sizes, 2);
  const TenonArgument arguments[] = {Of(&input)};
  tenon_set_parallel_for(CountingHook);
  EXPECT_EQ(tenon_call(tenon_find("silu_and_mul"), arguments, 1, &result, 1), 0);
  tenon_set_parallel_for(nullptr);
  EXPECT_EQ(hook_calls, 1);
  EXPECT_NEAR(y.front(), 0.7310586f, 1e-6);
  EXPECT_EQ(y.front(), y.back());
}

}  // namespace
}  // namespace tenon
