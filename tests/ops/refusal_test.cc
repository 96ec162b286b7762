// Wrong arguments to every operator: each is refused with a sentence that names operator and
// argument. All sentences are in tests/ops/golden/refusals.txt, for review.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/dtype.h"
#include "base/error.h"
#include "golden.h"
#include "ops/kernel_testing.h"

namespace tenon::ops {
namespace {

using ::testing::StartsWith;

class Refusals {
 public:
  explicit Refusals(const std::string& form) : form_(FindOperator(form)) {
    CaseSpec spec = PlainCases(form)[1];  // with every optional tensor
    spec.lead = {3};
    spec.storage = DType::kBF16;
    spec.param = DType::kBF16;
    test_.emplace(spec);
  }

  std::string Text() {
    text_ = form_.name() + "\n";
    const std::deque<Param>& params = form_.op->contract().params();
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].is_tensor) {
        if (test_->call().FindInput(params[i].name)->present) TryTensor(i, params[i]);
      } else {
        TryAttribute(i, params[i]);
      }
    }
    return text_;
  }

 private:
  void Try(size_t number, const Param& param, const Argument& wrong) {
    std::vector<Argument> arguments = test_->arguments();
    arguments[number] = wrong;
    try {
      Resolve(form_, arguments);
    } catch (const UsageError& e) {
      const std::string sentence = e.what();
      EXPECT_THAT(sentence, StartsWith(form_.name() + ": "));
      EXPECT_TRUE(NamesAnArgument(sentence)) << sentence;
      text_ += "  " + sentence.substr(form_.name().size() + 2) + "\n";
      return;
    }
    text_ += "  (" + param.name + " accepted)\n";
  }

  bool NamesAnArgument(const std::string& sentence) const {
    const std::deque<Param>& params = form_.op->contract().params();
    return std::any_of(params.begin(), params.end(), [&](const Param& param) {
      return sentence.find(param.name) != std::string::npos;
    });
  }

  void TryTensor(size_t number, const Param& param) {
    const Tensor right = std::get<Tensor>(test_->arguments()[number]);
    for (int axis = 0; axis < right.rank; ++axis) {
      Tensor wrong = right;
      --wrong.sizes[axis];
      if (wrong.sizes[axis] > 0) Try(number, param, wrong);
    }
    Tensor longer = right;
    longer.sizes[longer.rank] = 2;
    longer.strides[longer.rank++] = 1;
    Try(number, param, longer);
    Tensor wrong_type = right;
    wrong_type.dtype = right.dtype == DType::kI8 ? DType::kF32 : DType::kI8;
    Try(number, param, wrong_type);
    Tensor elsewhere = right;
    elsewhere.device = Device::kCuda;
    Try(number, param, elsewhere);
    if (!param.optional) Try(number, param, std::monostate());
    Try(number, param, int64_t{1});
  }

  void TryAttribute(size_t number, const Param& param) {
    Try(number, param, std::vector<int64_t>{1, 2});
    if (!param.fallback && !param.nullable) Try(number, param, std::monostate());
    switch (param.kind) {
      case AttrKind::kInt:
        Try(number, param, int64_t{-1000});
        Try(number, param, int64_t{1000});
        break;
      case AttrKind::kFloat:
        if (param.positive || param.non_negative) Try(number, param, -0.5);
        break;
      case AttrKind::kString:
        if (!param.choices.empty()) Try(number, param, std::string("relu6"));
        break;
      case AttrKind::kDType:
        Try(number, param, DType::kI64);
        break;
      case AttrKind::kBool:
        break;
      case AttrKind::kIntList:
        Try(number, param, std::vector<int64_t>{1, 1, -1});
        break;
    }
  }

  const OperatorForm& form_;
  std::optional<Case> test_;
  std::string text_;
};

TEST(Refusals, EveryArgumentOfEveryOperator) {
  std::string text;
  for (const std::string& form : OperatorNames()) {
    SCOPED_TRACE(form);
    text += Refusals(form).Text() + "\n";
  }
  ExpectGolden("ops/golden/refusals.txt", text);
}

}  // namespace
}  // namespace tenon::ops
