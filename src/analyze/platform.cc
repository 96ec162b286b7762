#include "analyze/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyze/json_attr.h"
#include "base/dtype.h"

namespace tenon::analyze {
namespace {

struct PlatformFacts {
  std::string_view name;
  std::string_view absent;  // import roots and compiled modules that this platform lacks
};

// What `import x` does on each platform with its usual requirements installed. Modules that are
// neither here nor in the tree are taken to be there.
constexpr PlatformFacts kPlatforms[] = {
    {"cuda",
     " aiter torch_npu vllm_ascend torch_xla habana_frameworks intel_extension_for_pytorch "
     "vllm._rocm_C vllm._xpu_C "},
    {"rocm",
     " flashinfer deep_gemm deep_ep cutlass aiter torch_npu vllm_ascend torch_xla "
     "vllm._xpu_C "},
    {"xpu",
     " flashinfer deep_gemm deep_ep cutlass aiter torch_npu vllm_ascend torch_xla "
     "vllm._C vllm._rocm_C "},
    {"cpu",
     " flashinfer deep_gemm deep_ep cutlass triton aiter torch_npu vllm_ascend torch_xla "
     "vllm._moe_C vllm._rocm_C vllm._xpu_C "},
    {"ascend",
     " flashinfer deep_gemm deep_ep cutlass aiter torch_xla vllm._C vllm._moe_C "
     "vllm._rocm_C vllm._xpu_C "}};

const PlatformFacts* FindFacts(std::string_view name) {
  for (const PlatformFacts& facts : kPlatforms) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

}  // namespace

std::pair<std::string, Attr> ParseSet(const std::string& text) {
  const size_t equals = text.find('=');
  TENON_CHECK(equals != std::string::npos && equals != 0,
              "analyze: --set needs key=value, got '{}'", text);
  const std::string raw = text.substr(equals + 1);
  const auto json = nlohmann::ordered_json::parse(raw, nullptr, false);
  return {text.substr(0, equals), json.is_discarded() ? Attr(raw) : AttrFromJson(json)};
}

bool Platform::Installed(std::string_view module) const {
  const std::string_view absent = FindFacts(name)->absent;
  return absent.find(fmt::format(" {} ", module)) == std::string_view::npos;
}

Platform MakePlatform(const AnalyzeOptions& options) {
  Platform platform;
  TENON_CHECK(FindFacts(options.platform) != nullptr,
              "analyze: --platform must be cuda, rocm, xpu, cpu or ascend, got '{}'",
              options.platform);
  const std::optional<DType> dtype = ParseDType(options.dtype);
  TENON_CHECK(dtype && IsFloat(*dtype), "analyze: --dtype must be a floating type, got '{}'",
              options.dtype);
  TENON_CHECK(options.tp >= 0, "analyze: --tp must be at least 1, got {}", options.tp);
  TENON_CHECK(!options.tokens.empty() &&
                  *std::min_element(options.tokens.begin(), options.tokens.end()) >= 1,
              "analyze: --tokens needs numbers of at least 1");
  platform.name = options.platform;
  platform.sm = options.sm;
  platform.tp = std::max(options.tp, 1);
  platform.dtype = TorchName(*dtype);
  platform.tokens = options.tokens;
  platform.max_tokens = *std::max_element(options.tokens.begin(), options.tokens.end());
  for (const std::string& set : options.sets) {
    auto [key, value] = ParseSet(set);
    platform.facts[key] = std::move(value);
  }
  return platform;
}

}  // namespace tenon::analyze
