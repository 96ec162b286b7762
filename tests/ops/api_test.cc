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
  EXPECT_STREQ(tenon_last_error(),
               "silu_and_mul: x must be f32, f16, bf16, f8e4m3, i8, i32, i64 or bool, got elements "
               "with DLPack code 2, 32 bits, 4 lanes");
  input.dtype_lanes = 1;
  input.dtype_bits = 64;
  EXPECT_EQ(tenon_call(op, arguments, 1, &result, 1), -1);
  EXPECT_THAT(tenon_last_error(), HasSubstr("got f64"));
}

TEST_F(CTest, DescribesOperators) {
  const TenonOp* op = tenon_find("rms_norm");
  TenonParameter parameters[2];
  ASSERT_EQ(tenon_parameters(op, parameters, 2), 6);
  EXPECT_STREQ(parameters[0].name, "x");
  EXPECT_EQ(parameters[0].kind, TENON_TENSOR);
  EXPECT_EQ(parameters[0].nullable, 0);
  EXPECT_STREQ(parameters[1].name, "weight");
  EXPECT_EQ(parameters[1].nullable, 1);
  EXPECT_EQ(tenon_num_results(op), 1);
  EXPECT_STREQ(
      tenon_out_schema(op),
      "tenon::rms_norm.out(Tensor x, Tensor? weight, float eps=1e-6, *, Tensor? "
      "bias=None, int? variance_size=None, float weight_offset=0.0, Tensor(a!) out) -> ()");
  EXPECT_THAT(tenon_out_schema(tenon_find("dynamic_scaled_int8_quant")),
              HasSubstr(".out(Tensor x, *, Tensor(a!) q, Tensor(b!) scale) -> ()"));
  EXPECT_EQ(tenon_num_results(tenon_find("fused_add_rms_norm_")), 0);
  EXPECT_STREQ(tenon_out_schema(tenon_find("fused_add_rms_norm_")), "");
  EXPECT_THAT(tenon_contracts(), HasSubstr("\"name\": \"rms_norm\""));
}

struct Memory {
  std::vector<float> values;
  std::vector<int64_t> sizes;
  int asked = 0;
  int answer = 0;
};

int Give(void* context, int64_t number, const TenonSpec* spec, TenonTensor* result) {
  auto& memory = *static_cast<Memory*>(context);
  EXPECT_EQ(number, memory.asked++);
  memory.sizes.assign(spec->sizes, spec->sizes + spec->rank);
  *result = {memory.values.data(), 1, 0, spec->rank, 2, 32, 1, memory.sizes.data(), nullptr, 0};
  return memory.answer;
}

TEST_F(CTest, AsksForTheMemoryOfResults) {
  const TenonOp* op = tenon_find("silu_and_mul");
  float x[] = {1, 2};
  const int64_t sizes[] = {1, 2};
  TenonTensor input = Float(x, sizes, 2);
  const TenonArgument arguments[] = {Of(&input)};
  Memory memory{{0.0f}, {}, 0, 0};
  ASSERT_EQ(tenon_call_into(op, arguments, 1, Give, &memory), 0) << tenon_last_error();
  EXPECT_THAT(memory.sizes, ElementsAre(1, 1));
  EXPECT_NEAR(memory.values[0], 2 / (1 + std::exp(-1.0)), 1e-6);

  Memory none{{0.0f}, {}, 0, 17};  // the caller has no memory
  EXPECT_EQ(tenon_call_into(op, arguments, 1, Give, &none), 17);
  EXPECT_EQ(none.values[0], 0.0f);

  Memory unused{{0.0f}, {}, 0, 0};
  input.rank = 1;  // [1] has no two halves
  EXPECT_EQ(tenon_call_into(op, arguments, 1, Give, &unused), -1);
  EXPECT_EQ(unused.asked, 0);
}

TEST_F(CTest, TensorsWithoutElementsNeedNoMemory) {
  const int64_t sizes[] = {0, 2};
  const int64_t result_sizes[] = {0, 1};
  const TenonTensor input = Float(nullptr, sizes, 2);
  const TenonTensor result = Float(nullptr, result_sizes, 2);
  const TenonArgument arguments[] = {Of(&input)};
  EXPECT_EQ(tenon_call(tenon_find("silu_and_mul"), arguments, 1, &result, 1), 0)
      << tenon_last_error();
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
