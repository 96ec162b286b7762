// Products with fixed sums and of quantised operands: kernels against their scalar references bit
// for bit, those against float64, and rows that do not depend on the batch.
#include <gmock/gmock.h>

#include <cmath>

#include "backend/cpu/parallel.h"
#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "ops/case.h"
#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/kernel_testing.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

using ::testing::HasSubstr;

std::string FormOf(const std::string& line) { return line.substr(0, line.find(' ')); }

// Every operator with widths around lanes, chunks and blocks, and rows around tiles and panels.
std::vector<CaseSpec> Cases() {
  std::vector<CaseSpec> specs;
  const auto add = [&](const std::string& line, std::vector<int64_t> lead) {
    CaseSpec spec = ParseCase(line);
    spec.lead = std::move(lead);
    spec.storage = kStorages[specs.size() % 3];
    spec.param = specs.size() % 2 ? spec.storage : DType::kF32;
    specs.push_back(spec);
  };
  for (const auto& [k, n] : std::vector<std::pair<int, int>>{
           {1, 1}, {15, 7}, {16, 49}, {63, 5}, {65, 48}, {1024, 6}, {1041, 13}, {2500, 50}}) {
    for (const std::vector<int64_t>& lead :
         {std::vector<int64_t>{}, {1}, {3}, {2, 3}, {259}, {0}}) {
      const std::string sizes = fmt::format(" k={} n={}", k, n);
      add("linear_batch_invariant" + sizes, lead);
      add("linear_batch_invariant +bias" + sizes, lead);
      add("addmm_batch_invariant alpha=0.75 beta=-1.5" + sizes, lead);
      add("addmm_batch_invariant beta=0.0" + sizes, lead);
      add("w8a8_dynamic_linear +bias" + sizes, lead);
      add("int8_scaled_mm out_dtype=f32" + sizes, lead);
      add("int8_scaled_mm out_dtype=bf16 +bias +x_offset" + sizes, lead);
      add("int8_scaled_mm out_dtype=f16 +x_offset +weight_sum" + sizes, lead);
      add("fp8_scaled_mm out_dtype=bf16 +bias" + sizes, lead);
      for (int m : {1, 5}) {
        if (lead.size() == 1 && lead[0] > 5) continue;
        add(fmt::format("matmul_batch_invariant +bias m={}", m) + sizes, lead);
        add(fmt::format("bmm_batch_invariant batch=3 m={}", m) + sizes, {});
      }
    }
  }
  for (int n : {1, 127, 128, 130}) {
    for (int k : {128, 1152}) {
      for (int64_t m : {1, 3, 35}) {
        add(fmt::format("fp8_blockwise_scaled_mm out_dtype=bf16 k={} n={}", k, n), {m});
      }
    }
  }
  return specs;
}

std::vector<uint8_t> RunKernel(Case& test) {
  Dispatch(test.call(), test.OutputViews());
  EXPECT_TRUE(test.GuardsIntact());
  return BitsOf(test.results()[0]);
}

TEST(Products, KernelsReturnTheBitsOfTheirReferences) {
  int number = 0;
  for (CaseSpec spec : Cases()) {
    spec.layout = kLayouts[static_cast<size_t>(++number) % std::size(kLayouts)];
    Case test(spec);
    RunKernel(test);
    EXPECT_EQ(DeviationFromReference(test), "") << CaseText(spec);
  }
}

// |y - r| <= u |r| + 2^-20 sum |a| |b|
TEST(Products, SumsAreNearFloat64) {
  for (DType dtype : kStorages) {
    const double unit = dtype == DType::kF32 ? 0x1p-23 : dtype == DType::kF16 ? 0x1p-10 : 0x1p-7;
    for (const auto& [k, lead] :
         std::vector<std::pair<int, int64_t>>{{7, 3}, {5000, 2}, {300, 70}}) {
      CaseSpec spec = ParseCase(fmt::format("linear_batch_invariant n=9 k={}", k));
      spec.storage = dtype;
      spec.lead = {lead};
      Case test(spec);
      RunKernel(test);
      const Tensor& x = test.call().inputs[0].view;
      const Tensor& w = test.call().inputs[1].view;
      for (int64_t m = 0; m < lead; ++m) {
        for (int64_t n = 0; n < 9; ++n) {
          double sum = 0;
          double magnitude = 0;
          for (int64_t i = 0; i < k; ++i) {
            const double product =
                LoadElement(x.data, dtype, m * k + i) * LoadElement(w.data, dtype, n * k + i);
            sum += product;
            magnitude += std::abs(product);
          }
          const double y = LoadElement(test.results()[0].data, dtype, m * 9 + n);
          EXPECT_LE(std::abs(y - sum), unit * std::abs(sum) + 0x1p-20 * magnitude);
        }
      }
    }
  }
}

class BatchInvariance : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(op, BatchInvariance,
                         ::testing::Values("linear_batch_invariant +bias k=1100 n=53",
                                           "addmm_batch_invariant beta=0.0 k=200 n=53",
                                           "w8a8_dynamic_linear k=200 n=53",
                                           "int8_scaled_mm out_dtype=bf16 k=200 n=53",
                                           "fp8_scaled_mm out_dtype=bf16 k=200 n=53",
                                           "fp8_blockwise_scaled_mm out_dtype=bf16 k=256 n=53"),
                         [](const auto& test) { return FormOf(test.param); });

TEST_P(BatchInvariance, RowsDoNotDependOnTheirNumber) {
  CaseSpec spec = ParseCase(GetParam());
  spec.storage = DType::kBF16;
  const auto rows = [&](int64_t count) {
    spec.lead = {count};
    Case test(spec);
    return RunKernel(test);
  };
  const std::vector<uint8_t> all = rows(1025);
  for (int64_t count : {1, 2, 63, 64, 65, 255, 256, 257}) {
    const size_t bytes = all.size() / 1025 * static_cast<size_t>(count);
    EXPECT_EQ(rows(count), std::vector<uint8_t>(all.begin(), all.begin() + bytes)) << count;
  }
}

TEST_P(BatchInvariance, ThreadsAndPlacesDoNotMatter) {
  CaseSpec spec = ParseCase(GetParam());
  spec.storage = DType::kBF16;
  spec.lead = {300};
  std::vector<uint8_t> expected;
  for (Layout layout :
       {Layout::kDense, Layout::kMisaligned, Layout::kRowGaps, Layout::kLastStride}) {
    for (int threads : {1, 2, 5}) {
      cpu::SetNumThreads(threads);
      spec.layout = layout;
      Case test(spec);
      const std::vector<uint8_t> bits = RunKernel(test);
      if (expected.empty()) expected = bits;
      EXPECT_EQ(bits, expected) << LayoutName(layout) << ", threads: " << threads;
    }
  }
  cpu::SetNumThreads(0);
}

std::string Refusal(const std::string& line,
                    const std::function<void(std::vector<Argument>&)>& break_it) {
  CaseSpec spec = ParseCase(line);
  spec.lead = {3};
  const Case test(spec);
  std::vector<Argument> arguments = test.arguments();
  break_it(arguments);
  try {
    Op::Find(FormOf(line)).Run(std::span<const Argument>(arguments));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

Tensor& TensorAt(std::vector<Argument>& arguments, size_t i) {
  return std::get<Tensor>(arguments[i]);
}

TEST(Products, RefusedCalls) {
  Arena arena;
  const auto set_size = [](size_t argument, int axis, int64_t size) {
    return [=](std::vector<Argument>& a) { TensorAt(a, argument).sizes[axis] = size; };
  };
  EXPECT_EQ(Refusal("int8_scaled_mm out_dtype=f32 k=131072 n=1", [](auto&) {}),
            "int8_scaled_mm: x must have at most 131071 columns for exact sums, got 131072");
  EXPECT_EQ(Refusal("w8a8_dynamic_linear k=131072 n=1", [](auto&) {}),
            "w8a8_dynamic_linear: x must have at most 131071 columns for exact sums, got 131072");
  EXPECT_EQ(Refusal("fp8_blockwise_scaled_mm out_dtype=f32 k=256 n=1",
                    [](std::vector<Argument>& a) {
                      TensorAt(a, 0).sizes[1] = TensorAt(a, 1).sizes[1] = 192;
                      TensorAt(a, 2).sizes[1] = 1;
                    }),
            "fp8_blockwise_scaled_mm: x's last axis must be a multiple of 128, got 128 and 192");
  EXPECT_EQ(Refusal("fp8_blockwise_scaled_mm out_dtype=f32 k=256 n=130", set_size(3, 0, 1)),
            "fp8_blockwise_scaled_mm: weight_scale must be [2, 2] to fit weight, got [1, 2]");
  EXPECT_THAT(Refusal("fp8_scaled_mm out_dtype=f32 k=4 n=5", set_size(2, 0, 2)),
              HasSubstr("fp8_scaled_mm: x_scale must be "));
  EXPECT_THAT(Refusal("int8_scaled_mm out_dtype=f32 k=4 n=5", set_size(3, 0, 4)),
              HasSubstr("int8_scaled_mm: weight_scale must be "));
  EXPECT_THAT(Refusal("int8_scaled_mm out_dtype=f32 k=4 n=5", set_size(1, 1, 3)),
              HasSubstr("int8_scaled_mm: weight must be [n, 4] like x's last axis, got [5, 3]"));
  EXPECT_THAT(Refusal("bmm_batch_invariant batch=2 m=3 k=4 n=5", set_size(1, 0, 1)),
              HasSubstr("bmm_batch_invariant: b must be [2, 4, n]"));
  EXPECT_THAT(Refusal("matmul_batch_invariant m=3 k=4 n=5", set_size(1, 0, 2)),
              HasSubstr("matmul_batch_invariant: "));
}

TEST(Products, ScalesPerRowAndColumn) {
  Arena arena;
  const Tensor x = arena.Make(DType::kI8, {2, 3}, {1, 2, 3, -128, 0, 127});
  const Tensor w = arena.Make(DType::kI8, {2, 3}, {1, 1, 1, -128, 2, 127});
  const Tensor rows = arena.Make(DType::kF32, {2, 1}, {1, 2});
  const Tensor columns = arena.Make(DType::kF32, {2}, {0.5, 4});
  const auto y = Op::Find("int8_scaled_mm").Run({x, w, rows, columns, {}, DType::kF32});
  EXPECT_THAT(ValuesOf(y[0].tensor()), ::testing::ElementsAre(3, 1028, -1, 8.0 * (16384 + 16129)));
}

TEST(Products, LeadingAxesOfBothMatricesAreJoined) {
  Arena arena;
  const Op op = Op::Find("matmul_batch_invariant");
  const auto shape = [&](std::vector<int64_t> a, std::vector<int64_t> b) {
    return op
        .Infer(std::vector<Argument>{arena.Make(DType::kF32, std::move(a)),
                                     arena.Make(DType::kF32, std::move(b))})[0]
        .shape;
  };
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shape({2, 3}, {3, 4}), (Shape{2, 4}));
  EXPECT_EQ(shape({2, 3}, {5, 3, 4}), (Shape{5, 2, 4}));
  EXPECT_EQ(shape({6, 1, 2, 3}, {5, 3, 4}), (Shape{6, 5, 2, 4}));
  EXPECT_EQ(shape({0, 2, 3}, {3, 4}), (Shape{0, 2, 4}));
  const Tensor a = arena.Make(DType::kF32, {1, 2}, {1, 10});
  const Tensor b = arena.Make(DType::kF32, {2, 2, 1}, {1, 2, 3, 4});
  EXPECT_THAT(ValuesOf(op.Run({a, b})[0].tensor()), ::testing::ElementsAre(21, 43));
}

TEST(Products, SumsOfNothingAreZeros) {
  Arena arena;
  const Tensor x = arena.Make(DType::kF32, {2, 0});
  const Tensor w = arena.Make(DType::kF32, {3, 0});
  const Tensor bias = arena.Make(DType::kF32, {3}, {1, 2, 3});
  const Op op = Op::Find("linear_batch_invariant");
  EXPECT_THAT(ValuesOf(op.Run({x, w})[0].tensor()), ::testing::Each(0));
  EXPECT_THAT(ValuesOf(op.Run({x, w, bias})[0].tensor()), ::testing::ElementsAre(1, 2, 3, 1, 2, 3));
}

// Rows, columns and copies add in the order of the scalar reference.
TEST(Means, KernelsReturnTheBitsOfTheirReference) {
  int number = 0;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {}, {0}, {1}, {700}, {3, 0}, {0, 3}, {130, 5}, {5, 130}, {2, 67, 33}, {2, 3, 1, 65}}) {
    for (int named = 0; named < 1 << shape.size(); ++named) {
      std::vector<int64_t> dim;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (named >> axis & 1) dim.push_back(static_cast<int64_t>(axis));
      }
      for (Layout layout : kLayouts) {
        CaseSpec spec;
        spec.op = "mean_batch_invariant";
        spec.lead = shape;
        spec.storage = kStorages[++number % 3];
        spec.layout = layout;
        spec.attributes = {{"dim", dim}, {"keepdim", number % 2 == 0}};
        SCOPED_TRACE(CaseText(spec));
        Case test(spec);
        RunKernel(test);
        EXPECT_EQ(DeviationFromReference(test), "");
      }
    }
  }
}

}  // namespace
}  // namespace tenon::ops
