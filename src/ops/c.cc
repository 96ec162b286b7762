#include "tenon/c.h"

#include <bit>
#include <iterator>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/registry.h"
#include "tenon/op.h"

using tenon::Argument;
using tenon::DType;
using tenon::Op;
using tenon::Tensor;

// What a TenonOp points to.
struct TenonOp {
  Op op;
  std::string schema;
};

namespace {

thread_local std::string last_error;

enum Status : int { kOk = 0, kRefused = -1, kBroken = -2 };

template <typename Fn>
int Guard(Fn&& fn) {
  try {
    fn();
    return kOk;
  } catch (const tenon::UsageError& e) {
    last_error = e.what();
    return kRefused;
  } catch (const std::exception& e) {
    last_error = e.what();
    return kBroken;
  } catch (...) {
    last_error = "unknown error";
    return kBroken;
  }
}

// DLPack's code and width of an element type.
struct DlType {
  uint8_t code;
  uint8_t bits;
};
constexpr DlType kDlTypes[] = {{2, 32}, {2, 16}, {4, 16}, {10, 8},
                               {0, 8},  {0, 32}, {0, 64}, {6, 8}};

DType ToDType(const TenonTensor& t) {
  for (size_t i = 0; i < std::size(kDlTypes); ++i) {
    if (kDlTypes[i].code == t.dtype_code && kDlTypes[i].bits == t.dtype_bits &&
        t.dtype_lanes == 1) {
      return static_cast<DType>(i);
    }
  }
  throw tenon::UsageError(
      fmt::format("element type with DLPack code {}, {} bits, {} lanes is not "
                  "supported",
                  t.dtype_code, t.dtype_bits, t.dtype_lanes));
}

Tensor ToTensor(const TenonTensor* given) {
  TENON_CHECK(given != nullptr, "a tensor argument is a null pointer");
  TENON_CHECK(given->rank >= 0 && given->rank <= tenon::kMaxRank,
              "a tensor must have at most {} axes, got {}", tenon::kMaxRank, given->rank);
  TENON_CHECK(given->device_type == 1 || given->device_type == 2,
              "a tensor must be on the CPU (1) or a CUDA device (2), got device type {}",
              given->device_type);
  const std::span<const int64_t> sizes(given->sizes, static_cast<size_t>(given->rank));
  Tensor t = tenon::MakeTensor(static_cast<char*>(given->data) + given->byte_offset,
                               ToDType(*given), sizes);
  for (int axis = 0; given->strides != nullptr && axis < t.rank; ++axis) {
    t.strides[axis] = given->strides[axis];
  }
  if (given->data == nullptr) t.data = nullptr;
  t.device = given->device_type == 1 ? tenon::Device::kCpu : tenon::Device::kCuda;
  t.device_index = given->device_index;
  return t;
}

std::string ToString(const char* text) {
  TENON_CHECK(text != nullptr, "a string argument is a null pointer");
  return text;
}

Argument ToArgument(const TenonArgument& given) {
  switch (given.kind) {
    case TENON_NONE:
      return std::monostate();
    case TENON_TENSOR:
      return ToTensor(given.value.tensor);
    case TENON_BOOL:
      return given.value.integer != 0;
    case TENON_INT:
      return given.value.integer;
    case TENON_FLOAT:
      return given.value.real;
    case TENON_STRING:
      return ToString(given.value.string);
    case TENON_DTYPE: {
      const std::string name = ToString(given.value.string);
      const std::optional<DType> dtype = tenon::ParseDType(name);
      TENON_CHECK(dtype.has_value(), "there is no element type {}", name);
      return *dtype;
    }
    case TENON_INT_LIST:
      TENON_CHECK(given.length >= 0 && (given.value.list != nullptr || given.length == 0),
                  "a list argument is a null pointer");
      return std::vector<int64_t>(given.value.list, given.value.list + given.length);
    default:
      throw tenon::UsageError(fmt::format("there is no argument kind {}", given.kind));
  }
}

void CheckOp(const TenonOp* op) { TENON_CHECK(op != nullptr, "the operator is a null pointer"); }

std::vector<Argument> ToArguments(const TenonArgument* arguments, int64_t count) {
  std::vector<Argument> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(ToArgument(arguments[i]));
  return list;
}

const std::vector<std::string>& Names() {
  static const auto* const names = new std::vector<std::string>(Op::Names());
  return *names;
}

const std::map<std::string, TenonOp, std::less<>>& Table() {
  static const auto* const table = [] {
    auto* ops = new std::map<std::string, TenonOp, std::less<>>;
    for (const std::string& name : Names()) {
      const Op op = Op::Find(name);
      ops->emplace(name, TenonOp{op, op.schema()});
    }
    return ops;
  }();
  return *table;
}

}  // namespace

extern "C" {

const char* tenon_version(void) { return TENON_VERSION; }
const char* tenon_last_error(void) { return last_error.c_str(); }

int64_t tenon_num_ops(void) {
  int64_t count = 0;
  const int status = Guard([&] { count = static_cast<int64_t>(Names().size()); });
  return status == kOk ? count : status;
}

const char* tenon_op_name(int64_t number) {
  const char* name = nullptr;
  Guard([&] {
    const auto count = static_cast<int64_t>(Names().size());
    TENON_CHECK(number >= 0 && number < count, "there are {} operators, no number {}", count,
                number);
    name = Names()[static_cast<size_t>(number)].c_str();
  });
  return name;
}

const TenonOp* tenon_find(const char* name) {
  const TenonOp* found = nullptr;
  Guard([&] {
    const std::string wanted = ToString(name);
    const auto it = Table().find(wanted);
    if (it == Table().end()) Op::Find(wanted);  // raises, with the nearest names
    found = &it->second;
  });
  return found;
}

const char* tenon_schema(const TenonOp* op) {
  const int status = Guard([&] { CheckOp(op); });
  return status == kOk ? op->schema.c_str() : nullptr;
}

int64_t tenon_infer(const TenonOp* op, const TenonArgument* arguments, int64_t num_arguments,
                    TenonSpec* results, int64_t capacity) {
  int64_t count = 0;
  const int status = Guard([&] {
    CheckOp(op);
    for (const tenon::TensorSpec& spec : op->op.Infer(ToArguments(arguments, num_arguments))) {
      if (count < capacity) {
        TenonSpec& result = results[count];
        const DlType type = kDlTypes[static_cast<size_t>(spec.dtype)];
        result = {type.code, type.bits, 1, static_cast<int32_t>(spec.shape.size()), {}};
        std::copy(spec.shape.begin(), spec.shape.end(), result.sizes);
      }
      ++count;
    }
  });
  return status == kOk ? count : status;
}

int tenon_call(const TenonOp* op, const TenonArgument* arguments, int64_t num_arguments,
               const TenonTensor* results, int64_t num_results) {
  return Guard([&] {
    CheckOp(op);
    std::vector<Tensor> outputs;
    for (int64_t i = 0; i < num_results; ++i) outputs.push_back(ToTensor(&results[i]));
    op->op.Run(std::span<const Argument>(ToArguments(arguments, num_arguments)), outputs);
  });
}

void tenon_set_parallel_for(TenonParallelFor run) { tenon::SetParallelFor(run); }

}  // extern "C"
