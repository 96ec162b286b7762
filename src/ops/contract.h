// An operator, declared once: its arguments in schema order, their element types and shapes,
// attributes with defaults, requirements, and the body in IR. Everything else is derived: torch
// schema, argument checks, reference, kernels, tests, benchmark cases, documentation.
//
//   Contract c("norm", "rms_norm");
//   c.Doc("y = x / sqrt(mean(x^2) + eps) * weight");
//   c.In("x", Elem::Storage(), "..., hidden");
//   c.OptionalIn("weight", Elem::Param(), "hidden", 1.0);
//   c.Float("eps", 1e-6).NonNegative();
//   c.Out("y", Elem::Storage(), "..., hidden");
//   c.Body([](ops::Body& b) { ... b.Out("y", Round(...)); });
//
// Shapes are comma-separated size expressions (ir/dim.h). A leading "..." stands for any number of
// axes, the same ones in every argument that has it; a body sees them flattened as the one axis
// `tokens`. A size is solved from the first argument that determines it ("..., 2*d" gives d) and
// checked in all others; integer attributes are sizes, too. Alternatives are separated by '|'; an
// empty one is a tensor without axes. "width=2*d" names the axis that the body sees.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "tenon/tensor.h"

namespace tenon::ops {

// One alternative of a shape.
struct Shape {
  bool lead = false;           // begins with "..."
  std::vector<ir::Axis> axes;  // what follows; a name may be empty
  int rank() const { return static_cast<int>(axes.size()); }
  std::string text() const;  // "..., 2*d"
};

// "..., heads*head_size | ..., heads, head_size"
std::vector<Shape> ParseShapes(std::string_view text);
std::vector<ir::Axis> BodyAxes(const Shape& shape);  // `tokens` in place of "..."

enum class AttrKind : uint8_t { kBool, kInt, kFloat, kString, kDType, kIntList };

// Fixes the static parameters of a contract: attributes by name (a dtype by its short name), the
// presence of tensor "z" as the bool "has_z".
using Choices = std::map<std::string, ir::AttrValue>;
inline std::string PresenceKey(std::string_view argument) { return "has_" + std::string(argument); }
std::string ChoicesText(const Choices& choices);  // "act=silu,has_z=true"

enum class ResultKind : uint8_t { kTensors, kTensorList, kFloat, kIntList };

// One argument of the schema: a tensor or an attribute.
struct Param {
  std::string name;
  bool keyword_only = false;
  bool static_presence = false;                 // bodies differ by whether it is there
  std::map<std::string, int64_t> absent_sizes;  // sizes that are known when it is not there

  // A tensor.
  bool is_tensor = false;
  ir::Elem elem;
  std::vector<Shape> shapes;   // alternatives
  std::vector<ir::Axis> axes;  // as the body sees it; `tokens` first when the shape has "..."
  bool optional = false;
  bool none_by_default = false;  // else None has to be given
  double absent = 0;             // an absent optional tensor reads as this constant
  bool integers = false;         // i8 and i32 are taken, too, and read as numbers
  bool outside_body = false;     // the body does not read it
  std::string none_with;         // must be None when the static attribute of this name has the
  std::string none_when;         // value `none_when`; bodies with that value have no such input
  bool first_rows = false;       // written only, and may have more rows than the call
  bool sections = false;         // [3, tokens], or [tokens] for three times the same: seen as
                                 // [tokens, 3]
  bool may_be_empty = false;     // any of its axes may have size 0
  bool any_dtype = false;        // a function reads it, whatever its type; T of integers is f32
  bool has_view = true;          // false: a function reads the tensor in each of its shapes
  bool or_float8 = false;        // T may be f8e4m3
  bool first_last = false;       // its first axis is the one that the body sees last
  bool broadcasts = false;       // its leading axes may be fewer, or 1: expanded as numpy does;
                                 // those of the call are joined from all such tensors

  // An attribute.
  AttrKind kind = AttrKind::kInt;
  std::optional<ir::AttrValue> fallback;  // its default
  bool nullable = false;                  // None is allowed, and the default
  std::string absent_size;                // of a nullable int: the size expression it then equals
  std::vector<std::string> choices;       // of a string or dtype; "swish=silu" is an alias
  static constexpr int64_t kAnyLength = -1;
  int64_t length = 0;         // of a list, or kAnyLength
  bool per_rank = false;      // a list that may have a number for each rank
  bool is_static = false;     // bodies differ by its value
  bool non_negative = false;  // NaN and negative values are refused
  bool positive = false;
  std::optional<std::pair<int64_t, int64_t>> range;  // of an int: smallest and largest value
  std::vector<std::string> zero_without;  // must be 0 when one of these tensors is not there
  std::string moves_last;                 // names the axis of this tensor that the body sees last
  std::string casts;                      // this tensor is first rounded to the dtype given, which
                                          // then is the storage type

  // The default of a list of fixed length: this number each time.
  Param& Repeated(int64_t number) {
    return fallback = std::vector<int64_t>(static_cast<size_t>(length), number), *this;
  }
  Param& NonNegative() { return non_negative = true, *this; }
  Param& Positive() { return positive = true, *this; }
  Param& Between(int64_t low, int64_t high) { return range = {low, high}, *this; }
  // A size that the choice stands for: of a string those of its words in order, of a bool those of
  // false and true.
  std::string sized;
  std::vector<int64_t> choice_sizes;
  Param& Sizes(std::string symbol, std::vector<int64_t> values) {
    sized = std::move(symbol);
    choice_sizes = std::move(values);
    return *this;
  }
  int64_t SizeOf(const ir::AttrValue& value) const;

  Param& Static() { return is_static = true, *this; }
  Param& NoneByDefault() { return none_by_default = true, *this; }
  Param& StaticPresence() { return static_presence = true, *this; }
  Param& AbsentSize(std::string size, int64_t value) {
    return absent_sizes[std::move(size)] = value, *this;
  }
  Param& ZeroWithout(std::vector<std::string> names) {
    return zero_without = std::move(names), *this;
  }
  Param& Integers() { return integers = true, *this; }
  Param& NoneWith(std::string attribute, std::string value) {
    none_with = std::move(attribute);
    none_when = std::move(value);
    return *this;
  }
  Param& FirstRows() { return first_rows = outside_body = true, *this; }
  Param& Sections() { return sections = true, *this; }
  Param& AnyDType() { return any_dtype = true, *this; }
  Param& WithoutView() { return has_view = false, *this; }
  Param& OrFloat8() { return or_float8 = true, *this; }
  Param& FirstLast() { return first_last = true, *this; }
  Param& MayBeEmpty() { return may_be_empty = true, *this; }
  Param& PerRank() { return per_rank = true, *this; }
  Param& Broadcasts() { return broadcasts = true, *this; }
  Param& MovesLast(std::string tensor) { return moves_last = std::move(tensor), *this; }
  Param& Casts(std::string tensor) { return casts = std::move(tensor), *this; }
  // As the body sees it, when that differs from the last alternative: "..., heads, head_size" for a
  // tensor whose shape is "..., heads*head_size". A tensor of one element is expanded.
  Param& As(std::string_view body_axes);
};

struct OutParam {
  std::string name;
  ir::Elem elem;
  std::string dtype_from;      // name of the dtype attribute that gives the element type, or empty
  Shape shape;                 // fresh and contiguous
  std::vector<ir::Axis> axes;  // as the body gives it
  std::string like;            // the shape is that of this input, whatever its alternative was;
                               // [0] when it is optional and not there

  // Of a function whose kernel rounds in other places: the error allowed, relative to the largest
  // element, in f32 and in narrower types.
  std::optional<std::pair<double, double>> within;
  OutParam& Within(double f32, double narrow) { return within = {f32, narrow}, *this; }

  std::string error_scale;  // absolute errors are relative to this input's element; the reason
                            // stands in the contract

  OutParam& As(std::string_view body_axes);
  // "..., columns" is column-major when the bool attribute is true: the elements of a column are
  // neighbours, and columns are the number of rows, rounded up to `column_multiple`, apart.
  std::string column_major_when;
  int64_t column_multiple = 1;

  OutParam& ColumnMajorWhen(std::string attribute, int64_t multiple) {
    column_major_when = std::move(attribute);
    column_multiple = multiple;
    return *this;
  }
  std::string only_with;  // [..., 0], and not computed, unless this bool attribute is true
  // Lacks the axes of `like` that this int list names (all when it is empty), or has them as 1 when
  // the bool `keeps` is true.
  std::string reduces;
  std::string keeps;
  // One result for each number of the int list, which its shape knows as <list>_each.
  std::string each;

  OutParam& Each(std::string list) { return each = std::move(list), *this; }
  OutParam& Reduces(std::string list, std::string keep) {
    reduces = std::move(list);
    keeps = std::move(keep);
    return *this;
  }
  OutParam& OnlyWith(std::string attribute) { return only_with = std::move(attribute), *this; }
  OutParam& ErrorScale(std::string input) { return error_scale = std::move(input), *this; }
  OutParam& Like(std::string input) { return like = std::move(input), *this; }
  OutParam& DTypeFrom(std::string attribute) { return dtype_from = std::move(attribute), *this; }
};

enum class Compare : uint8_t { kEq, kLe, kDivides };
struct Requirement {
  ir::Dim left;
  Compare compare;
  ir::Dim right;
  std::string sentence;  // "variance_size must not exceed x's last axis"
};

// An in-place form: outputs written over inputs, same arguments, no results.
struct InPlaceForm {
  std::string name;
  std::vector<std::pair<std::string, std::string>> writes;  // (output, input)

  const std::string* OutputOver(std::string_view input) const;  // null: not written
  const std::string* InputUnder(std::string_view output) const;
};

// How many rows a call computes, when a tensor says so: the sum of `list`, or its last element when
// the int attribute `cumulative` is 0. What lies in later rows of the results is unspecified.
struct RowLimit {
  std::string list;
  std::string cumulative;
};

struct Resolved;  // resolve.h
using OperatorFunction = void (*)(const Resolved& call, std::span<const Tensor> outputs);

class Contract;

// What a body function gets: the builder, the inputs as values, and the static choices.
class Body {
 public:
  Body(const Contract& contract, Choices choices);

  ir::Value In(std::string_view name) const;    // a declared tensor
  ir::Value Attr(std::string_view name) const;  // a float or bool attribute, as a scalar
  ir::Value Item(std::string_view list, int number) const;  // of a list, as a scalar
  bool Flag(std::string_view name) const;  // static bool, or static presence of an argument
  const std::string& Word(std::string_view name) const;  // static string, aliases resolved
  DType Type(std::string_view name) const;               // static dtype
  void Out(std::string_view name, ir::Value value);

  ir::Builder& builder() { return builder_; }
  ir::Graph Take();  // outputs in the contract's order

 private:
  const ir::AttrValue& Choice(std::string_view name) const;
  std::vector<ir::Axis> Sized(std::vector<ir::Axis> axes) const;  // by the choices
  const Contract& contract_;
  mutable ir::Builder builder_;
  Choices choices_;
  std::map<std::string, ir::Value, std::less<>> inputs_;
  std::map<std::string, ir::Value> outputs_;
};

// One way to fix the static parameters, and the body it leads to.
struct Variant {
  Choices choices;
  std::string name;  // ChoicesText of the first variant that has this body
  ir::Graph graph;   // its name is the operator's and the variant's: a C identifier
};

class Contract {
 public:
  Contract(std::string family, std::string name)
      : family_(std::move(family)), name_(std::move(name)) {}

  // Declarations, in schema order. References stay valid as long as the contract is not moved.
  void Doc(std::string_view sentence) { doc_ = sentence; }
  Param& In(std::string_view name, ir::Elem elem, std::string_view shapes);
  Param& OptionalIn(std::string_view name, ir::Elem elem, std::string_view shapes, double absent);
  Param& Bool(std::string_view name, std::optional<bool> fallback = std::nullopt);
  Param& Int(std::string_view name, std::optional<int64_t> fallback = std::nullopt);
  // None stands for the size expression; without one, for what the shapes give.
  Param& OptionalInt(std::string_view name, std::string_view absent_size = "");
  Param& Float(std::string_view name, std::optional<double> fallback = std::nullopt);
  Param& String(std::string_view name, std::optional<std::string> fallback,
                std::vector<std::string> choices);
  // Any words.
  Param& Text(std::string_view name, std::optional<std::string> fallback = std::nullopt);
  // Each number is a size, too, and an attribute: <name>_0, <name>_1 ...
  Param& IntList(std::string_view name, int64_t length);
  // Of any length. Sizes: <name>_count, <name>_sum, <name>_max and <name>_empty (1 or 0); PerRank()
  // has <name>_each (1 when it has `world_size` numbers) and <name>_own (this rank's, or 0).
  Param& IntList(std::string_view name) { return IntList(name, Param::kAnyLength); }
  Param& ScalarType(std::string_view name, std::vector<std::string> choices);
  Param& OptionalScalarType(std::string_view name, std::vector<std::string> choices);
  void KeywordOnly() { keyword_only_ = true; }  // from here on
  OutParam& Out(std::string_view name, ir::Elem elem, std::string_view shape);
  // The only result is no tensor: a list of numbers, carried as an i64 tensor of one axis, or one
  // float64, carried as its bits in an i64 tensor of one element.
  void ResultIs(ResultKind kind) { result_kind_ = kind; }
  void Require(std::string_view left, Compare compare, std::string_view right,
               std::string_view sentence);
  void LimitRows(std::string_view list, std::string_view cumulative);
  // The body is the reference only: the kernels are those of structural.cc.
  void Structural() { structural_ = true; }
  // A function in place of a body: the reference, and the kernel where structural.cc has none.
  void Function(OperatorFunction compute) {
    function_ = compute;
    structural_ = true;
  }
  // Calls other operators and the ranks of a group: the kernels are those of structural.cc, and the
  // last of them is the reference.
  void Composition() { structural_ = true; }
  // The only form is the in-place one; its name is the contract's.
  void InPlaceOnly(std::vector<std::pair<std::string, std::string>> writes) {
    InPlace(name_, std::move(writes));
  }
  void InPlace(std::string_view name, std::vector<std::pair<std::string, std::string>> writes);
  void Body(std::function<void(ops::Body&)> body) { body_ = std::move(body); }

  const std::string& family() const { return family_; }
  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::deque<Param>& params() const { return params_; }
  const std::deque<OutParam>& outs() const { return outs_; }
  ResultKind result_kind() const {
    return !outs_.empty() && !outs_[0].each.empty() ? ResultKind::kTensorList : result_kind_;
  }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  const std::vector<InPlaceForm>& in_place_forms() const { return in_place_; }
  const std::optional<RowLimit>& row_limit() const { return row_limit_; }
  bool structural() const { return structural_; }
  OperatorFunction function() const { return function_; }
  bool has_body() const { return body_ != nullptr; }
  bool functional() const { return in_place_.empty() || in_place_[0].name != name_; }
  const Param* FindParam(std::string_view name) const;
  const OutParam* FindOut(std::string_view name) const;
  const InPlaceForm* FindForm(std::string_view name) const;

  // Schema in torch's syntax: "tenon::rms_norm(Tensor x, Tensor? weight, float eps=1e-6, ...".
  std::string Schema(const InPlaceForm* form = nullptr) const;
  // The same call into tensors that the caller has, which are further keyword arguments:
  // "tenon::rms_norm.out(Tensor x, ..., *, Tensor(a!) out) -> ()"; "" when the results are a list
  // or no tensors.
  std::string OutSchema() const;
  std::vector<std::string> OutArguments() const;  // "out", or one name per result

  // Every combination of static choices. Each lists all static parameters, those without influence
  // on its body included; variants with equal bodies have equal names.
  std::vector<Variant> Variants() const;
  ir::Graph BuildBody(const Choices& choices) const;

 private:
  Param& AddTensor(std::string_view name, ir::Elem elem, std::string_view shapes);
  Param& AddAttr(std::string_view name, AttrKind kind, std::optional<ir::AttrValue> fallback);
  std::vector<Choices> AllChoices() const;
  std::string ArgumentsText(const InPlaceForm* form, char& alias) const;
  std::string family_;
  std::string name_;
  std::string doc_;
  bool keyword_only_ = false;
  std::deque<Param> params_;
  std::deque<OutParam> outs_;
  std::vector<Requirement> requirements_;
  std::vector<InPlaceForm> in_place_;
  std::optional<RowLimit> row_limit_;
  ResultKind result_kind_ = ResultKind::kTensors;
  bool structural_ = false;
  OperatorFunction function_ = nullptr;
  std::function<void(ops::Body&)> body_;
};

// The word that `word` is an alias of, or itself; null when it is not among the choices.
const std::string* ResolveChoice(const Param& param, std::string_view word);
std::vector<std::string> ChoiceWords(const Param& param);  // without aliases

}  // namespace tenon::ops
