// What the operators around a matrix product share: their declarations and bodies, and the way from
// a call to the backend's products.
#pragma once

#include <string_view>

#include "backend/cpu/gemm.h"
#include "ir/builder.h"
#include "ops/contract.h"
#include "ops/resolve.h"

namespace tenon::ops::linear {

// x [..., k].
void DeclareRows(Contract& c);
// weight [rows, columns] and what may be added per row.
void DeclareWeight(Contract& c, std::string_view name, std::string_view shape);
void DeclareBias(Contract& c, std::string_view name, std::string_view shape);
// act among those of one sum, or those of a gate and an up.
void DeclareAct(Contract& c);
void DeclareGatedAct(Contract& c);

// x weight^T + bias, in float32.
ir::Value Project(const Body& b, ir::Value x, std::string_view weight, std::string_view bias,
                  std::string_view contracted);
ir::Value Activate(std::string_view act, ir::Value x);
// T(act(gate) * up) of a projection to 2*d columns: halves, or pairs for swigluoai.
ir::Value ActAndMul(std::string_view act, ir::Value projected);

// One product of a call. Leading axes are rows.
struct Operands {
  Tensor x;         // [..., k]
  Tensor weight;    // [n, k], or [2n, k] with a gate
  Tensor bias;      // [n] or [2n]; no data: none
  Tensor residual;  // [..., n]; no data: none
  cpu::Act act = cpu::Act::kNone;
  cpu::Gate gate = cpu::Gate::kNone;
};
void Multiply(const Operands& operands, const Tensor& y);

// Views of a matmul: a [..., m, k] and b [..., n, k]; b's leading axes are those of a, with stride
// 0 where it has none or one of size 1.
struct MatmulOperands {
  explicit MatmulOperands(const Resolved& call);
  Tensor a;
  Tensor b;
  Tensor bias;  // no data: none
};

}  // namespace tenon::ops::linear
