// The tensor-operator graph that everything in Tenon speaks: operator bodies, matched chains of a
// model, functions given to `tenon fuse`, and what the emitters read.
//
// A graph is a list of nodes in order of definition (single assignment). A value has named axes
// with symbolic sizes and an element type. Element-wise nodes broadcast by axis name: an argument
// has a subset of the result's axes, in the same order. Arithmetic is float32 (float64 in the
// interpreter, which is the reference); values are rounded to a storage type only where a `round`
// or `cast` node says so, so that precision is part of the operator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "ir/dim.h"

namespace tenon::ir {

// The element type of a value. Operator bodies are written once for every storage type:
//   T  the storage type of the main input (f32, f16 or bf16), bound when the operator is called
//   W  a parameter: T or f32, each parameter on its own; read exactly
//   I  an index: i32 or i64, each on its own
struct Elem {
  enum class Kind : uint8_t { kConcrete, kStorage, kParam, kIndex };
  Kind kind = Kind::kConcrete;
  DType dtype = DType::kF32;  // of kConcrete

  Elem() = default;
  Elem(DType concrete) : dtype(concrete) {}  // NOLINT: a dtype is an element type
  static Elem Storage() { return Make(Kind::kStorage); }
  static Elem Param() { return Make(Kind::kParam); }
  static Elem Index() { return Make(Kind::kIndex); }

  bool concrete() const { return kind == Kind::kConcrete; }
  bool is_float() const { return concrete() ? IsFloat(dtype) : kind != Kind::kIndex; }
  bool operator==(const Elem& o) const {
    return kind == o.kind && (kind != Kind::kConcrete || dtype == o.dtype);
  }

 private:
  static Elem Make(Kind kind) {
    Elem elem;
    elem.kind = kind;
    return elem;
  }
};

std::string ElemText(const Elem& elem);  // "T", "W", "I", "bf16"

struct Axis {
  std::string name;
  Dim size;
  bool operator==(const Axis& o) const { return name == o.name && size == o.size; }
};

// The usual case: an axis named like the size it has.
inline Axis NamedAxis(const std::string& name) { return {name, Dim(name)}; }

struct Type {
  Elem elem;
  std::vector<Axis> axes;  // none: a scalar

  int FindAxis(std::string_view name) const;  // position, -1 when absent
  Dim numel() const;
  bool operator==(const Type& o) const { return elem == o.elem && axes == o.axes; }
};

std::string TypeText(const Type& type);  // "T[tokens, hidden]", "f32[tokens, half=rotary_dim//2]"

enum class Op : uint8_t {
  // Leaves.
  kInput,    // name; an optional input reads as the constant `value` when absent
  kAttr,     // name; scalar attribute of the operator
  kConst,    // value
  kIota,     // 0, 1, 2 ... along the only axis of the result
  kPresent,  // name of an optional input; bool scalar
  // Element-wise on floats, result f32. kAdd, kSub, kMul, kNeg, kAbs, kMin and kMax of integers
  // alone give integers, of the widest argument's type (i32 at least), and wrap.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFma,  // a*b + c with one rounding
  kNeg,
  kAbs,
  kMin,  // of -0.0 and 0.0 either one
  kMax,
  kSqrt,
  kRsqrt,  // 1/sqrt(a), both IEEE
  kExp,
  kLog,
  kSin,
  kCos,
  kTanh,
  kErf,
  kSigmoid,  // 1/(1 + exp(-a))
  kFloor,
  kRoundInt,  // half to even
  // Comparison and choice, result bool; kSelect(condition, a, b) has the type of a and b.
  kLt,
  kLe,
  kEq,
  kNe,
  kAnd,
  kOr,
  kNot,
  kSelect,
  // Integers and bits, result of the widest argument's type (i32 at least).
  kIntDiv,  // rounds down, so that -1 // 16 is -1: a padding slot stays out of range
  kIntMod,  // what kIntDiv leaves: 0 <= a mod b < b; unspecified, as kIntDiv, when b is 0
  kBitAnd,
  kBitOr,
  kShiftLeft,   // by 0 to 31
  kShiftRight,  // by 0 to 31, copies of the sign come in
  kBitsOf,      // the bits of an f32
  kFromBits,    // and back, result f32
  // Precision. kCast changes the element type by the node's rule; kRound is "round here": the
  // value is stored as, and from now on equals, its rounding to the result's element type.
  kCast,
  kRound,
  // Shape. Movement keeps element type and bits: it never passes through float.
  kReduce,
  kBroadcast,
  kSlice,      // elements [offset, offset + size) of axis `dim`
  kConcat,     // joins along axis `dim`
  kReshape,    // row-major reinterpretation: splits an axis or merges neighbours
  kTranspose,  // the result's axes are the argument's, reordered
  kCopy,
  // Memory.
  kGatherRow,   // (table [rows, ...], index [a...]) -> [a..., ...]
  kScatterRow,  // (target [rows, ...], index [a...], value [a..., ...]) -> updated target
  kWriteSlice,  // (target, value): elements [offset, offset + size) of axis `dim` replaced
  kLimitRows,   // (value, count): rows of axis `dim` at or beyond count are unspecified
  // Structure.
  kMatmul,  // contracts axis `axis`, other axes joined by name: a's first, then b's
  kCall,    // operator `name` of the registry with attributes `call`
  kResult,  // result number `dim` of a kCall or kOpaque with several
  kOpaque,  // name = reason: what was not understood
};
inline constexpr int kNumOps = static_cast<int>(Op::kOpaque) + 1;

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin, kAmax, kArgmax };

enum class Rounding : uint8_t { kNearestEven, kTowardZero, kFloor };
struct CastRule {
  Rounding rounding = Rounding::kNearestEven;
  // Integers and f8e4m3 take the nearest value in range; else such integers are unspecified and f8
  // becomes NaN. f32, f16 and bf16 have infinities and always overflow to them.
  bool saturate = true;
  bool nan_to_zero = true;  // integers; floats keep NaN
  bool operator==(const CastRule&) const = default;
};

// What a row index outside [0, rows) does.
enum class IndexRule : uint8_t {
  kError,  // the CPU raises before anything is written; CUDA leaves the row as it was
  kSkip,   // scatter: the row is not written
  kZero,   // gather: the row reads as zeros
  kClamp,  // the nearest valid row
};

// The words of the text form.
std::string_view OpName(Op op);
std::string_view ReduceName(ReduceKind kind);
std::string_view RoundingName(Rounding rounding);
std::string_view IndexRuleName(IndexRule rule);

// Where a node comes from in a model's source.
struct Span {
  std::string file;
  int line = 0;
  std::string symbol;
  bool operator==(const Span&) const = default;
};

using AttrValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;
std::string AttrText(const AttrValue& value);  // true, -8, 1e-06, "neox", [16, 24, 24]

// The words of the text form: a quoted string, and a float that reads back as one.
std::string QuotedText(std::string_view text);
std::string RealText(double value);

using NodeId = int32_t;

// One node. A field keeps its default unless the comment names the node's op; the verifier checks.
struct Node {
  Op op = Op::kConst;
  std::vector<NodeId> args;
  Type type;
  std::string name;                          // kInput kAttr kPresent kCall kOpaque
  double value = 0;                          // kConst; the absent value of an optional kInput
  bool optional = false;                     // kInput
  ReduceKind reduce = ReduceKind::kSum;      // kReduce
  bool propagate_nan = true;                 // kMin kMax; kReduce of max, min, amax, argmax
  std::string axis;                          // kReduce kMatmul: the axis that disappears
  int dim = 0;                               // kSlice kConcat kWriteSlice kLimitRows kResult
  Dim offset;                                // kSlice kWriteSlice
  CastRule cast;                             // kCast
  IndexRule index_rule = IndexRule::kError;  // kGatherRow kScatterRow
  std::map<std::string, AttrValue> call;     // kCall kOpaque
  std::vector<Type> results;                 // kCall kOpaque; `type` is that of the first
  Span span;                                 // any; takes no part in equality of nodes
};

struct Output {
  std::string name;
  NodeId value = 0;
  std::string in_place;      // name of the input whose memory it overwrites, or empty
  std::vector<Dim> strides;  // in elements; empty = contiguous
};

// Nodes are appended; equal nodes (calls and opaque ones excepted) get one id.
class Graph {
 public:
  explicit Graph(std::string name = "") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const std::vector<Output>& outputs() const { return outputs_; }

  // The node's type must be set; InferType (infer.h) computes it.
  NodeId Add(Node node);
  void AddOutput(Output output) { outputs_.push_back(std::move(output)); }

  std::vector<NodeId> inputs() const;             // kInput nodes in order of declaration
  NodeId FindInput(std::string_view name) const;  // -1 when no input has that name
  std::vector<int> UseCounts() const;             // per node: arguments of others and outputs

 private:
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::unordered_map<std::string, NodeId> ids_;  // NodeKey -> id
};

// Text that is equal for equal nodes.
std::string NodeKey(const Node& node);

}  // namespace tenon::ir
