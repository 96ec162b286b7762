// Tensor operators: the table functions.def, shape rules, views, and what Python's own operators
// mean on tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/interpreter.h"

namespace tenon::analyze {

struct TensorFunction {
  std::string_view name;  // "torch.rsqrt"; methods are "torch.Tensor.rsqrt"
  std::string_view op;    // canonical operator
  Value (*call)(Interpreter&, const TensorFunction&, Arguments&);
};

// All rows of functions.def.
const std::vector<TensorFunction>& TensorFunctions();
// Row of functions.def for a dotted name, or null.
const TensorFunction* FindTensorFunction(std::string_view name);

// method: "add", "sub", "truediv", "lt" ... as in Python's special names.
Value TensorBinary(Interpreter& in, const std::string& method, const Value& left,
                   const Value& right);
Value TensorUnary(Interpreter& in, const std::string& method, const Value& operand);
Value TensorSubscript(Interpreter& in, const Value& tensor, const Value& index);
void TensorStore(Interpreter& in, const Value& tensor, const Value& index, const Value& value);
Value TensorAttribute(Interpreter& in, const Value& tensor, const std::string& name);
// Whether a dotted name is that of a kernel (torch.ops.x, flashinfer.x, ...), and its call.
bool IsKernelName(std::string_view name);
Value LaunchKernel(Interpreter& in, const std::string& name, Arguments arguments);
// A call that is not understood and takes tensors.
Value OpaqueCall(Interpreter& in, const std::string& name, const std::vector<Value>& tensors);

// --- for the rules
TensorObject* NewTensor(Interpreter& in, Shape shape, std::string dtype,
                        std::vector<std::string> axes = {});
// A tensor that looks into `base` with another shape.
TensorObject* NewView(Interpreter& in, const TensorObject* base, Shape shape,
                      std::vector<std::string> axes, std::string note);
// Adds a view operator where views are explicit.
Value EmitView(Interpreter& in, const std::string& op, const Value& base, TensorObject* view,
               Attr::Map attrs);
// NewView and EmitView in one.
Value ViewOf(Interpreter& in, const Value& base, const char* op, Shape shape,
             std::vector<std::string> axes, std::string note, Attr::Map attrs);
bool TokenTensor(Interpreter& in, const Value& value);     // refuses what is no tensor when strict
std::string DtypeOf(Interpreter& in, const Value& value);  // "" when it is no dtype
std::string Promote(const std::string& a, const std::string& b);
Shape Broadcast(Interpreter& in, const Shape& a, const Shape& b);
// Axis number from a Python value, negative counted from the end; -1 when unknown.
int AxisOf(const Value& value, size_t rank);

}  // namespace tenon::analyze
