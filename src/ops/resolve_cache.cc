#include "ops/resolve_cache.h"

#include <array>
#include <functional>
#include <string>

#include "ops/solve.h"

namespace tenon::ops {
namespace {

template <typename T>
void Append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Everything that Resolve reads but pointers, which count only by their alignment and presence.
void AppendArgument(std::string& key, const Argument& argument) {
  Append(key, static_cast<uint8_t>(argument.index()));
  if (const Tensor* t = std::get_if<Tensor>(&argument)) {
    Append(key, t->dtype);
    Append(key, t->device);
    Append(key, t->device_index);
    Append(key, t->rank);
    Append(key, t->data == nullptr);
    const auto bytes = static_cast<size_t>(t->rank) * sizeof(int64_t);
    key.append(reinterpret_cast<const char*>(t->sizes.data()), bytes);
    key.append(reinterpret_cast<const char*>(t->strides.data()), bytes);
  } else if (const bool* flag = std::get_if<bool>(&argument)) {
    Append(key, *flag);
  } else if (const int64_t* integer = std::get_if<int64_t>(&argument)) {
    Append(key, *integer);
  } else if (const double* real = std::get_if<double>(&argument)) {
    Append(key, *real);
  } else if (const std::string* word = std::get_if<std::string>(&argument)) {
    Append(key, word->size());
    key += *word;
  } else if (const DType* dtype = std::get_if<DType>(&argument)) {
    Append(key, *dtype);
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&argument)) {
    Append(key, list->size());
    for (int64_t value : *list) Append(key, value);
  }
}

struct Entry {
  std::string key;
  Resolved call;
};

// A decoder layer makes about ten different calls; a serving process a few layer kinds' worth.
constexpr size_t kEntries = 64;

bool RanksMakeSense(std::span<const Argument> arguments) {
  for (const Argument& argument : arguments) {
    const Tensor* t = std::get_if<Tensor>(&argument);
    if (t != nullptr && (t->rank < 0 || t->rank > kMaxRank)) return false;
  }
  return true;
}

void Rebind(Resolved& call, std::span<const Argument> arguments) {
  size_t input = 0;
  const std::deque<Param>& params = call.op->contract().params();
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i].is_tensor) continue;
    BoundInput& bound = call.inputs[input++];
    if (!bound.present) continue;
    bound.tensor.data = std::get<Tensor>(arguments[i]).data;
    bound.view.data = bound.tensor.data;
    CheckMemory(call.name(), bound.param->name, bound.tensor);
  }
  CheckWrittenInputs(call);
}

}  // namespace

const Resolved& ResolveRepeated(const OperatorForm& form, std::span<const Argument> arguments) {
  thread_local std::array<Entry, kEntries> entries;
  thread_local std::string key;
  if (!RanksMakeSense(arguments)) Resolve(form, arguments);  // refuses
  key.clear();
  Append(key, &form);
  for (const Argument& argument : arguments) AppendArgument(key, argument);
  Entry& entry = entries[std::hash<std::string>()(key) % kEntries];
  if (entry.key == key) {
    Rebind(entry.call, arguments);
    return entry.call;
  }
  entry.key.clear();  // stays empty when the call is refused
  entry.call = Resolve(form, arguments);
  entry.key = key;
  return entry.call;
}

}  // namespace tenon::ops
