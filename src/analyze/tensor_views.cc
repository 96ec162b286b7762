// Views: reshapes, permutations, slices, splits. They cost nothing; `split` alone is an entry.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/tensor_functions.h"
#include "analyze/tensor_rules.h"

namespace tenon::analyze {
namespace {

std::vector<std::string> SplitAxis(const std::string& axis, size_t parts) {
  const bool sharded = axis.ends_with("/tp");
  if (parts == 2) return {sharded ? "heads/tp" : "heads", "head_dim"};
  std::vector<std::string> names;
  for (size_t i = 0; i < parts; ++i) names.push_back(fmt::format("{}.{}", axis, i));
  return names;
}

// Names of the axes after a reshape: kept where a size stays, split and joined in groups of equal
// product; a tensor further down the chain of views with that shape gives its names back.
std::vector<std::string> ReshapedAxes(const TensorObject* from, const Shape& to) {
  for (const TensorObject* t = from; t != nullptr; t = t->base) {
    if (t->shape == to) return t->axes;
  }
  std::vector<std::string> axes;
  size_t i = 0;
  size_t k = 0;
  while (i < from->shape.size() && k < to.size()) {
    size_t old_end = i + 1;
    size_t new_end = k + 1;
    Dim old_product = from->shape[i];
    Dim new_product = to[k];
    while (!(old_product == new_product)) {
      const bool grow_new = Dim::DivideExactly(old_product, new_product).has_value();
      if (grow_new && new_end < to.size()) {
        new_product = new_product * to[new_end++];
      } else if (old_end < from->shape.size()) {
        old_product = old_product * from->shape[old_end++];
      } else {
        break;
      }
    }
    if (old_end - i == 1) {
      if (new_end - k == 1) {
        axes.push_back(from->axes[i]);
      } else {
        for (std::string& name : SplitAxis(from->axes[i], new_end - k)) axes.push_back(name);
      }
    } else {
      std::string joined;
      for (size_t n = i; n < old_end; ++n) joined += (n == i ? "" : "*") + from->axes[n];
      for (size_t n = k; n < new_end; ++n) axes.push_back(joined);
    }
    i = old_end;
    k = new_end;
  }
  while (axes.size() < to.size()) axes.push_back(fmt::format("d{}", axes.size()));
  axes.resize(to.size());
  return axes;
}

// Sizes given as one sequence or as separate arguments, from argument `first` on.
std::vector<Value> SizeArguments(Interpreter& in, Arguments& a, size_t first, const char* keyword) {
  if (const Value* given = a.Find(keyword)) return in.Iterate(*given);
  if (a.positional.size() == first + 1 &&
      (a.positional[first].Is(ObjectKind::kTuple) || a.positional[first].Is(ObjectKind::kList))) {
    return in.Iterate(a.positional[first]);
  }
  return {a.positional.begin() + static_cast<std::ptrdiff_t>(std::min(first, a.positional.size())),
          a.positional.end()};
}

Value Reshaped(Interpreter& in, const Value& base, Shape shape) {
  const auto* t = base.As<TensorObject>();
  std::vector<std::string> axes = ReshapedAxes(t, shape);
  return ViewOf(in, base, "reshape", std::move(shape), std::move(axes), "", {});
}

}  // namespace

Value ReshapeRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  if (!TokenTensor(in, base)) return in.NewUnknown(std::string(f.name));
  const auto* t = base.As<TensorObject>();
  if (a.positional.size() > 1) {
    const std::string dtype = DtypeOf(in, a.positional[1]);
    if (!dtype.empty()) {  // x.view(dtype) reinterprets the bytes
      TensorObject* view = NewView(in, t, t->shape, t->axes, "as " + dtype);
      view->dtype = dtype;
      return view;
    }
  }
  Shape shape;
  int inferred = -1;
  Dim known(1);
  for (const Value& size : SizeArguments(in, a, 1, "shape")) {
    const std::optional<Dim> dim = in.ToDim(size);
    if (!dim && in.strict) in.Refuse("an unknown size");
    if (!dim) {
      TensorObject* view = NewView(in, t, t->shape, t->axes, "reshaped");
      view->known_shape = false;
      return view;
    }
    if (*dim == Dim(-1)) {
      inferred = static_cast<int>(shape.size());
    } else {
      known = known * *dim;
    }
    shape.push_back(*dim);
  }
  if (inferred >= 0) {
    const auto rest = Dim::DivideExactly(Product(t->shape), known);
    if (rest) {
      shape[static_cast<size_t>(inferred)] = *rest;
    } else if (in.strict) {
      in.Refuse(fmt::format("a reshape of {} by {}", DimsText(t->shape), DimsText(shape)));
    } else {
      shape[static_cast<size_t>(inferred)] = Dim("n");
    }
  }
  return Reshaped(in, base, std::move(shape));
}

Value ViewAsRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const auto* other = a.positional.at(1).As<TensorObject>();
  if (other == nullptr) return a.positional[0];
  return Reshaped(in, a.positional[0], other->shape);
}

Value FlattenRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const Value from = Argument(a, 1, "start_dim");
  const Value to = Argument(a, 2, "end_dim");
  const int first = from.Defined() ? AxisOf(from, t->shape.size()) : 0;
  const int last =
      to.Defined() ? AxisOf(to, t->shape.size()) : static_cast<int>(t->shape.size()) - 1;
  if (first < 0 || last < first) return base;
  Shape shape(t->shape.begin(), t->shape.begin() + first);
  shape.push_back(Product(Shape(t->shape.begin() + first, t->shape.begin() + last + 1)));
  shape.insert(shape.end(), t->shape.begin() + last + 1, t->shape.end());
  return Reshaped(in, base, std::move(shape));
}

Value UnflattenRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const int axis = AxisOf(Argument(a, 1, "dim"), t->shape.size());
  if (axis < 0) return OpaqueCall(in, "unflatten", {base});
  Shape parts;
  Dim known(1);
  int inferred = -1;
  for (const Value& size : in.Iterate(Argument(a, 2, "sizes"))) {
    const Dim dim = in.ToDim(size).value_or(Dim(-1));
    if (dim == Dim(-1)) inferred = static_cast<int>(parts.size());
    if (!(dim == Dim(-1))) known = known * dim;
    parts.push_back(dim);
  }
  const Dim& whole = t->shape[static_cast<size_t>(axis)];
  if (inferred >= 0) {
    parts[static_cast<size_t>(inferred)] = Dim::DivideExactly(whole, known).value_or(Dim("n"));
  }
  Shape shape(t->shape.begin(), t->shape.begin() + axis);
  shape.insert(shape.end(), parts.begin(), parts.end());
  shape.insert(shape.end(), t->shape.begin() + axis + 1, t->shape.end());
  return Reshaped(in, base, std::move(shape));
}

Value SqueezeRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const Value dim = Argument(a, 1, "dim");
  const int only = dim.Defined() ? AxisOf(dim, t->shape.size()) : -1;
  Shape shape;
  std::vector<std::string> axes;
  for (size_t i = 0; i < t->shape.size(); ++i) {
    const bool chosen = !dim.Defined() || only == static_cast<int>(i);
    if (chosen && t->shape[i] == Dim(1)) continue;
    shape.push_back(t->shape[i]);
    axes.push_back(t->axes[i]);
  }
  return ViewOf(in, base, "reshape", std::move(shape), std::move(axes), "", {});
}

Value UnsqueezeRule(Interpreter& in, const TensorFunction&, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const int axis = std::max(0, AxisOf(Argument(a, 1, "dim"), t->shape.size() + 1));
  Shape shape = t->shape;
  std::vector<std::string> axes = t->axes;
  shape.insert(shape.begin() + axis, Dim(1));
  axes.insert(axes.begin() + axis, "one");
  return ViewOf(in, base, "reshape", std::move(shape), std::move(axes), "", {});
}

Value PermuteRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  const size_t rank = t->shape.size();
  std::vector<int> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int>(i);
  const std::vector<Value> given = SizeArguments(in, a, 1, "dims");
  if (f.name.ends_with("permute")) {
    if (given.size() != rank) return OpaqueCall(in, "permute", {base});
    for (size_t i = 0; i < rank; ++i) order[i] = AxisOf(given[i], rank);
  } else if (given.size() == 2 || a.keywords.size() == 2) {
    const int x = AxisOf(Argument(a, 1, "dim0"), rank);
    const int y = AxisOf(Argument(a, 2, "dim1"), rank);
    if (x < 0 || y < 0) return OpaqueCall(in, "transpose", {base});
    std::swap(order[static_cast<size_t>(x)], order[static_cast<size_t>(y)]);
  } else if (rank == 2) {
    std::swap(order[0], order[1]);  // t()
  }
  Shape shape;
  std::vector<std::string> axes;
  Attr::List list;
  std::string note = "permute(";
  for (const int at : order) {
    if (at < 0) return OpaqueCall(in, std::string(f.name), {base});
    shape.push_back(t->shape[static_cast<size_t>(at)]);
    axes.push_back(t->axes[static_cast<size_t>(at)]);
    list.push_back(at);
    note += fmt::format("{}{}", list.size() > 1 ? "," : "", at);
  }
  return ViewOf(in, base, "transpose", std::move(shape), std::move(axes), note + ")",
                {{"axes", Attr(list)}});
}

Value ExpandRule(Interpreter& in, const TensorFunction& f, Arguments& a) {
  const Value base = Argument(a, 0, "input");
  const auto* t = base.As<TensorObject>();
  Shape shape;
  if (f.name.ends_with("expand_as")) {
    if (const auto* other = a.positional.at(1).As<TensorObject>()) shape = other->shape;
  } else {
    const std::vector<Value> sizes = SizeArguments(in, a, 1, "size");
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Dim dim = in.ToDim(sizes[i]).value_or(Dim("n"));
      const size_t offset = sizes.size() - t->shape.size();
      shape.push_back(dim == Dim(-1) && i >= offset ? t->shape[i - offset] : dim);
    }
  }
  std::vector<std::string> axes = t->axes;
  while (axes.size() < shape.size()) axes.insert(axes.begin(), "expanded");
  return ViewOf(in, base, "broadcast", std::move(shape), std::move(axes), "", {});
}

Value SameRule(Interpreter&, const TensorFunction&, Arguments& a) {
  return Argument(a, 0, "input");
}

}  // namespace tenon::analyze
