#include "ops/c_values.h"

#include <algorithm>
#include <iterator>

#include "base/dtype.h"
#include "base/error.h"

namespace tenon::ops {
namespace {

// DLPack's code and width of an element type.
struct DlType {
  uint8_t code;
  uint8_t bits;
};
// In the order of DType.
constexpr DlType kDlTypes[] = {{2, 32}, {2, 16}, {4, 16}, {10, 8},
                               {0, 8},  {0, 32}, {0, 64}, {6, 8}};

// "f64", "u8", "complex64"; DLPack's code for those that have no short name.
std::string DlName(const TenonTensor& t) {
  const int bits = t.dtype_bits;
  if (t.dtype_lanes == 1) {
    if (t.dtype_code == 0) return fmt::format("i{}", bits);
    if (t.dtype_code == 1) return fmt::format("u{}", bits);
    if (t.dtype_code == 2) return fmt::format("f{}", bits);
    if (t.dtype_code == 5) return fmt::format("complex{}", bits);
  }
  return fmt::format("elements with DLPack code {}, {} bits, {} lanes", t.dtype_code, bits,
                     t.dtype_lanes);
}

Argument ToArgument(const TenonArgument& given, const std::string& op, const Param& param) {
  const auto text = [&] {
    TENON_CHECK(given.value.string != nullptr, "{}: {} is a null pointer", op, param.name);
    return std::string(given.value.string);
  };
  switch (given.kind) {
    case TENON_NONE:
      return std::monostate();
    case TENON_TENSOR: {
      Tensor tensor;
      SetTensor(tensor, given.value.tensor, op, param.name);
      return tensor;
    }
    case TENON_BOOL:
      return given.value.integer != 0;
    case TENON_INT:
      return given.value.integer;
    case TENON_FLOAT:
      return given.value.real;
    case TENON_STRING:
      return text();
    case TENON_DTYPE: {
      std::string word = text();
      if (const std::optional<DType> dtype = ParseDType(word)) return *dtype;
      return word;  // refused by the contract, with the choices
    }
    case TENON_INT_LIST:
      TENON_CHECK(given.length >= 0 && (given.value.list != nullptr || given.length == 0),
                  "{}: {} is a null pointer", op, param.name);
      return std::vector<int64_t>(given.value.list, given.value.list + given.length);
    default:
      throw UsageError(
          fmt::format("{}: {}: there is no argument kind {}", op, param.name, given.kind));
  }
}

}  // namespace

std::optional<DType> FindDType(const TenonTensor& t) {
  if (t.dtype_lanes != 1) return std::nullopt;
  for (size_t i = 0; i < std::size(kDlTypes); ++i) {
    if (kDlTypes[i].code == t.dtype_code && kDlTypes[i].bits == t.dtype_bits) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

void SetTensor(Tensor& t, const TenonTensor* given, std::string_view op, std::string_view name) {
  TENON_CHECK(given != nullptr, "{}: {} is a null pointer", op, name);
  TENON_CHECK(given->rank >= 0 && given->rank <= kMaxRank,
              "{}: {} must have at most {} axes, got {}", op, name, kMaxRank, given->rank);
  TENON_CHECK(given->device_type == 1 || given->device_type == 2,
              "{}: {} must be on the CPU (1) or a CUDA device (2), got device type {}", op, name,
              given->device_type);
  const std::optional<DType> dtype = FindDType(*given);
  TENON_CHECK(dtype.has_value(),
              "{}: {} must be f32, f16, bf16, f8e4m3, i8, i32, i64 or bool, got {}", op, name,
              DlName(*given));
  t.dtype = *dtype;
  t.device = given->device_type == 1 ? Device::kCpu : Device::kCuda;
  t.device_index = given->device_index;
  t.rank = given->rank;
  t.data = DataOf(*given);
  int64_t dense = 1;
  for (int axis = t.rank - 1; axis >= 0; --axis) {
    t.sizes[axis] = given->sizes[axis];
    t.strides[axis] = given->strides != nullptr ? given->strides[axis] : dense;
    dense *= t.sizes[axis];
  }
}

TenonSpec ToSpec(const TensorSpec& spec) {
  const DlType type = kDlTypes[static_cast<size_t>(spec.dtype)];
  TenonSpec result{type.code, type.bits, 1, static_cast<int32_t>(spec.shape.size()), {}, {}};
  std::copy(spec.shape.begin(), spec.shape.end(), result.sizes);
  std::copy(spec.strides.begin(), spec.strides.end(), result.strides);
  int64_t dense = 1;
  for (int axis = result.rank - 1; axis >= 0 && spec.strides.empty(); --axis) {
    result.strides[axis] = dense;
    dense *= std::max<int64_t>(result.sizes[axis], 1);
  }
  return result;
}

TenonKind KindOf(const Param& param) {
  if (param.is_tensor) return TENON_TENSOR;
  switch (param.kind) {
    case AttrKind::kBool:
      return TENON_BOOL;
    case AttrKind::kInt:
      return TENON_INT;
    case AttrKind::kFloat:
      return TENON_FLOAT;
    case AttrKind::kString:
      return TENON_STRING;
    case AttrKind::kIntList:
      return TENON_INT_LIST;
    case AttrKind::kDType:
      return TENON_DTYPE;
  }
  throw InternalError(__FILE__, __LINE__, "unknown attribute kind");
}

std::vector<Argument> ToArguments(const OperatorForm& form, const TenonArgument* given,
                                  int64_t count) {
  const std::deque<Param>& params = form.op->contract().params();
  TENON_CHECK(count >= 0 && static_cast<size_t>(count) <= params.size(),
              "{}: takes at most {} arguments, got {}", form.name(), params.size(), count);
  std::vector<Argument> arguments;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    arguments.push_back(ToArgument(given[i], form.name(), params[i]));
  }
  return arguments;
}

}  // namespace tenon::ops
