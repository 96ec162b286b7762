// Values of a row-wise graph as C++ expressions: what a kernel's loops are filled with.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emit/index.h"
#include "emit/plan.h"
#include "ir/ir.h"

namespace tenon::emit {

inline constexpr int kFirstTableSlot = 4;  // scratch rows 0 to 3 hold kept values

// Turns values into statements of two scopes: `inner_` is the body of the loop being written,
// `outer_` what stands before it, once per row of the nest. Remembers which arguments are used, so
// that the kernel declares those and no others.
class CppValues {
 public:
  CppValues(const ir::Graph& graph, const RowPlan& plan);

 protected:
  enum class Kind { kVector, kInteger, kMask, kBool };
  struct Term {
    std::string text;
    Kind kind = Kind::kVector;
  };
  struct Scope {
    std::map<std::string, Term> terms;  // ValueAt::key() -> variable
    std::string lines;
    std::string indent;
  };
  // Address of an element without its lane, and the lane's coefficient.
  struct Address {
    std::string text;
    int64_t lane = 0;
    int64_t parity = 0;  // with a coefficient of 2: 1 for the odd element of a pair
  };

  // Where a nest reads the lanes of a row.
  struct RowRead {
    int tensor = 0;
    Address address;
  };

  // Declarations of the arguments that have been used, and the rows fetched from tables.
  std::string Prologue() const;
  std::string Fetches() const;

  std::string Use(const ir::Dim& dim);  // a size expression in C++
  std::string NewName(const std::string& base);
  Term Get(const ValueAt& value);
  Address AddressOf(int tensor, const std::string& base, const std::vector<ir::Dim>& at,
                    size_t first_axis);
  int TensorOf(const ir::Node& input) const { return tensor_index_.at(input.name); }
  ir::Dim StrideOf(int tensor, int axis);
  static std::string CppType(const ir::Elem& elem);
  static std::string AbsentText(
      const PlanTensor& tensor);  // what an absent optional input reads as

  const ir::Graph& graph_;
  const RowPlan& plan_;
  Extents extents_;  // of the loop variables in scope
  Scope outer_;
  Scope inner_;
  std::map<std::string, std::pair<std::string, std::string>> pairs_;  // address -> even, odd
  std::map<std::string, std::string> pointers_;   // address -> variable of the nest
  std::map<std::string, std::string> kept_rows_;  // ValueAt::key() of a whole row -> where it is
  std::vector<RowRead> reads_;                    // of the nest, in order
  std::set<int> used_tensors_;

 private:
  Scope& ScopeFor(const ValueAt& value) { return value.DependsOnLane() ? inner_ : outer_; }
  Term Define(const ValueAt& value, const std::string& base, Kind kind, const std::string& expr);
  std::string PartOfKeptRow(const ValueAt& value);
  Term Compute(const ValueAt& value, const ir::Node& node);
  Term ComputeInteger(const ValueAt& value, const ir::Node& node, const std::vector<Term>& args,
                      const std::string& list);
  const char* MinMaxWord(const ir::Node& node) const;
  bool IsBound(ir::NodeId id) const;
  // A row of a table: of the index, or of its column.
  struct Fetched {
    int tensor;
    std::string column;
    bool operator==(const Fetched&) const = default;
    std::string Name(const PlanTensor& table) const {
      return table.name + "_row" + (column.empty() ? "" : "_" + column);
    }
  };
  Term LoadInput(const ValueAt& value, const ir::Node& node);
  Term LoadTable(const ValueAt& value, const ir::Node& gather);
  Term LoadFetched(const ValueAt& value, const Fetched& fetched, const std::vector<ir::Dim>& at);
  Term DefineLoad(const ValueAt& value, const PlanTensor& tensor, const Address& address);
  std::string LoadText(const Address& address, const PlanTensor& tensor);
  std::string Pointer(int tensor, const std::string& base, const std::string& offset);
  void NoteRead(int tensor, const Address& address);
  std::string StrideName(int tensor, int axis) const;

  std::map<std::string, int> tensor_index_;
  std::map<std::string, int> names_;
  std::set<std::pair<int, int>> used_strides_;
  std::set<std::string> used_sizes_;
  std::set<std::string> used_scalars_;
  std::set<std::string> bool_scalars_;
  std::vector<Fetched> fetched_;
};

}  // namespace tenon::emit
