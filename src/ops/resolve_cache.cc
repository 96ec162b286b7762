#include "ops/resolve_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/dtype.h"
#include "ops/c_values.h"
#include "ops/dispatch.h"
#include "ops/solve.h"

namespace tenon::ops {
namespace {

// The first word of an argument: its kind. Named dtypes of the C ABI are another kind than DType.
constexpr uint64_t kNamedDType = 8;

// Room for one argument: a tensor of kMaxRank axes. Longer words and lists have no key.
constexpr ptrdiff_t kArgumentWords = 2 + 2 * kMaxRank;
constexpr ptrdiff_t kKeyWords = 40 * kArgumentWords;

// Writes the words of a key, each argument into the room that was asked for.
class KeyWriter {
 public:
  explicit KeyWriter(uint64_t* words) : begin_(words), at_(words) {}

  void Add(uint64_t word) { *at_++ = word; }
  void Add(int64_t word) { Add(static_cast<uint64_t>(word)); }
  bool HasRoom(size_t words = kArgumentWords) const {
    return words <= static_cast<size_t>(kKeyWords - (at_ - begin_));
  }
  std::span<const uint64_t> words() const { return {begin_, at_}; }

  // Strides follow.
  void AddTensor(DType dtype, Device device, int32_t device_index, bool is_null,
                 std::span<const int64_t> sizes) {
    Add(TENON_TENSOR | static_cast<uint64_t>(dtype) << 4 | static_cast<uint64_t>(device) << 12 |
        uint64_t{is_null} << 20 | uint64_t{sizes.size()} << 24 |
        static_cast<uint64_t>(static_cast<uint32_t>(device_index)) << 32);
    for (int64_t size : sizes) Add(size);
  }

  bool AddText(uint64_t kind, std::string_view text) {
    const size_t count = (text.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (!HasRoom(2 + count)) return false;
    Add(kind);
    Add(uint64_t{text.size()});
    if (count > 0) at_[count - 1] = 0;
    std::memcpy(at_, text.data(), text.size());
    at_ += count;
    return true;
  }

 private:
  uint64_t* begin_;
  uint64_t* at_;
};

struct AddArgument {
  KeyWriter& key;
  bool operator()(std::monostate) const { return key.Add(uint64_t{TENON_NONE}), true; }
  bool operator()(const Tensor& t) const {
    if (t.rank < 0 || t.rank > kMaxRank) return false;  // refused by Resolve
    key.AddTensor(t.dtype, t.device, t.device_index, t.data == nullptr, t.shape());
    for (int axis = 0; axis < t.rank; ++axis) key.Add(t.strides[axis]);
    return true;
  }
  bool operator()(bool value) const { return Pair(TENON_BOOL, value); }
  bool operator()(int64_t value) const { return Pair(TENON_INT, static_cast<uint64_t>(value)); }
  bool operator()(double value) const { return Pair(TENON_FLOAT, std::bit_cast<uint64_t>(value)); }
  bool operator()(const std::string& word) const { return key.AddText(TENON_STRING, word); }
  bool operator()(DType value) const { return Pair(TENON_DTYPE, static_cast<uint64_t>(value)); }
  bool operator()(const std::vector<int64_t>& list) const { return List(list); }

  bool List(std::span<const int64_t> list) const {
    if (!key.HasRoom(2 + list.size())) return false;
    Pair(TENON_INT_LIST, list.size());
    for (int64_t value : list) key.Add(value);
    return true;
  }
  bool Pair(uint64_t kind, uint64_t value) const {
    key.Add(kind);
    key.Add(value);
    return true;
  }

  bool operator()(const TenonTensor* t) const {
    if (t == nullptr || t->rank < 0 || t->rank > kMaxRank) return false;
    const std::optional<DType> dtype = FindDType(*t);
    if (!dtype || (t->device_type != 1 && t->device_type != 2)) return false;
    const std::span<const int64_t> sizes(t->sizes, static_cast<size_t>(t->rank));
    key.AddTensor(*dtype, t->device_type == 1 ? Device::kCpu : Device::kCuda, t->device_index,
                  t->data == nullptr, sizes);
    std::array<int64_t, kMaxRank> dense;
    const int64_t* strides = t->strides;
    if (strides == nullptr) {
      int64_t stride = 1;
      for (size_t axis = sizes.size(); axis-- > 0;) {
        dense[axis] = stride;
        stride *= sizes[axis];
      }
      strides = dense.data();
    }
    for (int axis = 0; axis < t->rank; ++axis) key.Add(strides[axis]);
    return true;
  }
  bool operator()(const TenonArgument& argument) const {
    switch (argument.kind) {
      case TENON_NONE:
        return (*this)(std::monostate());
      case TENON_TENSOR:
        return (*this)(argument.value.tensor);
      case TENON_BOOL:
        return (*this)(argument.value.integer != 0);
      case TENON_INT:
        return (*this)(argument.value.integer);
      case TENON_FLOAT:
        return (*this)(argument.value.real);
      case TENON_STRING:
      case TENON_DTYPE:
        return argument.value.string != nullptr &&
               key.AddText(argument.kind == TENON_STRING ? uint64_t{TENON_STRING} : kNamedDType,
                           argument.value.string);
      case TENON_INT_LIST:
        return argument.length >= 0 && (argument.length == 0 || argument.value.list != nullptr) &&
               List({argument.value.list, static_cast<size_t>(argument.length)});
      default:
        return false;
    }
  }
};

// Products that do not wait for each other; odd factors that differ by place.
uint64_t Hash(std::span<const uint64_t> words) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
  uint64_t hash = 0;
  uint64_t factor = kFactor;
  for (uint64_t word : words) {
    hash += word * factor;
    factor += 2 * kFactor;
  }
  return (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
}

}  // namespace

RepeatedCall::Reach::Reach(const Tensor& tensor)
    : low(0),
      high(ItemSize(tensor.dtype)),
      alignment_mask(static_cast<uintptr_t>(ItemSize(tensor.dtype)) - 1),
      empty(tensor.numel() == 0) {
  for (int axis = 0; !empty && axis < tensor.rank; ++axis) {
    const int64_t span = (tensor.sizes[axis] - 1) * tensor.strides[axis] * ItemSize(tensor.dtype);
    (span < 0 ? low : high) += span;
  }
}

bool RepeatedCall::Apart(const Reach& a, const void* a_data, const Reach& b, const void* b_data) {
  const auto x = reinterpret_cast<intptr_t>(a_data);
  const auto y = reinterpret_cast<intptr_t>(b_data);
  return x + a.high <= y + b.low || y + b.high <= x + a.low;
}

// One thread's calls.
class CallCache {
 public:
  // Not inlined: the address of a thread's variable would be asked for at every use.
  [[gnu::noinline]] static CallCache& OfThread() {
    thread_local CallCache cache;
    return cache;
  }

  // The call of the form with these arguments (the C ABI's or those of C++), with the pointers that
  // `data_of` gives by the argument's number; `resolve` makes it when it is not there.
  template <typename Arguments, typename DataOf, typename Resolving>
  RepeatedCall& Find(const OperatorForm& form, const Arguments& arguments, DataOf data_of,
                     Resolving resolve) {
    KeyWriter key(words_.data());
    key.Add(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&form)));
    for (const auto& argument : arguments) {
      if (!key.HasRoom() || !Add(key, argument)) {
        keyless_.Remember({}, 0, resolve());
        return keyless_;
      }
    }
    const uint64_t hash = Hash(key.words());
    RepeatedCall& entry = entries_[(hash >> 32) % kEntries];
    if (entry.hash_ == hash &&
        std::equal(entry.key_.begin(), entry.key_.end(), key.words().begin(), key.words().end())) {
      entry.Rebind(data_of);
      return entry;
    }
    entry.key_.clear();  // stays empty when the call is refused
    entry.Remember(key.words(), hash, resolve());
    return entry;
  }

 private:
  static bool Add(KeyWriter& key, const Argument& argument) {
    return std::visit(AddArgument{key}, argument);
  }
  static bool Add(KeyWriter& key, const TenonArgument& argument) {
    return AddArgument{key}(argument);
  }

  // A decoder layer makes about ten different calls; a serving process a few layer kinds' worth.
  static constexpr size_t kEntries = 64;
  std::array<uint64_t, kKeyWords> words_;  // of the call being looked up
  std::array<RepeatedCall, kEntries> entries_;
  RepeatedCall keyless_;
};

void RepeatedCall::Remember(std::span<const uint64_t> key, uint64_t hash, Resolved call) {
  call_ = std::move(call);
  key_.assign(key.begin(), key.end());
  hash_ = hash;
  pointers_.clear();
  specs_.clear();
  given_.clear();
  results_.clear();
  views_.clear();
  for (const BoundOutput& output : call_.outputs) {
    if (call_.in_place != nullptr) break;
    specs_.push_back(ToSpec(output.spec));
    given_.push_back(MakeTensor(nullptr, output.spec.dtype, output.spec.shape));
    std::copy_n(specs_.back().strides, given_.back().rank, given_.back().strides.begin());
    given_.back().device = call_.device;
    given_.back().device_index = call_.device_index;
  }
  int input = 0;
  const std::deque<Param>& params = call_.op->contract().params();
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i].is_tensor) continue;
    const BoundInput& bound = call_.inputs[static_cast<size_t>(input)];
    const bool written =
        call_.in_place != nullptr && call_.in_place->OutputOver(params[i].name) != nullptr;
    if (bound.present) {
      pointers_.push_back({static_cast<int>(i), input, written, Reach(bound.tensor)});
    }
    ++input;
  }
}

template <typename DataOf>
void RepeatedCall::Rebind(DataOf data_of) {
  for (const Pointer& pointer : pointers_) {
    BoundInput& bound = call_.inputs[static_cast<size_t>(pointer.input)];
    void* data = data_of(static_cast<size_t>(pointer.argument));
    bound.tensor.data = data;
    bound.view.data = data;
    if (!pointer.reach.Fits(data)) {
      CheckMemory(call_.name(), bound.param->name, bound.tensor);  // refuses
    }
  }
  if (call_.in_place != nullptr && !WrittenApart()) CheckWrittenInputs(call_);
}

// No two tensors of which one is written come near each other.
bool RepeatedCall::WrittenApart() const {
  const auto data = [&](const Pointer& p) {
    return call_.inputs[static_cast<size_t>(p.input)].tensor.data;
  };
  for (size_t i = 0; i < pointers_.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const Pointer& a = pointers_[i];
      const Pointer& b = pointers_[k];
      if (!a.written && !b.written) continue;
      if (!Apart(a.reach, data(a), b.reach, data(b))) return false;
    }
  }
  return true;
}

bool RepeatedCall::SameLayout(std::span<const Tensor> results) const {
  if (results.size() != results_.size()) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& now = results[i];
    const Tensor& then = results_[i];
    if (now.dtype != then.dtype || now.device != then.device ||
        now.device_index != then.device_index || now.rank != then.rank) {
      return false;
    }
    for (int axis = 0; axis < now.rank; ++axis) {
      if (now.sizes[axis] != then.sizes[axis] || now.strides[axis] != then.strides[axis]) {
        return false;
      }
    }
  }
  return true;
}

// The results' pointers are as they must be, and nothing comes near them.
bool RepeatedCall::ResultsApart(std::span<const Tensor> results) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const Reach& reach = result_reaches_[i];
    if (!reach.Fits(results[i].data)) return false;
    for (const Pointer& pointer : pointers_) {
      const void* data = call_.inputs[static_cast<size_t>(pointer.input)].tensor.data;
      if (!Apart(reach, results[i].data, pointer.reach, data)) return false;
    }
    for (size_t k = 0; k < i; ++k) {
      if (!Apart(reach, results[i].data, result_reaches_[k], results[k].data)) return false;
    }
  }
  return true;
}

std::span<const Tensor> RepeatedCall::Views(std::span<const Tensor> results) {
  if (call_.in_place != nullptr || views_.empty() || !SameLayout(results)) {
    views_.clear();  // what is refused below is not remembered
    std::vector<Tensor> views = OutputViews(call_, results);
    results_.assign(results.begin(), results.end());
    result_reaches_.clear();
    for (const Tensor& result : results) result_reaches_.emplace_back(result);
    views_ = std::move(views);
    return views_;
  }
  if (!ResultsApart(results)) CheckResultMemory(call_, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!call_.outputs[i].none) views_[i].data = results[i].data;
  }
  return views_;
}

const Kernel& RepeatedCall::Choose() const { return ChooseKernel(call_); }

void RepeatedCall::RunKernel(const Kernel& kernel, std::span<const Tensor> results) {
  kernel.run(call_, Views(results));
}

void RepeatedCall::Run(std::span<const Tensor> results) { RunKernel(Choose(), results); }

RepeatedCall& ResolveRepeated(const OperatorForm& form, std::span<const Argument> arguments) {
  return CallCache::OfThread().Find(
      form, arguments, [&](size_t i) { return std::get_if<Tensor>(&arguments[i])->data; },
      [&] { return Resolve(form, arguments); });
}

RepeatedCall& ResolveRepeated(const OperatorForm& form, const TenonArgument* arguments,
                              int64_t count) {
  if (count < 0) ToArguments(form, arguments, count);  // refuses
  return CallCache::OfThread().Find(
      form, std::span(arguments, static_cast<size_t>(count)),
      [&](size_t i) { return DataOf(*arguments[i].value.tensor); },
      [&] { return Resolve(form, ToArguments(form, arguments, count)); });
}

}  // namespace tenon::ops
