// Operators around a matrix product against the float64 reference: sizes around tiles and vectors,
// storage types, layouts, absent and wide biases, empty axes.
#include "base/dtype.h"
#include "base/error.h"
#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/kernel_testing.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

const std::string kProducts[] = {"linear", "linear_act", "linear_act_and_mul", "linear_add"};

class ProductTest : public ::testing::TestWithParam<std::string> {
 protected:
  void Check(CaseSpec spec) {
    SCOPED_TRACE(CaseText(spec));
    Case test(std::move(spec));
    Dispatch(test.call(), test.OutputViews());
    EXPECT_TRUE(test.GuardsIntact()) << "memory outside the tensors was written";
    ExpectMatchesReference(test);
  }

  CaseSpec Spec(int64_t rows, int64_t n, int64_t k, DType storage) const {
    CaseSpec spec;
    spec.op = GetParam();
    spec.lead = {rows};
    spec.sizes = {{"n", n}, {"d", n}, {"k", k}};
    spec.storage = storage;
    spec.param = storage;
    return spec;
  }
  const char* bias() const { return GetParam() == "linear_act_and_mul" ? "gate_up_bias" : "bias"; }
};

INSTANTIATE_TEST_SUITE_P(op, ProductTest, ::testing::ValuesIn(kProducts),
                         [](const auto& test) { return test.param; });

TEST_P(ProductTest, MatchesTheReferenceAtEdges) {
  constexpr int64_t kShapes[][2] = {{1, 1},   {3, 15},  {5, 16},  {31, 17}, {32, 64},
                                    {33, 33}, {50, 31}, {57, 66}, {65, 70}, {97, 128}};
  int number = 0;
  for (const auto& [n, k] : kShapes) {
    for (int64_t rows : {1, 2, 3, 5, 15, 16, 17, 29, 49, 64}) {
      for (DType storage : kStorages) {
        CaseSpec spec = Spec(rows, n, k, storage);
        if (++number % 2) spec.given.insert(bias());
        if (number % 4 == 1) spec.param = DType::kF32;
        Check(spec);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ProductTest, StridesDoNotMatter) {
  for (Layout layout : kLayouts) {
    for (const std::vector<int64_t>& lead :
         {std::vector<int64_t>{}, {4}, {20}, {3, 7}, {2, 1, 3}}) {
      for (DType storage : kStorages) {
        CaseSpec spec = Spec(1, 37, 45, storage);
        spec.lead = lead;
        spec.layout = layout;
        spec.given.insert(bias());
        Check(spec);
      }
    }
  }
}

// So many products that the rows do not fit one block.
TEST_P(ProductTest, BlocksOfRows) { Check(Spec(33, 2, 65'600, DType::kBF16)); }

TEST_P(ProductTest, EveryActivation) {
  const Param* act = FindOperator(GetParam()).op->contract().FindParam("act");
  if (act == nullptr) return;
  constexpr std::pair<int64_t, DType> kCalls[] = {
      {2, DType::kF32}, {30, DType::kF32}, {30, DType::kBF16}};
  for (const std::string& word : ChoiceWords(*act)) {
    for (const auto& [rows, storage] : kCalls) {
      CaseSpec spec = Spec(rows, 33, 8, storage);
      spec.attributes["act"] = word;
      spec.given.insert(bias());
      Check(spec);
    }
  }
}

TEST_P(ProductTest, NothingToAdd) {
  for (int64_t rows : {0, 2, 40}) {
    for (bool with_bias : {false, true}) {
      CaseSpec spec = Spec(rows, 20, 0, DType::kBF16);
      if (with_bias) spec.given.insert(bias());
      Check(spec);
    }
  }
}

TEST(Product, CompositionsMatchTheReference) {
  for (const char* op : {"gated_mlp", "norm_gated_mlp", "qkv_linear", "batch_matmul_transpose"}) {
    for (const CaseSpec& plain : PlainCases(op)) {
      for (int64_t rows : {0, 1, 5, 40}) {
        for (DType storage : kStorages) {
          CaseSpec spec = plain;
          spec.lead = {rows};
          if (spec.sizes.contains("m")) spec.sizes["m"] = rows + 1;
          spec.storage = storage;
          spec.param = rows % 2 ? storage : DType::kF32;
          for (Layout layout : {Layout::kDense, Layout::kLastStride, Layout::kRowGaps}) {
            spec.layout = layout;
            SCOPED_TRACE(CaseText(spec));
            Case test(spec);
            Dispatch(test.call(), test.OutputViews());
            EXPECT_TRUE(test.GuardsIntact());
            ExpectMatchesReference(test);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Product, MatmulMatchesItsFunction) {
  for (const std::vector<int64_t>& lead : {std::vector<int64_t>{}, {3}, {2, 3}}) {
    for (int turned = 0; turned < 4; ++turned) {
      for (DType storage : kStorages) {
        CaseSpec spec;
        spec.op = "matmul";
        spec.lead = lead;
        spec.storage = storage;
        spec.param = DType::kF32;
        spec.attributes["transpose_a"] = turned % 2 != 0;
        spec.attributes["transpose_b"] = turned / 2 != 0;
        spec.sizes = {{"a0", 19}, {"a1", 33}, {"b0", 33}, {"b1", 21}};
        if (turned % 2) std::swap(spec.sizes["a0"], spec.sizes["a1"]);
        if (turned / 2) std::swap(spec.sizes["b0"], spec.sizes["b1"]);
        spec.given.insert("bias");
        SCOPED_TRACE(CaseText(spec));
        Case test(spec);
        Dispatch(test.call(), test.OutputViews());
        ExpectMatchesReference(test);
      }
    }
  }
}

TEST(Product, MergedLinearMatchesItsFunction) {
  for (int64_t rows : {0, 1, 5, 40}) {
    for (DType storage : kStorages) {
      CaseSpec spec;
      spec.op = "merged_linear";
      spec.lead = {rows};
      spec.storage = storage;
      spec.param = rows % 2 ? storage : DType::kF32;
      spec.sizes = {{"n", 24}, {"k", 33}};
      spec.attributes["output_sizes"] = std::vector<int64_t>{7, 0, 1, 16};
      if (rows != 5) spec.given.insert("bias");
      for (Layout layout : {Layout::kDense, Layout::kLastStride, Layout::kRowGaps}) {
        spec.layout = layout;
        SCOPED_TRACE(CaseText(spec));
        Case test(spec);
        Dispatch(test.call(), test.OutputViews());
        EXPECT_TRUE(test.GuardsIntact());
        ExpectMatchesReference(test);
      }
    }
  }
}

struct ConvCase {
  std::vector<int64_t> lead, x,
      kernel;  // x: channels, then sizes; kernel: out channels, then sizes
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

void PrintTo(const ConvCase& c, std::ostream* out) {
  *out << testing::PrintToString(c.x) << testing::PrintToString(c.kernel) << c.groups;
}

class ConvTest : public testing::TestWithParam<ConvCase> {};

TEST_P(ConvTest, MatchesItsFunction) {
  const ConvCase& c = GetParam();
  for (DType storage : kStorages) {
    for (Layout layout : {Layout::kDense, Layout::kLastStride, Layout::kRowGaps}) {
      CaseSpec spec;
      spec.op = "conv3d";
      spec.lead = c.lead;
      spec.storage = storage;
      spec.param = storage;
      spec.layout = layout;
      spec.sizes = {{"channels", c.x[0]},
                    {"depth", c.x[1]},
                    {"height", c.x[2]},
                    {"width", c.x[3]},
                    {"out_channels", c.kernel[0]},
                    {"group_channels", c.x[0] / c.groups},
                    {"kernel_depth", c.kernel[1]},
                    {"kernel_height", c.kernel[2]},
                    {"kernel_width", c.kernel[3]}};
      spec.attributes = {{"stride", c.stride},
                         {"padding", c.padding},
                         {"dilation", c.dilation},
                         {"groups", c.groups}};
      if (layout != Layout::kRowGaps) spec.given.insert("bias");
      SCOPED_TRACE(CaseText(spec));
      Case test(spec);
      Dispatch(test.call(), test.OutputViews());
      EXPECT_TRUE(test.GuardsIntact());
      ExpectMatchesReference(test);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Conv, ConvTest,
    testing::Values(
        // The kernel is all of x: patches of a vision tower.
        ConvCase{{37}, {3, 2, 7, 7}, {12, 2, 7, 7}, {2, 7, 7}, {0, 0, 0}, {1, 1, 1}},
        // Kernel = stride, voxels that fill no kernel.
        ConvCase{{2}, {3, 5, 9, 11}, {8, 2, 4, 3}, {2, 4, 3}, {0, 0, 0}, {1, 1, 1}},
        ConvCase{{}, {4, 6, 7, 8}, {6, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
        ConvCase{{2, 2}, {4, 7, 6, 9}, {6, 2, 3, 2}, {2, 1, 3}, {2, 0, 1}, {2, 1, 3}, 2},
        ConvCase{{3}, {5, 3, 4, 5}, {10, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 5},
        ConvCase{{0}, {2, 3, 3, 3}, {2, 3, 3, 3}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}}));

TEST(DecoderLayer, MatchesItsFunction) {
  int number = 0;
  for (int64_t length : {0, 1, 7, 40}) {
    for (int kv_heads : {1, 2, 4}) {
      for (DType storage : kStorages) {
        CaseSpec spec;
        spec.op = "qwen2_decoder_layer";
        spec.storage = storage;
        spec.param = ++number % 2 ? storage : DType::kF32;
        spec.layout = kLayouts[static_cast<size_t>(number) % 4];
        spec.sizes = {{"batch", 2},
                      {"length", length},
                      {"hidden", 24},
                      {"head_size", 6},
                      {"d", 10},
                      {"num_heads", 4},
                      {"num_kv_heads", kv_heads}};
        if (number % 3 != 0) spec.given = {"attn_mask", "qkv_bias"};
        spec.alternatives = {{"attn_mask", number % 4}, {"cos", number % 2}, {"sin", number % 2}};
        SCOPED_TRACE(CaseText(spec));
        Case test(spec);
        Dispatch(test.call(), test.OutputViews());
        EXPECT_TRUE(test.GuardsIntact());
        ExpectMatchesReference(test);
      }
    }
  }
}

TEST(Product, ATransposedWeightIsRead) {
  for (int64_t rows : {1, 3, 40}) {
    const Buffer x({DType::kF32, {rows, 6}});
    const Buffer w({DType::kF32, {6, 35}});
    const Buffer straight({DType::kF32, {35, 6}});
    for (int64_t i = 0; i < rows * 6; ++i) StoreElement(x.tensor().data, DType::kF32, i, i % 7 - 3);
    for (int64_t i = 0; i < 6 * 35; ++i) {
      StoreElement(w.tensor().data, DType::kF32, i, i % 11 - 5);
      StoreElement(straight.tensor().data, DType::kF32, i % 35 * 6 + i / 35, i % 11 - 5);
    }
    Tensor turned = w.tensor();
    std::swap(turned.sizes[0], turned.sizes[1]);
    std::swap(turned.strides[0], turned.strides[1]);
    const Op op = Op::Find("linear");
    const auto got = op.Run({x.tensor(), turned, {}});
    const auto expected = op.Run({x.tensor(), straight.tensor(), {}});
    EXPECT_EQ(BitsOf(got[0].tensor()), BitsOf(expected[0].tensor()));
  }
}

// A check that lets a wrong result pass is worth nothing.
TEST(Product, AnErrorOfTheSumIsSeen) {
  CaseSpec spec;
  spec.op = "linear";
  spec.lead = {3};
  spec.sizes = {{"n", 5}, {"k", 100}};
  Case test(spec);
  Dispatch(test.call(), test.OutputViews());
  EXPECT_EQ(DeviationFromReference(test), "");
  const Tensor y = test.results()[0];
  StoreElement(y.data, y.dtype, 7, LoadElement(y.data, y.dtype, 7) + 1e-3);
  EXPECT_NE(DeviationFromReference(test), "");
}

}  // namespace
}  // namespace tenon::ops
