#include "ops/kernel_testing.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/check.h"
#include "ops/generated_row.h"
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
                     {"num_heads_q", r[0]},
                     {"num_heads_k", r[1]},
                     {"num_heads_v", r[1]},
                     {"head_size", r[2]},
                     {"head_dim", r[2]},
                     {"half", r[3]},
                     {"rows", 19},
                     {"rope_dim_offset", r[4]}});
  }
  return sizes;
}

std::vector<Sizes> SizesOf(const Contract& contract, bool all) {
  if (!contract.has_body()) {
    return {{{"rotary_dim", 64},
             {"half", 32},
             {"max_position", 7},
             {"original_max_position", 4096},
             {"num_heads", 2},
             {"num_kv_heads", 1},
             {"head_dim", 64},
             {"size", 6},
             {"dim", 0},
             {"words", 5},
             {"padded_size", 16},
             {"org_vocab_size", 4},
             {"heads", 4},
             {"head_size", 64},
             {"groups", 2},
             {"low_rank", 3},
             {"width", 128},
             {"k", contract.name() == "fp8_blockwise_scaled_mm" ? 128 : 6},
             {"n", 5},
             {"ids", 3},
             {"capacity", 4},
             {"world_size", 1},
             {"batch", 2},
             {"length", 5},
             {"a0", 3},
             {"a1", 4},
             {"b0", 4},
             {"b1", 5},
             {"rows", 12},
             {"hidden", 9},
             {"num_embeddings", 1026},
             {"org_num_embeddings", 1010},
             {"padding_size", 64},
             {"rank", 0},
             {"channels", 6},
             {"depth", 5},
             {"height", 4},
             {"out_channels", 4},
             {"group_channels", 3},
             {"kernel_depth", 2},
             {"kernel_height", 3},
             {"kernel_width", 1},
             {"w0", 7},
             {"d", 5},
             {"m", 3},
             {"org_vocab_start_index", 0},
             {"org_vocab_end_index", 6},
             {"num_org_vocab_padding", 2},
             {"added_vocab_start_index", 6},
             {"added_vocab_end_index", 9}}};
  }
  if (HasSize(contract, "k") || HasSize(contract, "v_head_size")) {
    const int64_t n = contract.FindParam("add_residual") != nullptr ? 9 : 7;  // then k
    return {{{"n", n},
             {"d", 5},
             {"k", 9},
             {"m", 4},
             {"batch", 3},
             {"hidden", 9},
             {"num_heads", 4},
             {"num_kv_heads", 2},
             {"head_size", 3},
             {"v_head_size", 2}}};
  }
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
    if (param.name == "output_sizes") {
      spec.attributes[param.name] = std::vector<int64_t>{3, 0, 2};
    } else if (param.name == "dim" && param.kind == AttrKind::kIntList) {
      spec.attributes[param.name] = std::vector<int64_t>{0};
    } else if (param.name == "shard_sizes") {
      spec.attributes[param.name] = std::vector<int64_t>{12};
    } else if (param.name == "shard_indices") {
      spec.attributes[param.name] = std::vector<int64_t>{0, 6, 2, 6, 9, 12};
    } else if (!param.is_tensor && param.kind == AttrKind::kIntList && !param.fallback) {
      const int64_t third = spec.sizes.at("half") / 3;
      spec.attributes[param.name] =
          std::vector<int64_t>{spec.sizes.at("half") - 2 * third, third, third};
    }
    const bool undecided = !contract.has_body() && !param.is_tensor && !param.fallback;
    if (undecided && param.kind == AttrKind::kBool) spec.attributes[param.name] = false;
    if (undecided && param.kind == AttrKind::kString) {  // "": the group of one rank
      spec.attributes[param.name] = param.choices.empty() ? "" : param.choices[0];
    }
    const bool needs_number = !param.is_tensor && param.kind == AttrKind::kFloat && !param.fallback;
    if (needs_number) spec.attributes[param.name] = 0.75;
    if (!param.is_tensor && param.kind == AttrKind::kDType && !contract.has_body()) {
      spec.attributes[param.name] = DType::kBF16;
    }
    if (!param.is_static || !choices.contains(param.name)) continue;
    const ir::AttrValue& value = choices.at(param.name);
    if (const bool* flag = std::get_if<bool>(&value)) spec.attributes[param.name] = *flag;
    if (const auto* word = std::get_if<std::string>(&value)) spec.attributes[param.name] = *word;
  }
}

// Optional tensors, and attributes away from their defaults.
void GiveAll(const Contract& contract, const Choices& choices, CaseSpec& spec) {
  for (const Param& param : contract.params()) {
    const bool refused =
        !param.none_with.empty() && choices.at(param.none_with) == ir::AttrValue(param.none_when);
    const bool limits = contract.row_limit() && contract.row_limit()->list == param.name;
    if (param.optional && !param.static_presence && !refused && !limits) {
      spec.given.insert(param.name);
    }
    if (param.name == "mrope_interleaved") spec.attributes[param.name] = true;
    if (param.name == "scale_ue8m0") spec.attributes[param.name] = true;
    if (param.name == "weight_offset") spec.attributes[param.name] = 1.0;
    if (param.name == "inverse") spec.attributes[param.name] = true;
    if (param.name == "eps") spec.attributes[param.name] = 1e-3;
    if (param.name == "alpha") spec.attributes[param.name] = 1.25;
    if (param.name == "beta") spec.attributes[param.name] = 0.5;
  }
}

std::vector<CaseSpec> MakeCases(const std::string& name, bool all) {
  const OperatorForm& form = FindOperator(name);
  const Contract& contract = form.op->contract();
  std::vector<CaseSpec> specs;
  for (const Sizes& sizes : SizesOf(contract, all)) {
    std::vector<Choices> all_choices;
    for (const Variant& variant : form.op->variants()) all_choices.push_back(variant.choices);
    if (all_choices.empty()) all_choices.emplace_back();  // a function
    for (const Choices& choices : all_choices) {
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
        Choose(contract, choices, spec);
        if (everything) GiveAll(contract, choices, spec);
        specs.push_back(std::move(spec));
      }
    }
  }
  return specs;
}

}  // namespace

std::vector<CaseSpec> EdgeCases(const std::string& form) { return MakeCases(form, true); }
std::vector<CaseSpec> PlainCases(const std::string& form) { return MakeCases(form, false); }

std::vector<std::string> GeneratedNames() {
  std::vector<std::string> names = OperatorNames();
  std::erase_if(names, [](const std::string& name) {
    return FindOperator(name).op->contract().structural();
  });
  return names;
}

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

std::vector<uint8_t> WithOneNan(std::vector<uint8_t> bits, DType dtype) {
  const int64_t item = ItemSize(dtype);
  for (int64_t i = 0; IsFloat(dtype) && i < static_cast<int64_t>(bits.size()) / item; ++i) {
    if (std::isnan(LoadElement(bits.data(), dtype, i))) {
      std::fill_n(bits.begin() + i * item, item, GuardedTensor::kGuard);
    }
  }
  return bits;
}

Bits WithOneNan(Bits bits, const Case& test) {
  const std::vector<Tensor> written = test.written();
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = WithOneNan(std::move(bits[i]), written[i].dtype);
  }
  return bits;
}

Bits RunBits(Case& test, cpu::Target target) {
  test.FillTensors();
  RunGenerated(target, test.call(), test.OutputViews());
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
  const std::string deviation = DeviationFromReference(test);
  EXPECT_EQ(deviation, "");
}

}  // namespace tenon::ops
