// Plans and kernels as text: every change of the emitter shows as a reviewed difference.
#include "golden.h"

#include "bodies.h"
#include "emit/emit_cpp.h"

namespace tenon::emit {
namespace {

void ExpectKernel(const ir::Graph& graph, const std::string& computes) {
  const std::string base = "emit/golden/" + graph.name();
  ExpectGolden(base + ".plan", PlanText(graph, MakeRowPlan(graph)));
  ExpectGolden(base + ".cc.golden",
               EmitCppRuntimeFile({graph.name(), "", computes, &graph}, DType::kBF16));
}

TEST(EmitCpp, AddRmsNorm) {
  ExpectKernel(AddRmsNorm(), "s = x + residual; y = s / rms(s) * weight");
}
TEST(EmitCpp, RopeNeox) {
  ExpectKernel(Rope(true), "each half of a head turned by the angle of its position");
}
TEST(EmitCpp, RopeGptj) {
  ExpectKernel(Rope(false), "each pair of a head turned by the angle of its position");
}
TEST(EmitCpp, Int8Quant) { ExpectKernel(Int8Quant(), "scale = max|x| / 127; q = x / scale"); }
TEST(EmitCpp, GateQuant) { ExpectKernel(GateQuant(), "q = x * sigmoid(x) / scale"); }
TEST(EmitCpp, GroupNorm) { ExpectKernel(GroupNorm(), "x / rms(x) per group"); }
TEST(EmitCpp, AddNormGroups) {
  ExpectKernel(AddNormGroups(), "s = x + residual; s / rms(s) divided by its maximum per group");
}

TEST(EmitCpp, LibraryFileHasEveryTargetAndType) {
  const ir::Graph graph = Int8Quant();
  ExpectGolden("emit/golden/library_file.cc.golden",
               EmitCppLibraryFile("int8_quant", {{"int8_quant", "", "q = x / scale", &graph}},
                                  "int8_quant.cc"));
}

}  // namespace
}  // namespace tenon::emit
