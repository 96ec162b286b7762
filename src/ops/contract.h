// An operator, declared once: its arguments in schema order, their element types and shapes,
// attributes with defaults, requirements, and the body in IR. Everything else is derived: torch
// schema, argument checks, reference, kernels, tests, benchmark cases, documentation.
//
//   Contract c("rms_norm");
//   c.Doc("y = x / sqrt(mean(x^2) + eps) * weight");
//   c.In("x", Elem::Storage(), "..., hidden");
//   c.OptionalIn("weight", Elem::Param(), "hidden", 1.0);
//   c.Float("eps", 1e-6).NonNegative();
//   c.Out("y", Elem::Storage(), "..., hidden");
//   c.Body([](Body& b) { ... b.Out("y", Round(...)); });
//
// Shapes are comma-separated size expressions (ir/dim.h). A leading "..." stands for any number of
// axes, the same ones in every argument that has it; a body sees them flattened as the one axis
// `tokens`. A size is solved from the first argument that determines it ("..., 2*d" gives d) and
// checked in all others; integer attributes are sizes, too. Alternatives are separated by '|'.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "tenon/tensor.h"

namespace tenon::ops {

enum class AttrKind : uint8_t { kBool, kInt, kFloat, kString, kDType, kIntList };

// One argument of the schema: a tensor or an attribute.
struct Param {
  std::string name;
  bool keyword_only = false;

  // A tensor.
  bool is_tensor = false;
  ir::Elem elem;
  std::vector<DType> dtypes;        // if not empty: any of these instead of `elem`, read exactly
  std::vector<std::string> shapes;  // alternatives
  std::vector<ir::Axis> axes;       // as the body sees it; `tokens` first when the shape has "..."
  bool optional = false;
  double absent = 0;                            // an absent optional tensor reads as this constant
  bool static_presence = false;                 // bodies differ by whether it is there
  std::map<std::string, int64_t> absent_sizes;  // sizes that are known when it is not there

  // An attribute.
  AttrKind kind = AttrKind::kInt;
  std::optional<ir::AttrValue> fallback;  // its default; int and string may have none
  bool nullable = false;                  // int?: absent means `absent_size`
  std::string absent_size;                // size expression, such as "hidden"
  std::vector<std::string> choices;       // of a string or dtype; "swish=silu" is an alias
  bool is_static = false;                 // bodies differ by its value
  bool non_negative = false;              // of a float: NaN and negative values are refused
  bool positive = false;

  Param& NonNegative() { return non_negative = true, *this; }
  Param& Positive() { return positive = true, *this; }
  Param& Static() { return is_static = true, *this; }
  Param& StaticPresence() { return static_presence = true, *this; }
  Param& Choices(std::vector<std::string> words) { return choices = std::move(words), *this; }
  Param& AbsentSize(std::string name_of, int64_t size) {
    return absent_sizes[std::move(name_of)] = size, *this;
  }
  // As the body sees it, when that differs from the last alternative: "heads, head_size" for a
  // tensor whose shape may be "..., heads*head_size".
  Param& As(std::string_view body_axes);
  Param& AnyOf(std::vector<DType> allowed) { return dtypes = std::move(allowed), *this; }
};

struct OutParam {
  std::string name;
  ir::Elem elem;
  std::string dtype_from;      // name of a dtype attribute that gives the element type, or empty
  std::string shape;           // one alternative; fresh and contiguous
  std::vector<ir::Axis> axes;  // as the body gives it
  bool empty_when_absent = false;  // [0] when the optional input of `like` is not there
  std::string like;                // the shape is that of this input, whatever its alternative was
};

enum class Compare : uint8_t { kEq, kLe, kLt, kDivides };
struct Requirement {
  ir::Dim left;
  Compare compare;
  ir::Dim right;
  std::string sentence;  // "rotary_dim + rope_dim_offset must not exceed head_size"
};

// An in-place form: outputs written over inputs, same arguments, no results.
struct InPlaceForm {
  std::string name;
  std::vector<std::pair<std::string, std::string>> writes;  // (output, input)
};

class Contract;

// What a body function gets: the builder, the inputs as values, and the static choices.
class Body {
 public:
  Body(const Contract& contract, std::map<std::string, ir::AttrValue> choices);

  ir::Value In(std::string_view name) const;    // a declared tensor
  ir::Value Attr(std::string_view name) const;  // a float or bool attribute, as a scalar
  bool Flag(std::string_view name) const;       // static bool, or static presence of a tensor
  const std::string& Word(std::string_view name) const;  // static string, aliases resolved
  DType Type(std::string_view name) const;               // static dtype
  void Out(std::string_view name, ir::Value value);

  ir::Builder& builder() { return builder_; }
  ir::Graph Take();

 private:
  const ir::AttrValue& Choice(std::string_view name) const;
  const Contract& contract_;
  mutable ir::Builder builder_;
  std::map<std::string, ir::AttrValue> choices_;
};

// One way to fix the static attributes and presences, and the body it leads to.
struct Variant {
  std::map<std::string, ir::AttrValue> choices;  // presence of tensor "z" is the bool "has_z"
  ir::Graph graph;
};

class Contract {
 public:
  Contract(std::string family, std::string name)
      : family_(std::move(family)), name_(std::move(name)) {}

  // Declarations, in schema order. The returned reference is valid until the next declaration.
  Contract& Doc(std::string_view sentence);
  Param& In(std::string_view name, ir::Elem elem, std::string_view shapes);
  Param& OptionalIn(std::string_view name, ir::Elem elem, std::string_view shapes, double absent);
  Param& Bool(std::string_view name, std::optional<bool> fallback);
  Param& Int(std::string_view name, std::optional<int64_t> fallback = std::nullopt);
  Param& OptionalInt(std::string_view name, std::string_view absent_size);
  Param& Float(std::string_view name, std::optional<double> fallback = std::nullopt);
  Param& String(std::string_view name, std::optional<std::string> fallback = std::nullopt);
  Param& ScalarType(std::string_view name, std::vector<std::string> choices);
  void KeywordOnly() { keyword_only_ = true; }  // from here on
  OutParam& Out(std::string_view name, ir::Elem elem, std::string_view shape,
                std::string_view body_axes = "");
  void Require(std::string_view left, Compare compare, std::string_view right,
               std::string_view sentence);
  void InPlace(std::string_view name, std::vector<std::pair<std::string, std::string>> writes);
  void Body(std::function<void(ops::Body&)> body) { body_ = std::move(body); }

  const std::string& family() const { return family_; }
  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<Param>& params() const { return params_; }
  const std::vector<OutParam>& outs() const { return outs_; }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  const std::vector<InPlaceForm>& in_place_forms() const { return in_place_; }
  const Param* FindParam(std::string_view name) const;

  // Schema in torch's syntax: "tenon::rms_norm(Tensor x, Tensor? weight, float eps=1e-06, ...".
  // `form` names an in-place form, or is empty.
  std::string Schema(std::string_view form = "") const;

  // Every combination of static choices; combinations with equal bodies are listed once each but
  // share the graph's name. Choices of a variant always list all static parameters.
  std::vector<Variant> Variants() const;
  ir::Graph BuildBody(const std::map<std::string, ir::AttrValue>& choices) const;

 private:
  Param& AddParam(std::string_view name);
  std::string family_;
  std::string name_;
  std::string doc_;
  bool keyword_only_ = false;
  std::vector<Param> params_;
  std::vector<OutParam> outs_;
  std::vector<Requirement> requirements_;
  std::vector<InPlaceForm> in_place_;
  std::function<void(ops::Body&)> body_;
};

// Key of the static presence of a tensor in a variant's choices.
inline std::string PresenceKey(std::string_view tensor) { return "has_" + std::string(tensor); }

// "..., heads*head_size" -> {"...", "heads*head_size"}
std::vector<std::string> ShapeEntries(std::string_view shape);

}  // namespace tenon::ops
