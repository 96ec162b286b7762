#include "ops/kernel_testing.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/generated_row.h"
#include "ops/reference.h"
#include "ops/strided.h"

namespace tenon::ops {
namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

bool HasSize(const Contract& contract, std::string_view size) {
  for (const Param& param : contract.params()) {
    if (!param.is_tensor && param.name == size) return true;
    for (const ir::Axis& axis :
         param.shapes.empty() ? std::vector<ir::Axis>() : param.shapes[0].axes) {
      const std::vector<std::string> symbols = axis.size.symbols();
      if (std::find(symbols.begin(), symbols.end(), size) != symbols.end()) return true;
    }
  }
  return false;
}

std::vector<Sizes> RopeSizes(bool all) {
  const std::vector<std::vector<int64_t>> rows =
      all ? std::vector<std::vector<int64_t>>{{1, 1, 2, 1, 0},    {2, 1, 7, 3, 1},
                                              {4, 2, 64, 32, 0},  {3, 3, 96, 48, 0},
                                              {2, 1, 128, 64, 0}, {2, 2, 80, 20, 8},
                                              {1, 1, 256, 32, 0}, {2, 1, 512, 32, 448},
                                              {5, 1, 34, 17, 0},  {2, 1, 192, 96, 0}}
          : std::vector<std::vector<int64_t>>{{4, 2, 80, 20, 8}};
  std::vector<Sizes> sizes;
  for (const auto& r : rows) {
    sizes.push_back({{"heads", r[0]},
                     {"kv_heads", r[1]},
                     {"num_heads", r[0]},
                     {"num_kv_heads", r[1]},
                     {"head_size", r[2]},
                     {"head_dim", r[2]},
                     {"half", r[3]},
                     {"rows", 19},
                     {"rope_dim_offset", r[4]}});
  }
  return sizes;
}

std::vector<Sizes> SizesOf(const Contract& contract, bool all) {
  if (HasSize(contract, "half")) return RopeSizes(all);
  if (HasSize(contract, "group_size")) {
    if (!all) return {{{"groups", 3}, {"group_size", 40}}};
    return {{{"groups", 1}, {"group_size", 1}},   {{"groups", 5}, {"group_size", 7}},
            {{"groups", 2}, {"group_size", 33}},  {{"groups", 4}, {"group_size", 128}},
            {{"groups", 1}, {"group_size", 511}}, {{"groups", 3}, {"group_size", 16}}};
  }
  std::vector<Sizes> sizes;
  const std::vector<int64_t> lanes =
      all ? std::vector<int64_t>{1,  2,  3,  7,  8,   9,   15,  16,  17,   31,  32,
                                 33, 63, 64, 65, 127, 129, 255, 257, 1000, 1031}
          : std::vector<int64_t>{163};
  for (const char* size : {"d", "hidden", "width"}) {
    for (int64_t lane : lanes) {
      if (HasSize(contract, size)) sizes.push_back({{size, lane}});
    }
  }
  return sizes;
}

// Fixes the static parameters as a variant does.
void Choose(const Contract& contract, const Choices& choices, CaseSpec& spec) {
  for (const Param& param : contract.params()) {
    if (param.static_presence && std::get<bool>(choices.at(PresenceKey(param.name)))) {
      if (param.is_tensor) {
        spec.given.insert(param.name);
      } else {
        spec.attributes[param.name] = (spec.sizes.at("hidden") + 1) / 2;
      }
    }
    if (!param.is_static) continue;
    const ir::AttrValue& value = choices.at(param.name);
    if (const bool* flag = std::get_if<bool>(&value)) spec.attributes[param.name] = *flag;
    if (const auto* word = std::get_if<std::string>(&value)) spec.attributes[param.name] = *word;
  }
}

// Optional tensors, and attributes away from their defaults.
void GiveAll(const Contract& contract, CaseSpec& spec) {
  for (const Param& param : contract.params()) {
    if (param.optional && !param.static_presence) spec.given.insert(param.name);
    if (param.name == "weight_offset") spec.attributes[param.name] = 1.0;
    if (param.name == "inverse") spec.attributes[param.name] = true;
    if (param.name == "eps") spec.attributes[param.name] = 1e-3;
  }
}

std::vector<CaseSpec> MakeCases(const std::string& name, bool all) {
  const OperatorForm& form = FindOperator(name);
  const Contract& contract = form.op->contract();
  std::vector<CaseSpec> specs;
  for (const Sizes& sizes : SizesOf(contract, all)) {
    for (const Variant& variant : form.op->variants()) {
      for (bool everything : {false, true}) {
        CaseSpec spec;
        spec.op = name;
        for (const auto& [size, value] : sizes) {
          const Param* param = contract.FindParam(size);
          if (param != nullptr) {
            spec.attributes[size] = value;
          }
          if (HasSize(contract, size)) spec.sizes[size] = value;
        }
        Choose(contract, variant.choices, spec);
        if (everything) GiveAll(contract, spec);
        specs.push_back(std::move(spec));
      }
    }
  }
  return specs;
}

struct Tolerance {
  double rtol;
  double atol;
};

// How often a value is rounded to a storage type on its way to node `id`.
int Roundings(const ir::Graph& graph, ir::NodeId id) {
  std::vector<int> count(static_cast<size_t>(id) + 1, 0);
  for (ir::NodeId n = 0; n <= id; ++n) {
    const ir::Node& node = graph.node(n);
    for (ir::NodeId arg : node.args) {
      count[static_cast<size_t>(n)] =
          std::max(count[static_cast<size_t>(n)], count[static_cast<size_t>(arg)]);
    }
    const bool rounds = node.op == ir::Op::kRound && node.type.elem == ir::Elem::Storage();
    if (rounds) ++count[static_cast<size_t>(n)];
  }
  return count[static_cast<size_t>(id)];
}

Tolerance ToleranceOf(DType dtype, int roundings) {
  const bool one = roundings <= 1;
  switch (dtype) {
    case DType::kF32:
      return one ? Tolerance{1e-5, 1e-5} : Tolerance{2e-5, 2e-5};
    case DType::kF16:
      return one ? Tolerance{1e-3, 1e-4} : Tolerance{2e-3, 1e-3};
    default:
      return one ? Tolerance{8e-3, 1e-3} : Tolerance{1.6e-2, 8e-3};
  }
}

// The largest finite magnitude of each row: what the cancellation of a rotation, or of a sum that a
// huge gate multiplies, is relative to.
std::vector<double> RowScales(const ir::HostArray& values, int64_t rows) {
  std::vector<double> scales(static_cast<size_t>(std::max<int64_t>(rows, 1)), 1.0);
  if (rows == 0) return scales;
  const int64_t width = std::max<int64_t>(values.numel() / std::max<int64_t>(rows, 1), 1);
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double v = std::abs(values.Value(i));
    double& scale = scales[static_cast<size_t>(i / width)];
    if (std::isfinite(v)) scale = std::max(scale, v);
  }
  return scales;
}

bool SameSpecial(double got, double expected) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  return got == expected;
}

void ExpectFloats(const Tensor& output, const ir::HostArray& expected, Tolerance tolerance,
                  const std::vector<double>& scales) {
  const int64_t width =
      std::max<int64_t>(expected.numel() / static_cast<int64_t>(scales.size()), 1);
  int64_t i = 0;
  int wrong = 0;
  ForEachElement(output, [&](int64_t offset) {
    const double got = LoadElement(output.data, output.dtype, offset);
    const double reference = expected.Value(i);
    const double rounded = RoundTo(reference, output.dtype);
    const double atol = tolerance.atol * scales[static_cast<size_t>(i / width)];
    const bool ok = std::isfinite(rounded) && std::isfinite(got)
                        ? std::abs(got - reference) <= atol + tolerance.rtol * std::abs(reference)
                        : SameSpecial(got, rounded);
    if (!ok && ++wrong <= 5) {
      ADD_FAILURE() << "element " << i << " (row " << i / width << "): " << got << ", reference "
                    << reference;
    }
    ++i;
  });
  EXPECT_EQ(wrong, 0) << "of " << i;
}

// Position among the values of a quantised type.
int Step(double value, DType dtype) {
  if (dtype == DType::kI8) return static_cast<int>(value);
  const int magnitude = ToF8E4M3(static_cast<float>(std::abs(value))).bits;
  return value < 0 ? -magnitude : magnitude;
}

void ExpectQuantised(const Tensor& output, const ir::HostArray& expected) {
  int64_t i = 0;
  int64_t off = 0;
  ForEachElement(output, [&](int64_t offset) {
    const double got = LoadElement(output.data, output.dtype, offset);
    const double reference = RoundTo(expected.Value(i), output.dtype);
    const bool nan = std::isnan(got) || std::isnan(reference);
    EXPECT_TRUE(nan ? SameSpecial(got, reference)
                    : std::abs(Step(got, output.dtype) - Step(reference, output.dtype)) <= 1)
        << "element " << i << ": " << got << ", reference " << reference;
    off += !nan && got != reference;
    ++i;
  });
  // A row whose largest element rounds the other way has another scale, which moves up to a
  // sixteenth of its elements: a single row may exceed 1 % of a small tensor.
  EXPECT_LE(off, std::max<int64_t>(8, i / 100)) << "elements off by one step, of " << i;
}

}  // namespace

std::vector<CaseSpec> EdgeCases(const std::string& form) { return MakeCases(form, true); }
std::vector<CaseSpec> PlainCases(const std::string& form) { return MakeCases(form, false); }

std::vector<CaseSpec> ModelCases(const std::string& form) {
  std::vector<CaseSpec> specs;
  const std::filesystem::path folder(TENON_SOURCE_DIR "/bench/shapes");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    for (CaseSpec& spec : ReadCases(file.path())) {
      if (spec.op == form) specs.push_back(std::move(spec));
    }
  }
  return specs;
}

std::vector<uint8_t> BitsOf(const Tensor& tensor) {
  std::vector<uint8_t> bits;
  const int64_t item = ItemSize(tensor.dtype);
  ForEachElement(tensor, [&](int64_t offset) {
    const auto* element = tensor.ptr<uint8_t>() + offset * item;
    bits.insert(bits.end(), element, element + item);
  });
  return bits;
}

Bits RunBits(Case& test, cpu::Target target) {
  test.FillTensors();
  RunGenerated(GeneratedKernel(test.call()), target, test.call(), test.OutputViews());
  EXPECT_TRUE(test.GuardsIntact()) << "memory outside the tensors was written";
  Bits bits;
  for (const Tensor& tensor : test.written()) bits.push_back(BitsOf(tensor));
  return bits;
}

Bits RunBits(const CaseSpec& spec) {
  Case test(spec);
  return RunBits(test);
}

void ExpectMatchesReference(const Case& test) {
  const Resolved& call = test.call();
  // The arguments of an in-place form are gone: a fresh copy has them.
  Case fresh(test.spec());
  const std::vector<ir::HostArray> expected = ReferenceValues(fresh.call());
  const std::vector<Tensor> outputs = test.OutputViews();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (call.outputs[i].none) continue;
    SCOPED_TRACE("output " + call.outputs[i].param->name);
    const DType dtype = outputs[i].dtype;
    ASSERT_EQ(outputs[i].numel(), expected[i].numel());
    if (dtype == DType::kI8 || dtype == DType::kF8E4M3) {
      ExpectQuantised(outputs[i], expected[i]);
      continue;
    }
    const ir::Graph& graph = call.variant->graph;
    const bool cancels =
        call.op->contract().family() == "rope" || test.spec().fill == Fill::kAdversarial;
    ExpectFloats(outputs[i], expected[i],
                 ToleranceOf(dtype, Roundings(graph, graph.outputs()[i].value)),
                 RowScales(expected[i], cancels ? call.sizes.at("tokens") : 0));
  }
}

}  // namespace tenon::ops
