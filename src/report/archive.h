// Writes structs to JSON and reads them back through one list of fields per struct (schema.h), so
// that the names of keys and their order are said once.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "analyze/analysis.h"
#include "base/error.h"

namespace tenon::report {

using Json = nlohmann::ordered_json;

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
// A vector of (key, value) pairs is an object that keeps its order.
template <typename T>
struct IsObject : std::false_type {};
template <typename T>
struct IsObject<std::vector<std::pair<std::string, T>>> : std::true_type {};
template <typename T>
struct IsObject<std::map<std::string, T>> : std::true_type {};

class Writer {
 public:
  static constexpr bool kReads = false;

  // `tokens` is the number of tokens at which byte counts are given as plain numbers.
  explicit Writer(int64_t tokens) : tokens_(tokens) {}

  template <typename T>
  void operator()(const char* key, const T& value) {
    json_[key] = Convert(value);
  }

  // The number that a polynomial of the tokens is at `tokens`; null when it has other symbols.
  void Evaluated(const char* key, const std::optional<ir::Dim>& value) {
    json_[key] = Convert(value ? value->TryEval({{"T", tokens_}}) : std::optional<int64_t>());
  }

  template <typename T>
  Json Convert(const T& value) const {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_same_v<T, ir::Dim>) {
      const auto number = value.constant();
      return number ? Json(*number) : Json(value.text());
    } else if constexpr (std::is_same_v<T, analyze::Attr>) {
      return std::visit([this](const auto& held) { return this->Convert(held); }, value.value);
    } else if constexpr (std::is_same_v<T, std::monostate>) {
      return nullptr;
    } else if constexpr (IsOptional<T>::value) {
      return value ? Convert(*value) : Json(nullptr);
    } else if constexpr (IsObject<T>::value) {
      Json object = Json::object();
      for (const auto& [key, item] : value) object[key] = Convert(item);
      return object;
    } else if constexpr (IsVector<T>::value) {
      Json array = Json::array();
      for (const auto& item : value) array.push_back(Convert(item));
      return array;
    } else {
      Writer inner(tokens_);
      // Fields takes its struct by reference so that one list serves both directions.
      Fields(inner, const_cast<T&>(value));
      return std::move(inner.json_);
    }
  }

 private:
  int64_t tokens_;
  Json json_ = Json::object();
};

class Reader {
 public:
  static constexpr bool kReads = true;

  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    TENON_CHECK(json_.is_object(), "{} must be an object, got {}", path_, json_.type_name());
  }

  template <typename T>
  void operator()(const char* key, T& value) {
    const auto found = json_.find(key);
    TENON_CHECK(found != json_.end(), "{} has no key '{}'", path_, key);
    Convert(*found, path_ + (path_.ends_with(':') ? " " : ".") + key, value);
  }

  // Derived from what other keys hold, so not read.
  void Evaluated(const char*, const std::optional<ir::Dim>&) {}

  template <typename T>
  static void Convert(const Json& json, const std::string& path, T& value) {
    if constexpr (std::is_same_v<T, ir::Dim>) {
      ConvertDim(json, path, value);
    } else if constexpr (std::is_same_v<T, analyze::Attr>) {
      ConvertAttr(json, path, value);
    } else if constexpr (IsOptional<T>::value) {
      if (json.is_null()) return value.reset();
      Convert(json, path, value.emplace());
    } else if constexpr (IsObject<T>::value) {
      TENON_CHECK(json.is_object(), "{} must be an object, got {}", path, json.type_name());
      for (const auto& [key, item] : json.items()) {
        typename T::value_type::second_type converted;
        Convert(item, path + "." + key, converted);
        value.insert(value.end(), {key, std::move(converted)});
      }
    } else if constexpr (IsVector<T>::value) {
      TENON_CHECK(json.is_array(), "{} must be an array, got {}", path, json.type_name());
      value.clear();
      for (const Json& item : json) {
        const std::string item_path = fmt::format("{}[{}]", path, value.size());
        Convert(item, item_path, value.emplace_back());
      }
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      ConvertScalar(json, path, value);
    } else {
      Reader inner(json, path);
      Fields(inner, value);
    }
  }

 private:
  template <typename T>
  static void ConvertScalar(const Json& json, const std::string& path, T& value) {
    const bool fits = std::is_same_v<T, bool>          ? json.is_boolean()
                      : std::is_same_v<T, std::string> ? json.is_string()
                      : std::is_integral_v<T>          ? json.is_number_integer()
                                                       : json.is_number();
    const char* expected = std::is_same_v<T, bool>          ? "true or false"
                           : std::is_same_v<T, std::string> ? "a string"
                           : std::is_integral_v<T>          ? "an integer"
                                                            : "a number";
    TENON_CHECK(fits, "{} must be {}, got {}", path, expected, json.dump());
    value = json.get<T>();
  }

  static void ConvertDim(const Json& json, const std::string& path, ir::Dim& value);
  static void ConvertAttr(const Json& json, const std::string& path, analyze::Attr& value);

  const Json& json_;
  std::string path_;
};

}  // namespace tenon::report
