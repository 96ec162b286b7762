// Calling operators by name: the C++ face of the registry.
//
//   tenon::Op norm = tenon::Op::Find("rms_norm");
//   norm.Run({x, weight, 1e-6}, {y});                    // into memory that the caller has
//   std::vector<tenon::Buffer> y = norm.Run({x, weight}); // into fresh memory
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/error.h"
#include "tenon/tensor.h"

namespace tenon {

// An argument of an operator. std::monostate is None for an optional one, else its default.
using Argument = std::variant<std::monostate, Tensor, bool, int64_t, double, std::string, DType,
                              std::vector<int64_t>>;

// A result that is still to be allocated.
struct TensorSpec {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};  // in elements; empty: row-major
  bool operator==(const TensorSpec&) const = default;
};

// A contiguous tensor on the CPU that owns its memory. Copies share it.
class TENON_API Buffer {
 public:
  explicit Buffer(const TensorSpec& spec);
  const Tensor& tensor() const { return tensor_; }

 private:
  std::shared_ptr<void> memory_;  // aligned to a cache line
  Tensor tensor_;
};

namespace ops {
struct OperatorForm;
}

// One form of an operator: the functional one, or an in-place one (its name ends in '_'). Copied
// freely; lives as long as the process.
class TENON_API Op {
 public:
  // UsageError with the nearest names when there is none of that name.
  static Op Find(std::string_view name);
  static std::vector<std::string> Names();  // sorted

  const std::string& name() const;
  std::string schema() const;  // in torch's syntax: "tenon::rms_norm(Tensor x, ..."
  const std::string& doc() const;

  // Arguments in schema order from (name, value) pairs; those not named are left at their defaults.
  std::vector<Argument> Arrange(std::span<const std::pair<std::string, Argument>> named) const;

  // Checks the arguments and says what the results will be. An in-place form has none.
  std::vector<TensorSpec> Infer(std::span<const Argument> arguments) const;

  // UsageError when an argument does not fit, or no kernel takes the call (with their reasons).
  // Results may be strided, but may share no element with each other or with an argument.
  void Run(std::span<const Argument> arguments, std::span<const Tensor> results) const;
  std::vector<Buffer> Run(std::span<const Argument> arguments) const;
  // Into memory that `allocate` gives: it is asked for each result in turn, once the call is known
  // to be good.
  using Allocate = Tensor (*)(void* context, size_t number, const TensorSpec& spec);
  void Run(std::span<const Argument> arguments, Allocate allocate, void* context) const;
  void Run(std::initializer_list<Argument> arguments, std::initializer_list<Tensor> results) const {
    Run({arguments.begin(), arguments.size()}, {results.begin(), results.size()});
  }
  std::vector<Buffer> Run(std::initializer_list<Argument> arguments) const {
    return Run(std::span<const Argument>(arguments.begin(), arguments.size()));
  }

 private:
  explicit Op(const ops::OperatorForm* form) : form_(form) {}
  const ops::OperatorForm* form_;
};

// Hands the CPU backend's rows to the caller's threads instead of Tenon's own: `run` must call
// fn(context, begin, end) for disjoint ranges that cover [0, count), each at least `grain` long but
// the last, and return when all have returned. Null restores Tenon's threads.
using ParallelForHook = void (*)(int64_t count, int64_t grain,
                                 void (*fn)(void* context, int64_t begin, int64_t end),
                                 void* context);
TENON_API void SetParallelFor(ParallelForHook run);

}  // namespace tenon
