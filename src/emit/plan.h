// How a row-wise graph is computed: which loops run over a row, in which order, what each of them
// reduces, stores and keeps for the next. A pure function of the graph; every language's emitter
// reads it (emit_cpp.h), and it prints as text.
//
// The first axis of the outputs is the row axis (usually `tokens`): its rows are independent and
// are what threads share. Within a row, outputs with the same middle axes (heads, groups) share a
// *nest*; a nest runs its *loops* one after the other, each over the last axis in vector lanes.
// A loop ends where a reduction's result is needed: sums of one loop are inputs of the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/row_kernel.h"
#include "ir/ir.h"

namespace tenon::emit {

// Names of the loop variables in index expressions; sizes must not be called like them.
inline constexpr char kRowVar[] = "row";
inline constexpr char kLaneVar[] = "lane";
std::string LoopVar(const std::string& axis);  // "heads" -> "heads_at"

// A node's value at one index per axis, in loop variables and sizes.
struct ValueAt {
  ir::NodeId node = -1;
  std::vector<ir::Dim> at;
  std::string key() const;
  bool DependsOnLane() const;
};

struct PlanTensor {
  std::string name;
  cpu::RowRole role = cpu::RowRole::kRow;
  bool is_output = false;
  bool optional = false;
  double absent = 0;
  ir::Elem elem;
  std::vector<ir::Axis> axes;
  std::string in_place_of;  // output: the input whose memory it may share
  bool may_be_one = false;  // kParam: the caller may pass one number for all lanes
};

struct Store {
  int tensor = 0;               // in RowPlan::tensors
  std::vector<ir::Dim> at;      // index in the output's axes; pairs: of the even element
  std::vector<ValueAt> values;  // one, or the even and odd element of a pair; scalar without lane
  bool is_copy = false;         // bits of an input row, moved without conversion
};

struct Reduction {
  ValueAt result;
  ValueAt argument;
};

// A store of dividend / divisor as int8 (quotients.h).
struct Quotient {
  ValueAt dividend;
  ValueAt divisor;
  int offset = -1;  // an optional tensor that is added: where it is there, the kernel divides
};

struct Loop {
  int level = 0;   // number of reductions that must be finished before
  ir::Dim extent;  // lanes; 0 for stores of one value per row
  std::vector<Reduction> reductions;
  std::vector<Store> stores;
  std::vector<ValueAt> keeps;  // values written to a scratch row for later loops
  // Element-wise loops only: the value up to which some vectors are computed before the rest of
  // their arithmetic begins.
  std::optional<ValueAt> stage;
  std::optional<Quotient> quotient;  // of the only store
};

struct Nest {
  std::vector<ir::Axis> rows;  // middle axes, outermost first
  std::vector<Loop> loops;
  // Loops from here on run after the earlier ones have run for several rows (batches.h); 0: each
  // row by itself.
  size_t second_part = 0;
};

// A table whose rows are fetched by an index tensor.
struct TableUse {
  int table = 0;
  int index = -1;  // tensor; -1 when the row number itself is the index
  ir::IndexRule rule = ir::IndexRule::kError;
};

struct RowPlan {
  std::string name;
  ir::Axis row_axis;
  std::vector<PlanTensor> tensors;
  std::vector<std::string> sizes;    // in the order of the kernel's argument
  std::vector<std::string> scalars;  // attributes
  std::vector<TableUse> tables;
  std::vector<Nest> nests;
};

// UsageError with the node's text when the graph is not row-wise or an emitter cannot say it.
RowPlan MakeRowPlan(const ir::Graph& graph);

std::string PlanText(const ir::Graph& graph, const RowPlan& plan);

}  // namespace tenon::emit
