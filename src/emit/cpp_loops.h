// Loops of a nest as C++: their bodies, and what stands before and after them.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "emit/cpp_values.h"

namespace tenon::emit {

class CppLoops : public CppValues {
 public:
  using CppValues::CppValues;

 protected:
  // The texts of a loop. Its body is `lines`, then `tail`: nothing is loaded after a store.
  struct LoopParts {
    std::string declarations;  // before the loop
    std::string stage;         // lines of the first of two stages
    std::string quotient;      // arguments of a driver of quotients
    std::string prefetches;
    std::string tail;
    std::string after;
  };

  LoopParts EmitLoop(const Loop& loop, const std::string& indent);
  std::string LoopText(const Loop& loop, const std::string& indent, const LoopParts& parts);
  std::string Prefetches(size_t earlier, bool next_row);

  // Key of a kept value -> where it is, and its extent.
  using Kept = std::map<std::string, std::pair<std::string, ir::Dim>>;
  Kept kept_;
  std::map<std::string, std::string> result_names_;  // key of a reduction -> variable
  bool uses_path_ = false;
  bool uses_next_row_ = false;
  std::string divisors_;  // parameters by which rows are divided
  std::string scratch_;
  // Of a loop that runs over several rows before another does: the row's number among them, and
  // declarations that both loops need.
  std::string batch_at_;
  std::string batch_rows_;  // how many there may be
  std::string batch_lines_;

 private:
  ValueAt Unmoved(ValueAt value) const;
  const Store* StoreOf(const Loop& loop, const ValueAt& keep);
  void AddScratch(const std::string& name, const std::string& floats);
  void KeepInOutput(const Store& store, const ValueAt& keep, const std::string& name,
                    const ir::Dim& extent, const std::string& indent, LoopParts& parts);
  std::string EmitStage(const ValueAt& value);
  std::string QuotientArguments(const Quotient& quotient, const Store& store);
  void EmitReduction(const Reduction& r, const std::string& argument, const std::string& indent,
                     std::string& declarations, std::string& finishes, std::string& tail);
  // What a store takes: a value that it rounds itself, or one that the loop has rounded already.
  struct Stored {
    std::string text;
    bool is_exact = false;
  };
  Stored StoredValue(ValueAt value, const ir::Elem& elem);
  std::string StoreText(const Store& store, const std::string& indent);
  std::string CopyText(const Store& store, const ir::Dim& lanes, const std::string& indent);

  int num_scratch_ = 0;
};

}  // namespace tenon::emit
