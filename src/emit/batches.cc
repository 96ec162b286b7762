#include "emit/batches.h"

namespace tenon::emit {

void ChooseBatch(Nest& nest) {
  if (nest.rows.empty()) return;
  size_t second = 0;
  while (second < nest.loops.size() && nest.loops[second].level == nest.loops[0].level) ++second;
  if (second == nest.loops.size()) return;
  for (size_t i = 0; i < second; ++i) {
    if (nest.loops[i].reductions.empty()) return;
  }
  nest.second_part = second;
}

}  // namespace tenon::emit
