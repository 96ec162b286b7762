// The abstract interpreter: runs Python over the values of value.h, records tensor operators in a
// Tracer, assumptions where a condition is not known, and diagnostics. One object per analysis.
//
// The code is spread over one file per subject: modules.cc, scope.cc, statements.cc, patterns.cc,
// expressions.cc, operators.cc, subscripts.cc, calls.cc, classes.cc, attributes.cc, builtins*.cc,
// *_methods.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/platform.h"
#include "analyze/source_tree.h"
#include "analyze/tracer.h"
#include "analyze/value.h"

namespace tenon::analyze {

// A Python exception on its way up.
struct PythonError {
  Value exception;  // an instance of a stand-in class, or Unknown
  std::string file;
  int line = 0;

  std::string Name() const;
  std::string Message() const;
};

// A limit was reached (E11).
struct LimitReached {
  std::string what;
};

struct Frame {
  const FunctionObject* function = nullptr;  // null for module and class bodies
  const ModuleObject* module = nullptr;
  const Node* at = nullptr;
};

enum class Flow : uint8_t { kNext, kReturn, kBreak, kContinue };

class Interpreter {
 public:
  Interpreter(SourceTree& tree, const Platform& platform);

  Heap heap;
  Tracer tracer;
  const Platform& platform;
  std::vector<Assumption> assumptions;
  std::vector<Diagnostic> diagnostics;
  // A function of the user's own is lowered whole: what is not understood is a UsageError.
  bool strict = false;

  SourceTree& tree() const { return tree_; }

  // --- modules.cc
  ModuleObject* Module(const std::string& dotted);  // null when there is no source
  Value Import(const std::string& dotted);          // module or External; raises ImportError
  Value ModuleAttribute(ModuleObject* module, const std::string& name);  // undefined if missing
  ModuleObject* Parsed(ModuleObject* module);  // reads the source if that is still to be done
  LazyScope* SourceScope(ModuleObject* module) { return &Parsed(module)->scope; }
  Value Resolve(const std::string& dotted_name);  // "package.module.name" or External
  bool Exists(const std::string& dotted);

  // --- scope.cc
  void FillScope(LazyScope* scope, const Node* block);
  Value ScopeValue(LazyScope* scope, const std::string& name);
  void SetScopeValue(LazyScope* scope, const std::string& name, const Value& value);

  // --- statements.cc, patterns.cc
  Flow Run(const Node* block, Namespace* env);
  Value ReturnValue() { return return_value_; }

  // --- expressions.cc
  Value Eval(const Node* node, Namespace* env);
  Value LookUp(const std::string& name, Namespace* env);
  bool Truth(const Value& value, const Node* at, Namespace* env);
  // Nothing when it is not known.
  std::optional<bool> KnownTruth(const Value& value);

  // --- iteration.cc
  std::vector<Value> Iterate(const Value& value);  // raises TypeError; Unknown gives nothing

  // --- operators.cc, subscripts.cc
  Value Binary(Operator op, const Value& left, const Value& right);
  Value Compare(Operator op, const Value& left, const Value& right);
  Value Unary(Operator op, const Value& operand);
  Value Subscript(const Value& object, const Value& index);
  void SetSubscript(const Value& object, const Value& index, const Value& value);

  // --- calls.cc, classes.cc
  Value Call(const Value& callee, Arguments arguments);
  Value CallMethod(const Value& object, const std::string& name, Arguments arguments = {});
  Value MakeFunction(const Node* node, Namespace* env);
  Value MakeClass(const Node* node, Namespace* env);
  Value Instantiate(ClassObject* cls, Arguments arguments);
  InstanceObject* Blank(ClassObject* cls);  // without running __init__
  // Arguments by parameter name, with defaults; raises TypeError. Star parameters are included.
  std::vector<std::pair<std::string, Value>> Bind(const FunctionObject* function,
                                                  Arguments arguments);
  Value ClassAttribute(ClassObject* cls, const std::string& name,
                       const ClassObject* after = nullptr, ClassObject** found_in = nullptr,
                       bool skip_behaviours = false);
  bool IsSubclass(const ClassObject* cls, const Value& base);
  bool IsInstance(const Value& value, const Value& cls);
  std::vector<std::pair<std::string, Value>> DataclassFields(ClassObject* cls);
  bool IsModule(const Value& value);  // an instance of torch.nn.Module

  // --- attributes.cc
  Value Attribute(const Value& object, const std::string& name);         // undefined when missing
  Value RequireAttribute(const Value& object, const std::string& name);  // raises AttributeError
  bool IsConfig(const Value& value);  // an instance of a class below PretrainedConfig
  void SetAttribute(const Value& object, const std::string& name, const Value& value);
  void DeleteAttribute(const Value& object, const std::string& name);
  void Adopt(InstanceObject* parent, const std::string& name, const Value& child);

  // --- values
  Value NewString(std::string text) { return heap.New<StringObject>(std::move(text)); }
  Value NewList(std::vector<Value> v) { return heap.New<ListObject>(std::move(v)); }
  Value NewTuple(std::vector<Value> v) { return heap.New<TupleObject>(std::move(v)); }
  Value NewIterator(std::vector<Value> v) { return heap.New<IteratorObject>(std::move(v)); }
  Value NewUnknown(std::string expression);
  Value NewExternal(std::string name) { return heap.New<ExternalObject>(std::move(name)); }
  Value FromDim(const Dim& dim);
  // Integer or symbolic size; nothing when it is neither.
  std::optional<Dim> ToDim(const Value& value);
  Value FromAttr(const Attr& attr);
  Attr ToAttr(const Value& value);

  // --- errors
  [[noreturn]] void Raise(const std::string& type, const std::string& message);
  [[noreturn]] void Refuse(const std::string& construct);  // strict mode: UsageError with file:line
  const std::vector<Frame>& frames() const { return frames_; }
  // The innermost frame in the user's sources, which reports can quote.
  const Frame* VisibleFrame() const;
  void Assume(const Node* condition, Namespace* env, bool taken, const std::string& why);

  // Pushes a frame for the life of the object.
  class FrameScope {
   public:
    FrameScope(Interpreter& in, Frame frame);
    ~FrameScope() { in_.frames_.pop_back(); }

   private:
    Interpreter& in_;
  };

 private:
  friend class FrameScope;

  // modules.cc
  ModuleObject* LoadModule(const std::string& dotted);
  void FillModule(ModuleObject* module);
  Value ImportFromValue(ModuleObject* importer, const Node* statement, const std::string& name);
  std::string AbsoluteModule(const ModuleObject* importer, const Node* import_from);

  // scope.cc
  void AddBindings(LazyScope* scope, const Node* statement, std::vector<Guard>& guards);
  void AddTarget(LazyScope* scope, const Node* target, const Binding& binding);
  void AddLoop(LazyScope* scope, const Node* statement, const Binding& binding);
  bool Active(LazyScope* scope, const Binding& binding);
  size_t DecideArm(LazyScope* scope, const Node* statement);
  void RunBinding(LazyScope* scope, const Binding& binding, const std::string& name);

  // statements.cc
  Flow RunStatement(const Node* node, Namespace* env);
  Flow RunLoop(const Node* node, Namespace* env);
  Flow RunIf(const Node* node, Namespace* env);
  void RunAssert(const Node* node, Namespace* env);
  void RunDefinition(const Node* node, Namespace* env);
  Flow RunTry(const Node* node, Namespace* env);
  Flow RunHandlers(const Node* node, Namespace* env, const PythonError& error);
  Flow RunWith(const Node* node, Namespace* env);
  void RunImport(const Node* node, Namespace* env);
  void RunRaise(const Node* node, Namespace* env);
  void RunAssignment(const Node* node, Namespace* env);
  void Assign(const Node* target, const Value& value, Namespace* env);
  void AssignName(const std::string& name, const Value& value, Namespace* env);
  void Delete(const Node* target, Namespace* env);
  Flow RunMatch(const Node* node, Namespace* env);
  bool Matches(const Node* pattern, const Value& subject, Namespace* env);

  // expressions.cc
  Value EvalCompound(const Node* node, Namespace* env);  // neither a name nor a literal
  Value EvalCall(const Node* node, Namespace* env);
  Value EvalSuper(const Node* node, Namespace* env);
  Arguments EvalArguments(const Node* call, size_t first, Namespace* env);
  Value EvalFormat(const Node* node, Namespace* env);
  Value EvalCompare(const Node* node, Namespace* env);
  Value EvalComprehension(const Node* node, Namespace* env);
  void Comprehend(const Node* node, size_t clause, Namespace* env,
                  const std::function<void(Namespace*)>& each);
  Value EvalSlice(const Node* node, Namespace* env);
  Value EvalArithmetic(const Node* node, Namespace* env);
  Value EvalLogic(const Node* node, Namespace* env);
  Value EvalYield(const Node* node, Namespace* env);
  Value EvalDisplay(const Node* node, Namespace* env);  // (...), [...] or {...}
  Value EvalDict(const Node* node, Namespace* env);
  std::vector<Value> EvalItems(const Node* node, Namespace* env);

  // iteration.cc
  std::optional<std::vector<Value>> IterateInstance(InstanceObject* instance);

  // operators.cc
  std::optional<bool> Contains(const Value& container, const Value& item);  // nothing: unknown
  std::optional<bool> SymbolicCompare(Operator op, const Dim& left, const Dim& right);

  // calls.cc
  Value CallFunction(FunctionObject* function, Arguments arguments);
  Value CallExternal(const ExternalObject* external, Arguments arguments);
  Value CallInstance(InstanceObject* instance, Arguments arguments);
  Value CallUnknown(const std::string& name, const Arguments& arguments);
  Value Decorate(const Value& decorator, const Value& definition);

  // classes.cc
  std::vector<Object*> Linearise(const ClassObject* cls);
  void AttachBehaviour(ClassObject* cls);
  Value EnumMember(ClassObject* cls, const std::string& name, const Value& value);
  Value InstantiateEnum(ClassObject* cls, const Arguments& arguments);
  void InitDataclass(InstanceObject* instance, Arguments arguments);

  // attributes.cc
  Value InstanceAttribute(InstanceObject* instance, const std::string& name);
  Value BindAttribute(const Value& attribute, const Value& self, ClassObject* cls);
  Value SuperAttribute(const SuperObject* super, const std::string& name);
  Value OwnAttribute(ClassObject* cls, const std::string& name);  // of the class itself
  Value MissingConfigValue(const Value& object, const std::string& name);
  Value MethodOf(const Value& object, const std::string& name);

  void CountStep() {
    if (++steps_ > kMaxSteps) throw LimitReached{"20 million evaluation steps"};
  }

  static constexpr int64_t kMaxSteps = 20'000'000;
  static constexpr size_t kMaxDepth = 200;

  SourceTree& tree_;
  std::unordered_map<std::string, ModuleObject*> modules_;  // null: no source
  std::vector<Frame> frames_;
  std::vector<Value> handled_;  // exceptions under handling, for a bare raise
  Value return_value_;
  std::vector<std::vector<Value>*> yields_;  // of the running generators
  int64_t steps_ = 0;
  int attribute_errors_expected_ = 0;  // running `try` bodies that catch one
};

// The functions that Python always has, and those that only stand-in texts see.
const std::unordered_map<std::string, NativeFunction>& Builtins();
const std::unordered_map<std::string, NativeFunction>& Intrinsics();
// Methods of str, list, dict, set ...: key "str.split".
NativeFunction ContainerMethod(const std::string& key);

// Argument `position` or keyword `name`; undefined when it is not given.
Value Argument(const Arguments& arguments, size_t position, std::string_view name);

}  // namespace tenon::analyze
