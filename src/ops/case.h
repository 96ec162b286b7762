// One call of an operator with its memory: what tests check and benches time.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ops/resolve.h"

namespace tenon::ops {

// Where the elements of the tensors with rows lie. Values do not depend on it.
enum class Layout : uint8_t {
  kDense,
  kMisaligned,  // one element behind a cache line
  kRowGaps,     // elements between rows, leading axes that do not flatten
  kLastStride,  // two elements from one to the next along the last axis
  kExpanded,    // inputs: stride 0 along the first leading axis (values of its first index)
};
inline constexpr Layout kLayouts[] = {Layout::kDense, Layout::kMisaligned, Layout::kRowGaps,
                                      Layout::kLastStride, Layout::kExpanded};
std::string_view LayoutName(Layout layout);

// What the elements are. A function of seed, argument, row and column alone.
enum class Fill : uint8_t {
  kNormal,       // normally distributed
  kAdversarial,  // row by row: zeros, NaN, infinities, huge, subnormal, constant, normal
};

struct CaseSpec {
  std::string op;             // the name of a form
  std::vector<int64_t> lead;  // the axes that "..." stands for
  ir::Bindings sizes;         // those of the contract's shapes; its integer attributes may be here
  std::map<std::string, Argument> attributes;  // those that are given
  std::set<std::string> given;                 // optional tensors that are there
  std::map<std::string, int> alternatives;     // of a tensor's shape; 0 where not named
  DType storage = DType::kF32;                 // of T
  DType param = DType::kF32;                   // of W
  DType index = DType::kI64;                   // of I
  Layout layout = Layout::kDense;
  Fill fill = Fill::kNormal;
  uint64_t seed = 1;
};

// "rms_norm hidden=4096 eps=1e-05 +weight": operator, sizes and attributes, optional tensors that
// are given. `lead` is left empty.
CaseSpec ParseCase(std::string_view line);
std::vector<CaseSpec> ReadCases(const std::filesystem::path& file);  // '#' begins a comment
std::string CaseText(const CaseSpec& spec);  // such a line, with lead, dtype and layout

// A tensor within memory of its own. Bytes that are no element of it stay kGuard.
class GuardedTensor {
 public:
  static constexpr uint8_t kGuard = 0xFF;  // NaN in every float type

  GuardedTensor(DType dtype, const std::vector<int64_t>& shape, int lead_rank, Layout layout);
  const Tensor& tensor() const { return tensor_; }
  void Clear();  // every byte becomes kGuard
  bool GuardsIntact() const;

 private:
  std::vector<uint8_t> memory_;
  Tensor tensor_;
};

class Case {
 public:
  // UsageError when a size is missing, or the call is refused.
  explicit Case(CaseSpec spec);

  const CaseSpec& spec() const { return spec_; }
  const Resolved& call() const { return call_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  std::vector<Tensor> results() const;  // none for an in-place form
  // What the call writes, in the order of the contract's outputs: results, or arguments (not
  // those that are not there).
  std::vector<Tensor> written() const;
  std::vector<Tensor> OutputViews() const { return ops::OutputViews(call_, results()); }

  void FillTensors();         // arguments get their values, results become NaN
  bool GuardsIntact() const;  // nothing outside the tensors was written
  // Bytes that the call has to move at least: every argument and result once; of a table that is
  // read through an index, one row per index.
  int64_t BytesMoved() const;

 private:
  void AddChoiceSizes(const Contract& contract);
  void AddTensor(const Param& param);
  void FillArgument(size_t number);
  int64_t IndexLimit(const Param& param) const;  // rows of the table that it indexes
  double HugeValue() const;

  CaseSpec spec_;
  OperatorForm form_;
  ir::Bindings sizes_;
  std::vector<Argument> arguments_;
  std::vector<const Param*> params_;  // of inputs_
  std::vector<GuardedTensor> inputs_;
  std::vector<GuardedTensor> results_;
  Resolved call_;
};

}  // namespace tenon::ops
