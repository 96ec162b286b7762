// What the quantisations do beyond a row: limits of rows, layouts of scales, whole tensors.
#include <gmock/gmock.h>

#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "ops/check.h"
#include "ops/dispatch.h"
#include "ops/kernel_testing.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

constexpr std::monostate kNone;

class SwigluQuant : public ::testing::Test {
 protected:
  SwigluQuant() : x_(arena_.Make(DType::kBF16, {6, 14})) {
    for (int64_t i = 0; i < x_.numel(); ++i) StoreElement(x_.data, x_.dtype, i, std::sin(i + 1.0));
    all_ = Op::Find("swiglu_quant").Run({x_, kNone, kNone, DType::kI8});
  }

  // Expects that the first `rows` rows are those without a limit, and that no other was written.
  void ExpectRows(const Argument& list, int64_t type, int64_t rows) {
    const Tensor q = arena_.Make(DType::kI8, {6, 7}, std::vector<double>(42, 99));
    const Tensor scale = arena_.Make(DType::kF32, {6}, std::vector<double>(6, 99));
    const Argument arguments[] = {x_, list, type, DType::kI8};
    Op::Find("swiglu_quant").Run(arguments, std::array<Tensor, 2>{q, scale});
    for (int64_t row = 0; row < 6; ++row) {
      const double expected = LoadElement(all_[1].tensor().data, DType::kF32, row);
      EXPECT_EQ(LoadElement(scale.data, DType::kF32, row), row < rows ? expected : 99.0) << row;
      EXPECT_EQ(LoadElement(q.data, DType::kI8, 7 * row + 3),
                row < rows ? LoadElement(all_[0].tensor().data, DType::kI8, 7 * row + 3) : 99.0);
    }
  }

  Arena arena_;
  Tensor x_;
  std::vector<Buffer> all_;
};

TEST_F(SwigluQuant, CountsLimitTheRows) {
  ExpectRows(arena_.Make(DType::kI64, {3}, {1, 0, 3}), 1, 4);
  ExpectRows(arena_.Make(DType::kI32, {2}, {2, 4}), 1, 6);
  ExpectRows(arena_.Make(DType::kI32, {2}, {0, 0}), 1, 0);
}

TEST_F(SwigluQuant, CumulativeSumsLimitTheRows) {
  ExpectRows(arena_.Make(DType::kI64, {3}, {1, 1, 5}), 0, 5);
  ExpectRows(arena_.Make(DType::kI32, {3}, {6, 6, 6}), 0, 6);
}

TEST_F(SwigluQuant, ScalesAreOnePerRow) {
  EXPECT_EQ(all_[1].tensor().rank, 1);
  EXPECT_EQ(all_[1].tensor().sizes[0], 6);
}

TEST_F(SwigluQuant, RefusesMoreRowsThanThereAre) {
  for (const auto& [values, type] : std::vector<std::pair<std::vector<double>, int64_t>>{
           {{4, 3}, 1}, {{0, 7}, 0}, {{-1, 0}, 1}}) {
    try {
      Op::Find("swiglu_quant").Run({x_, arena_.Make(DType::kI64, {2}, values), type, DType::kI8});
      FAIL();
    } catch (const UsageError& e) {
      EXPECT_THAT(
          e.what(),
          ::testing::HasSubstr("swiglu_quant: group_list must count at most the 6 rows of x, got"));
    }
  }
  EXPECT_THROW(Op::Find("swiglu_quant").Run({x_, kNone, int64_t{2}, DType::kI8}), UsageError);
}

TEST(GroupQuant, ColumnMajorScales) {
  Arena arena;
  const Tensor x = arena.Make(DType::kF32, {5, 12});
  for (int64_t i = 0; i < x.numel(); ++i) StoreElement(x.data, x.dtype, i, std::sin(i + 1.0));
  const Op op = Op::Find("per_token_group_quant_fp8");
  const Argument arguments[] = {x, int64_t{4}, false, true};
  EXPECT_EQ(op.Infer(arguments)[1].strides, (std::vector<int64_t>{1, 8}));
  const std::vector<Buffer> columns = op.Run(arguments);
  const std::vector<Buffer> rows = op.Run({x, int64_t{4}});
  EXPECT_EQ(columns[1].tensor().strides[1], 8);
  EXPECT_EQ(BitsOf(columns[0].tensor()), BitsOf(rows[0].tensor()));
  EXPECT_EQ(BitsOf(columns[1].tensor()), BitsOf(rows[1].tensor()));
  EXPECT_THROW(op.Run({x, int64_t{5}}), UsageError) << "12 channels are no groups of 5";
}

// A scale of one element, of none of the axes, and of the row's length with the same number in it
// are the same, whether one or one for each lane reaches the kernel.
TEST(StaticQuant, OneScaleIsThatOfAllElements) {
  constexpr int64_t kHidden = 133;
  Arena arena;
  const Tensor x = arena.Make(DType::kBF16, {5, kHidden});
  for (int64_t i = 0; i < x.numel(); ++i) StoreElement(x.data, x.dtype, i, 5 * std::sin(i + 1.0));
  const Tensor azp = arena.Make(DType::kI32, {1}, {3});
  for (const char* name : {"static_scaled_int8_quant", "static_scaled_fp8_quant"}) {
    const Op op = Op::Find(name);
    const auto bits = [&](std::vector<int64_t> shape, int64_t count, const Argument& offset) {
      const Tensor scale =
          arena.Make(DType::kF32, std::move(shape), std::vector<double>(count, 0.037));
      const bool is_int8 = op.name() == "static_scaled_int8_quant";
      return BitsOf((is_int8 ? op.Run({x, scale, offset}) : op.Run({x, scale}))[0].tensor());
    };
    for (const Argument& offset : {Argument(kNone), Argument(azp)}) {
      const auto all = bits({kHidden}, kHidden, offset);
      EXPECT_EQ(bits({1}, 1, offset), all) << name;
      EXPECT_EQ(bits({}, 1, offset), all) << name;
    }
  }
}

TEST(TensorQuant, MatchesTheReference) {
  for (DType storage : kStorages) {
    for (Layout layout : kLayouts) {
      for (const std::vector<int64_t>& lead :
           {std::vector<int64_t>{}, std::vector<int64_t>{37}, std::vector<int64_t>{3, 5}}) {
        CaseSpec spec = ParseCase("dynamic_scaled_fp8_quant hidden=133");
        spec.storage = storage;
        spec.layout = layout;
        spec.lead = lead;
        Case test(spec);
        Dispatch(test.call(), test.OutputViews());
        EXPECT_EQ(DeviationFromReference(test), "") << CaseText(spec);
        EXPECT_TRUE(test.GuardsIntact());
      }
    }
  }
}

TEST(TensorQuant, SeesEveryElement) {
  Arena arena;
  const Tensor x = arena.Make(DType::kBF16, {700, 129});
  const Op op = Op::Find("dynamic_scaled_fp8_quant");
  for (int64_t at : {int64_t{0}, x.numel() / 2, x.numel() - 1}) {
    StoreElement(x.data, x.dtype, at, -448.0);
    EXPECT_EQ(*op.Run({x})[1].tensor().ptr<float>(), 1.0f) << at;
    StoreElement(x.data, x.dtype, at, 0.0);
  }
  const std::vector<Buffer> empty = op.Run({arena.Make(DType::kBF16, {0, 4})});
  EXPECT_EQ(*empty[1].tensor().ptr<float>(), 1e-10f / 448.0f);
}

}  // namespace
}  // namespace tenon::ops
