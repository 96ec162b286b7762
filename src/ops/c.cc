#include "tenon/c.h"

#include <algorithm>

#include "backend/comm/transport_group.h"
#include "base/error.h"
#include "ops/c_values.h"
#include "ops/contract_json.h"
#include "ops/registry.h"
#include "ops/resolve_cache.h"
#include "tenon/comm.h"
#include "tenon/op.h"

using tenon::Op;
using tenon::Tensor;

// What a TenonOp points to.
struct TenonOp {
  Op op;
  const tenon::ops::OperatorForm* form;
  std::string schema;
  std::string out_schema;

  const tenon::ops::Contract& contract() const { return form->op->contract(); }
  // A list of results has one name.
  const char* ResultName(size_t number) const {
    const auto& outs = contract().outs();
    return outs.empty() ? "result" : outs[std::min(number, outs.size() - 1)].name.c_str();
  }
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

void CheckOp(const TenonOp* op) { TENON_CHECK(op != nullptr, "the operator is a null pointer"); }

const std::vector<std::string>& Names() {
  static const auto* const names = new std::vector<std::string>(Op::Names());
  return *names;
}

const std::map<std::string, TenonOp, std::less<>>& Table() {
  static const auto* const table = [] {
    auto* ops = new std::map<std::string, TenonOp, std::less<>>;
    for (const std::string& name : Names()) {
      const Op op = Op::Find(name);
      const tenon::ops::OperatorForm& form = tenon::ops::FindOperator(name);
      const bool functional = form.in_place == nullptr;
      ops->emplace(
          name, TenonOp{op, &form, op.schema(), functional ? form.op->contract().OutSchema() : ""});
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
    TENON_CHECK(name != nullptr, "the name of an operator is a null pointer");
    const std::string wanted = name;
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

const char* tenon_out_schema(const TenonOp* op) {
  const int status = Guard([&] { CheckOp(op); });
  return status == kOk ? op->out_schema.c_str() : nullptr;
}

int64_t tenon_parameters(const TenonOp* op, TenonParameter* parameters, int64_t capacity) {
  int64_t count = 0;
  const int status = Guard([&] {
    CheckOp(op);
    for (const tenon::ops::Param& param : op->contract().params()) {
      if (count < capacity) {
        parameters[count] = {param.name.c_str(), tenon::ops::KindOf(param),
                             param.optional || param.nullable};
      }
      ++count;
    }
  });
  return status == kOk ? count : status;
}

int64_t tenon_num_results(const TenonOp* op) {
  const int status = Guard([&] { CheckOp(op); });
  if (status != kOk) return status;
  return op->form->in_place != nullptr ? 0 : static_cast<int64_t>(op->contract().outs().size());
}

int32_t tenon_result_kind(const TenonOp* op) {
  int32_t kind = TENON_TENSOR;
  const int status = Guard([&] {
    CheckOp(op);
    constexpr int32_t kKinds[] = {TENON_TENSOR, TENON_TENSOR_LIST, TENON_FLOAT, TENON_INT_LIST};
    kind = kKinds[static_cast<int>(op->contract().result_kind())];
  });
  return status == kOk ? kind : status;
}

const char* tenon_contracts(void) {
  static const std::string* text = nullptr;
  const int status = Guard([&] {
    static const auto* const written = new std::string(tenon::ops::ContractsJson());
    text = written;
  });
  return status == kOk ? text->c_str() : nullptr;
}

int64_t tenon_infer(const TenonOp* op, const TenonArgument* arguments, int64_t num_arguments,
                    TenonSpec* results, int64_t capacity) {
  int64_t count = 0;
  const int status = Guard([&] {
    CheckOp(op);
    for (const tenon::TensorSpec& spec :
         op->op.Infer(tenon::ops::ToArguments(*op->form, arguments, num_arguments))) {
      if (count < capacity) results[count] = tenon::ops::ToSpec(spec);
      ++count;
    }
  });
  return status == kOk ? count : status;
}

int tenon_call(const TenonOp* op, const TenonArgument* arguments, int64_t num_arguments,
               const TenonTensor* results, int64_t num_results) {
  return Guard([&] {
    CheckOp(op);
    tenon::ops::RepeatedCall& call =
        tenon::ops::ResolveRepeated(*op->form, arguments, num_arguments);
    std::vector<Tensor> outputs(static_cast<size_t>(std::max<int64_t>(num_results, 0)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      tenon::ops::SetTensor(outputs[i], &results[i], op->form->name(), op->ResultName(i));
    }
    call.Run(outputs);
  });
}

int tenon_call_into(const TenonOp* op, const TenonArgument* arguments, int64_t num_arguments,
                    TenonAllocate allocate, void* context) {
  int refused = kOk;
  const int status = Guard([&] {
    CheckOp(op);
    tenon::ops::RepeatedCall& call =
        tenon::ops::ResolveRepeated(*op->form, arguments, num_arguments);
    call.RunInto([&](size_t number, Tensor& tensor) {
      const TenonSpec& spec = call.spec(number);
      const tenon::ops::Resolved& resolved = call.call();
      const int32_t device_type = resolved.device == tenon::Device::kCpu ? 1 : 2;
      TenonTensor result{nullptr,
                         device_type,
                         resolved.device_index,
                         spec.rank,
                         spec.dtype_code,
                         spec.dtype_bits,
                         spec.dtype_lanes,
                         spec.sizes,
                         spec.strides,
                         0};
      refused = allocate(context, static_cast<int64_t>(number), &spec, &result);
      if (refused != kOk) return false;
      tenon::ops::SetTensor(tensor, &result, op->form->name(), op->ResultName(number));
      return true;
    });
  });
  return status != kOk ? status : refused;
}

void tenon_set_parallel_for(TenonParallelFor run) { tenon::SetParallelFor(run); }

int tenon_register_group(const char* name, const TenonTransport* transport) {
  return Guard([&] {
    TENON_CHECK(name != nullptr, "the name of a group is a null pointer");
    tenon::RegisterGroup(name, tenon::GroupOf(transport));
  });
}

int tenon_register_mpi_group(const char* name, int32_t color, int32_t* rank, int32_t* size) {
  return Guard([&] {
    TENON_CHECK(name != nullptr, "the name of a group is a null pointer");
    const auto group = tenon::MakeMpiGroup(color);
    tenon::RegisterGroup(name, group);
    *rank = group->rank();
    *size = group->size();
  });
}

int tenon_group_rank(const char* name) {
  int rank = 0;
  const int status = Guard([&] {
    TENON_CHECK(name != nullptr, "the name of a group is a null pointer");
    rank = tenon::FindGroup(name)->rank();
  });
  return status == kOk ? rank : status;
}

void tenon_set_group_finder(int (*find)(const char* name)) { tenon::SetGroupFinder(find); }

}  // extern "C"
