#include "ops/solve.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"

namespace tenon::ops {
namespace {

// Where a size was found.
struct Origin {
  const Param* param;
  int axis;
  int rank;
};

// The symbol, when the size is nothing else.
const std::string* PlainSymbol(const ir::Dim& size) {
  const std::vector<std::string> symbols = size.symbols();
  return symbols.size() == 1 && symbols[0] == size.text() ? &size.text() : nullptr;
}

std::string Possessive(const std::string& name) {
  return name + (name.ends_with('s') ? "'" : "'s");
}

constexpr int64_t kSections = 3;  // time, height, width

class ShapeSolver {
 public:
  ShapeSolver(Resolved& call, std::string_view name) : call_(call), name_(name) {}

  void Run() {
    for (const auto& [size, value] : call_.sizes) given_.insert_or_assign(size, value);
    for (BoundInput& input : call_.inputs) {
      if (input.present && input.param->sections) SeeSections(input);
    }
    FindLead();
    for (BoundInput& input : call_.inputs) {
      if (input.present && input.param->first_rows) TakeFirstRows(input);
    }
    for (BoundInput& input : call_.inputs) {
      if (input.present && input.param->broadcasts) Broadcast(input);
    }
    // A shape with two unknown sizes waits until another argument gives one of them.
    for (bool progress = true; progress;) {
      progress = false;
      for (const BoundInput& input : call_.inputs) {
        if (input.present) progress = SolveInput(input) || progress;
      }
    }
    for (BoundInput& input : call_.inputs) {
      if (input.present) CheckInput(input);
    }
    for (BoundInput& input : call_.inputs) {
      if (!input.present || !input.param->has_view) continue;
      input.view = BodyView(input.view, LeadRank(*input.param),
                            input.param->shapes[static_cast<size_t>(input.shape)],
                            input.param->axes, call_.sizes);
    }
  }

 private:
  int LeadRank(const Param& param) const {
    return param.shapes[0].lead ? static_cast<int>(call_.lead.size()) : 0;
  }

  // "..." is given by the tensor that has nothing else, or by the first that has it.
  void FindLead() {
    const BoundInput* giver = nullptr;
    for (const BoundInput& input : call_.inputs) {
      if (!input.present || !input.param->shapes[0].lead) continue;
      const bool bare = input.param->shapes[0].axes.empty();
      if (giver == nullptr || (bare && !giver->param->shapes[0].axes.empty())) giver = &input;
    }
    if (giver == nullptr) return;
    const int rank = giver->view.rank - giver->param->shapes[0].rank();
    if (rank < 0) {
      throw UsageError(fmt::format("{}: {} must be {}, got {}", name_, giver->param->name,
                                   AlternativesText(*giver->param),
                                   ShapeText(giver->tensor.shape())));
    }
    lead_from_ = giver->param;
    call_.lead.assign(giver->view.sizes.begin(), giver->view.sizes.begin() + rank);
    if (giver->param->broadcasts) JoinLeads();
    int64_t tokens = 1;
    for (int64_t size : call_.lead) tokens *= size;
    call_.sizes["tokens"] = tokens;
  }

  // Where the giver itself broadcasts, an axis that it lacks or has as 1 is another tensor's.
  void JoinLeads() {
    for (const BoundInput& input : call_.inputs) {
      if (!input.present || !input.param->broadcasts) continue;
      const int rank = std::max(input.view.rank - input.param->shapes[0].rank(), 0);
      auto& lead = call_.lead;
      if (static_cast<size_t>(rank) > lead.size()) {
        lead.insert(lead.begin(), static_cast<size_t>(rank) - lead.size(), 1);
      }
      for (int axis = 0; axis < rank; ++axis) {
        int64_t& size = lead[lead.size() - static_cast<size_t>(rank - axis)];
        if (size == 1) size = input.view.sizes[axis];
      }
    }
  }

  // [3, ...] as [..., 3]; one axis alone is the same position three times.
  void SeeSections(BoundInput& input) const {
    const int rank = input.view.rank;
    TENON_CHECK(rank == 1 || (rank > 1 && input.view.sizes[0] == kSections),
                "{}: {} must be [{}, ...] or [tokens], got {}", name_, input.param->name, kSections,
                ShapeText(input.tensor.shape()));
    if (rank > 1) {
      input.view = AxisMovedLast(input.view, 0);
      return;
    }
    input.view.rank = 2;
    input.view.sizes[1] = kSections;
    input.view.strides[1] = 0;
  }

  void TakeFirstRows(BoundInput& input) const {
    const bool one_axis = call_.lead.size() == 1 && input.view.rank >= 1;
    if (one_axis && input.view.sizes[0] > call_.lead[0]) input.view.sizes[0] = call_.lead[0];
  }

  // Leading axes that are missing or 1 become those of the call, with stride 0. What does not fit
  // is left for CheckInput to refuse.
  void Broadcast(BoundInput& input) const {
    const auto lead = static_cast<int>(call_.lead.size());
    const int rank = lead + input.param->shapes[0].rank();
    if (input.view.rank > rank) return;
    Tensor wide = input.view;
    wide.rank = rank;
    const int missing = rank - input.view.rank;
    for (int axis = 0; axis < rank; ++axis) {
      const bool given = axis >= missing;
      const int64_t size = given ? input.view.sizes[axis - missing] : 1;
      const bool expands = axis < lead && size == 1;
      wide.sizes[axis] = expands ? call_.lead[static_cast<size_t>(axis)] : size;
      wide.strides[axis] = expands || !given ? 0 : input.view.strides[axis - missing];
    }
    input.view = wide;
  }

  bool RankFits(const BoundInput& input, const Shape& shape) const {
    return input.view.rank == LeadRank(*input.param) + shape.rank();
  }

  bool LeadFits(const BoundInput& input) const {
    return !input.param->shapes[0].lead ||
           std::equal(call_.lead.begin(), call_.lead.end(), input.view.sizes.begin());
  }

  // No entry contradicts what is known; with `complete`, all of them are known.
  bool Fits(const BoundInput& input, const Shape& shape, bool complete) const {
    if (!RankFits(input, shape)) return false;
    const int lead = LeadRank(*input.param);
    for (int i = 0; i < shape.rank(); ++i) {
      const ir::Dim& size = shape.axes[static_cast<size_t>(i)].size;
      const bool known = size.HasValue(call_.sizes);
      if (known ? size.Eval(call_.sizes) != input.view.sizes[lead + i] : complete) return false;
    }
    return true;
  }

  bool SolveInput(const BoundInput& input) {
    bool progress = false;
    for (const Shape& shape : input.param->shapes) {
      if (!Fits(input, shape, /*complete=*/false)) continue;
      const int lead = LeadRank(*input.param);
      for (int i = 0; i < shape.rank(); ++i) {
        const ir::Dim& size = shape.axes[static_cast<size_t>(i)].size;
        if (size.HasValue(call_.sizes)) continue;
        const auto solution = size.Solve(input.view.sizes[lead + i], call_.sizes);
        if (!solution) continue;
        call_.sizes.insert(*solution);
        origins_[solution->first] = {input.param, lead + i, input.view.rank};
        progress = true;
      }
      return progress;
    }
    return false;
  }

  void CheckInput(BoundInput& input) {
    const auto& shapes = input.param->shapes;
    const auto fit = std::find_if(shapes.begin(), shapes.end(), [&](const Shape& shape) {
      return LeadFits(input) && Fits(input, shape, /*complete=*/true);
    });
    if (fit == shapes.end()) Refuse(input);
    input.shape = static_cast<int>(fit - shapes.begin());
    for (int axis = LeadRank(*input.param); axis < input.view.rank; ++axis) {
      TENON_CHECK(input.param->may_be_empty || input.view.sizes[axis] > 0,
                  "{}: {} must not be empty along its {}, got {}", name_, input.param->name,
                  AxisText(axis, input.view.rank), ShapeText(input.tensor.shape()));
    }
    const size_t body_rank = input.param->axes.size() + call_.lead.size();
    TENON_CHECK(body_rank <= kMaxRank, "{}: {} has too many axes: {}", name_, input.param->name,
                ShapeText(input.tensor.shape()));
  }

  [[noreturn]] void Refuse(const BoundInput& input) const {
    if (input.param->sections) {
      std::vector<int64_t> expected = call_.lead;
      expected.insert(expected.begin(), kSections);
      throw UsageError(fmt::format("{}: {} must be {} or [{}] like {} leading axes, got {}", name_,
                                   input.param->name, ShapeText(expected), call_.sizes.at("tokens"),
                                   Possessive(lead_from_->name), ShapeText(input.tensor.shape())));
    }
    const auto& shapes = input.param->shapes;
    const auto fit = std::find_if(shapes.begin(), shapes.end(),
                                  [&](const Shape& shape) { return RankFits(input, shape); });
    const bool one = shapes.size() == 1 || fit != shapes.end();
    const Shape& nearest = fit != shapes.end() ? *fit : shapes[0];
    throw UsageError(
        fmt::format("{}: {} must be {}{}, got {}", name_, input.param->name,
                    one ? ExpectedText(*input.param, nearest) : AlternativesText(*input.param),
                    one ? LikeText(input, nearest) : "", ShapeText(input.tensor.shape())));
  }

  bool KnownElsewhere(const Param& param, const ir::Dim& size) const {
    if (!size.HasValue(call_.sizes)) return false;
    const std::vector<std::string> symbols = size.symbols();
    return std::none_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
      const auto origin = origins_.find(symbol);
      return origin != origins_.end() && origin->second.param == &param;
    });
  }

  // What is known in numbers, the rest as the contract writes it.
  std::string ExpectedText(const Param& param, const Shape& shape) const {
    std::vector<std::string> parts;
    if (shape.lead && (lead_from_ == nullptr || lead_from_ == &param)) parts.push_back("...");
    if (shape.lead && lead_from_ != nullptr && lead_from_ != &param) {
      for (int64_t size : call_.lead) parts.push_back(std::to_string(size));
    }
    for (const ir::Axis& axis : shape.axes) {
      parts.push_back(KnownElsewhere(param, axis.size) ? std::to_string(axis.size.Eval(call_.sizes))
                                                       : axis.size.text());
    }
    return "[" + Join(parts, ", ") + "]";
  }

  std::string AlternativesText(const Param& param) const {
    std::vector<std::string> texts;
    for (const Shape& shape : param.shapes) texts.push_back(ExpectedText(param, shape));
    return OrText(texts);
  }

  // Where the expectation comes from: " like x's last axis", " with head_size = 64".
  std::string LikeText(const BoundInput& input, const Shape& shape) const {
    if (shape.lead && lead_from_ != input.param && lead_from_ != nullptr && !LeadFits(input)) {
      const bool whole = shape.text() == lead_from_->shapes[0].text();
      return " like " + (whole ? lead_from_->name : Possessive(lead_from_->name) + " leading axes");
    }
    std::string with;
    const int first = input.tensor.rank - shape.rank();
    for (int i = 0; i < shape.rank(); ++i) {
      const ir::Axis& axis = shape.axes[static_cast<size_t>(i)];
      // An axis that is as expected is not the reason.
      const bool known = first >= 0 && axis.size.HasValue(call_.sizes);
      if (known && axis.size.Eval(call_.sizes) == input.tensor.sizes[first + i]) continue;
      for (const std::string& symbol : axis.size.symbols()) {
        const auto given = given_.find(symbol);
        const auto origin = origins_.find(symbol);
        if (given != given_.end()) {
          with += fmt::format("{}{} = {}", with.empty() ? " with " : ", ", symbol, given->second);
        } else if (origin != origins_.end() && origin->second.param != input.param) {
          return LikeOrigin(shape, axis, origin->second);
        }
      }
    }
    return with;
  }

  std::string LikeOrigin(const Shape& shape, const ir::Axis& axis, const Origin& origin) const {
    const std::string& other = origin.param->name;
    const bool whole = std::any_of(origin.param->shapes.begin(), origin.param->shapes.end(),
                                   [&](const Shape& s) { return s.text() == shape.text(); });
    if (whole) return " like " + other;
    if (PlainSymbol(axis.size) == nullptr) return " to fit " + other;
    return fmt::format(" like {} {}", Possessive(other), AxisText(origin.axis, origin.rank));
  }

  static std::string AxisText(int axis, int rank) {
    if (axis == rank - 1) return "last axis";
    return axis == 0 ? "first axis" : fmt::format("axis {}", axis);
  }

  Resolved& call_;
  std::string_view name_;
  ir::Bindings given_;  // by attributes and absent arguments
  std::map<std::string, Origin> origins_;
  const Param* lead_from_ = nullptr;
};

}  // namespace

void SolveShapes(Resolved& call, std::string_view name) { ShapeSolver(call, name).Run(); }

void CheckRequirements(const Resolved& call, std::string_view name) {
  const Contract& contract = call.op->contract();
  for (const Requirement& r : contract.requirements()) {
    const int64_t left = r.left.Eval(call.sizes);
    const int64_t right = r.right.Eval(call.sizes);
    const bool holds = r.compare == Compare::kEq   ? left == right
                       : r.compare == Compare::kLe ? left <= right
                                                   : left != 0 && right % left == 0;
    TENON_CHECK(holds, "{}: {}, got {} and {}", name, r.sentence, left, right);
  }
  for (const Param& param : contract.params()) {
    if (!param.none_with.empty()) {
      const auto& word = std::get<std::string>(call.attributes.at(param.none_with));
      TENON_CHECK(word != param.none_when || !call.FindInput(param.name)->present,
                  "{}: {} must be None when {} is {}", name, param.name, param.none_with, word);
    }
    for (const std::string& tensor : param.zero_without) {
      const double value = std::get<double>(call.attributes.at(param.name));
      TENON_CHECK(value == 0 || call.FindInput(tensor)->present,
                  "{}: {} must be 0 when {} is None, got {}", name, param.name, tensor, value);
    }
  }
}

Tensor BodyView(const Tensor& tensor, int lead_rank, const Shape& shape,
                const std::vector<ir::Axis>& axes, const ir::Bindings& sizes) {
  Tensor view = tensor;
  view.rank = lead_rank;
  size_t next = shape.lead ? 1 : 0;  // after `tokens`
  const auto push = [&](size_t axis, int64_t stride) {
    view.sizes[view.rank] = axes[axis].size.Eval(sizes);
    view.strides[view.rank++] = stride;
  };
  const bool one_element =
      std::all_of(shape.axes.begin(), shape.axes.end(),
                  [](const ir::Axis& axis) { return axis.size == ir::Dim(1); });
  if (one_element) {
    for (; next < axes.size(); ++next) push(next, 0);
    return view;
  }
  for (int i = 0; i < shape.rank(); ++i) {
    // The body axes that together make up this one; none for a 1 that the body has not.
    const size_t begin = next;
    ir::Dim product(1);
    while (next < axes.size() && !(product == shape.axes[static_cast<size_t>(i)].size)) {
      product = product * axes[next++].size;
    }
    TENON_ASSERT(product == shape.axes[static_cast<size_t>(i)].size,
                 "[{}] cannot be seen with the axes of its body", shape.text());
    const int first = view.rank;
    for (size_t axis = begin; axis < next; ++axis) push(axis, 0);
    int64_t stride = tensor.strides[lead_rank + i];
    for (int axis = view.rank - 1; axis >= first; --axis) {
      view.strides[axis] = stride;
      stride *= view.sizes[axis];
    }
  }
  return view;
}

Tensor AxisMovedLast(const Tensor& tensor, int axis) {
  Tensor view = tensor;
  const auto rotate = [&](auto& list) {
    std::rotate(list.begin() + axis, list.begin() + axis + 1, list.begin() + tensor.rank);
  };
  rotate(view.sizes);
  rotate(view.strides);
  return view;
}

void CheckMemory(std::string_view op, std::string_view argument, const Tensor& tensor) {
  TENON_CHECK(tensor.rank >= 0 && tensor.rank <= kMaxRank,
              "{}: {} must have at most {} axes, got {}", op, argument, kMaxRank, tensor.rank);
  for (int64_t size : tensor.shape()) {
    TENON_CHECK(size >= 0, "{}: {} has a negative size: {}", op, argument,
                ShapeText(tensor.shape()));
  }
  TENON_CHECK(tensor.data != nullptr || tensor.numel() == 0, "{}: {} has no memory", op, argument);
  TENON_CHECK(
      reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(ItemSize(tensor.dtype)) ==
          0,
      "{}: {} is not aligned to its elements of {} bytes", op, argument, ItemSize(tensor.dtype));
}

std::string OrText(std::span<const std::string> choices) {
  if (choices.size() < 2) return Join(choices, "");
  return Join(choices.first(choices.size() - 1), ", ") + " or " + choices.back();
}

std::string StridesText(const Tensor& tensor) {
  return ShapeText({tensor.strides.data(), static_cast<size_t>(tensor.rank)});
}

}  // namespace tenon::ops
