#include "ops/argument_text.h"

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"

namespace tenon::ops {

std::string ArgumentText(const Argument& argument) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(const Tensor& t) const {
      return fmt::format("a tensor {}{}", DTypeName(t.dtype), ShapeText(t.shape()));
    }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return '"' + v + '"'; }
    std::string operator()(DType v) const { return std::string(DTypeName(v)); }
    std::string operator()(const std::vector<int64_t>& v) const { return ShapeText(v); }
  };
  return std::visit(Visitor{}, argument);
}

std::string_view ExpectedKind(const Param& param) {
  if (param.is_tensor) return "a tensor";
  switch (param.kind) {
    case AttrKind::kBool:
      return "a bool";
    case AttrKind::kInt:
      return "an int";
    case AttrKind::kFloat:
      return "a float";
    case AttrKind::kString:
      return "a string";
    case AttrKind::kDType:
      return "a dtype";
    case AttrKind::kIntList:
      return "a list of ints";
  }
  throw InternalError(__FILE__, __LINE__, "unknown attribute kind");
}

}  // namespace tenon::ops
