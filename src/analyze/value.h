// Python values of the abstract interpreter. Numbers, strings and containers are concrete; what is
// not known is a value, too: Unknown (with the expression that made it), Symbolic (a size that
// depends on the number of tokens), Tensor (shape and dtype, no data), External (a dotted name
// whose source is not read).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/syntax.h"

namespace tenon::analyze {

enum class ObjectKind : uint8_t {
  kString,
  kList,
  kTuple,
  kDict,
  kSet,
  kSlice,
  kIterator,
  kUnknown,
  kSymbolic,
  kTensor,
  kClass,
  kFunction,
  kBoundMethod,
  kPartial,
  kInstance,
  kModule,
  kExternal,
  kBuiltin,
  kSuper,
  kDescriptor,
};

struct Object {
  explicit Object(ObjectKind k) : kind(k) {}
  virtual ~Object() = default;
  const ObjectKind kind;
};

// A small copyable handle. Objects live until the interpreter's heap goes.
struct Value {
  enum class Tag : uint8_t { kUndefined, kNone, kBool, kInt, kFloat, kEllipsis, kObject };
  Tag tag = Tag::kUndefined;
  union {
    bool boolean;
    int64_t integer;
    double real;
    Object* object = nullptr;
  };

  Value() {}
  Value(Object* o) : tag(Tag::kObject), object(o) {}  // NOLINT
  static Value None() { return Value(Tag::kNone); }
  static Value Ellipsis() { return Value(Tag::kEllipsis); }
  static Value Bool(bool v) {
    Value value(Tag::kBool);
    value.boolean = v;
    return value;
  }
  static Value Int(int64_t v) {
    Value value(Tag::kInt);
    value.integer = v;
    return value;
  }
  static Value Float(double v) {
    Value value(Tag::kFloat);
    value.real = v;
    return value;
  }

  bool Defined() const { return tag != Tag::kUndefined; }
  bool IsNone() const { return tag == Tag::kNone; }
  bool IsBool() const { return tag == Tag::kBool; }
  bool IsInt() const { return tag == Tag::kInt; }
  bool IsFloat() const { return tag == Tag::kFloat; }
  bool IsNumber() const { return IsInt() || IsFloat() || IsBool(); }
  double AsReal() const { return IsFloat() ? real : IsBool() ? boolean : double(integer); }
  int64_t AsInt() const { return IsBool() ? boolean : IsFloat() ? int64_t(real) : integer; }
  bool Is(ObjectKind kind) const { return tag == Tag::kObject && object->kind == kind; }
  // The object as T, or null when it is something else.
  template <typename T>
  T* As() const {
    return Is(T::kKind) ? static_cast<T*>(object) : nullptr;
  }

 private:
  explicit Value(Tag t) : tag(t) {}
};

struct StringObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kString;
  explicit StringObject(std::string t) : Object(kKind), text(std::move(t)) {}
  std::string text;
};

template <ObjectKind K>
struct SequenceObject : Object {
  static constexpr ObjectKind kKind = K;
  explicit SequenceObject(std::vector<Value> v = {}) : Object(K), items(std::move(v)) {}
  std::vector<Value> items;
};
using ListObject = SequenceObject<ObjectKind::kList>;
using TupleObject = SequenceObject<ObjectKind::kTuple>;

// Keeps the order of insertion.
class Table {
 public:
  Value* Find(const Value& key);
  void Set(const Value& key, const Value& value);
  bool Erase(const Value& key);
  std::vector<std::pair<Value, Value>> entries;

 private:
  void Reindex();
  std::unordered_multimap<size_t, size_t> index_;  // hash -> entry, once there are many
};

struct DictObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kDict;
  DictObject() : Object(kKind) {}
  Table table;
  Value default_factory;  // of a defaultdict
};

struct SetObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kSet;
  SetObject() : Object(kKind) {}
  Table table;
};

struct SliceObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kSlice;
  SliceObject() : Object(kKind) {}
  Value start, stop, step;
};

// Generators, zip, map ... are run to their end when they are made.
struct IteratorObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kIterator;
  explicit IteratorObject(std::vector<Value> v) : Object(kKind), items(std::move(v)) {}
  std::vector<Value> items;
  size_t next = 0;
};

struct UnknownObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kUnknown;
  explicit UnknownObject(std::string e) : Object(kKind), expression(std::move(e)) {}
  std::string expression;
  bool is_argument = false;  // a scalar argument of a traced function
};

struct SymbolicObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kSymbolic;
  explicit SymbolicObject(Dim d) : Object(kKind), dim(std::move(d)) {}
  Dim dim;
};

struct TensorObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kTensor;
  TensorObject() : Object(kKind) {}
  int id = 0;
  bool known_shape = true;
  bool unwritten = false;  // a buffer that no operator has filled yet
  Shape shape;
  std::vector<std::string> axes;
  std::string dtype;
  bool is_parameter = false;  // a weight, or arithmetic on weights and constants alone
  std::string parameter;      // attribute name of the weight in its module
  const Object* parameter_owner = nullptr;
  std::string view;
  // The tensor that this one looks into; its axes come back when a reshape is undone.
  const TensorObject* base = nullptr;
};

struct ModuleObject;
struct ClassObject;
struct FunctionObject;
class Interpreter;

// Names bound by a module or a class body, evaluated when they are first read. Only what a model
// needs of its imports is ever run.
struct Guard {
  const Node* statement = nullptr;  // kIf or kTry around the binding
  size_t arm = 0;                   // kIf: 0 then, 1 else; kTry: 0 body, 1 else, 3+ handlers
};
struct Binding {
  const Node* statement = nullptr;
  std::vector<Guard> guards;
  bool mutates = false;  // `X.update(...)`, `X[k] = v`, `X += ...`: run after the last assignment
};
struct LazyName {
  std::vector<Binding> bindings;
  Value value;
  int running = -1;  // binding under evaluation
};

struct Namespace;

struct LazyScope {
  SourceFile* file = nullptr;
  Namespace* environment = nullptr;  // in which the statements run
  std::unordered_map<std::string, LazyName> names;
  std::vector<std::string> order;                // of first binding
  std::vector<Binding> stars;                    // `from x import *`
  std::unordered_map<const Node*, size_t> arms;  // decided arms of kIf and kTry
};

// Variables of a running function, or the scope of a module or class body.
struct Namespace {
  Namespace* parent = nullptr;
  LazyScope* scope = nullptr;
  ModuleObject* module = nullptr;
  ClassObject* owner = nullptr;  // class whose method this is, for super()
  std::vector<std::pair<std::string_view, Value>> variables;
  std::vector<std::string_view> outer_names;  // global and nonlocal

  Value* Find(std::string_view name) {
    for (auto& [known, value] : variables) {
      if (known == name) return &value;
    }
    return nullptr;
  }
};

struct ModuleObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kModule;
  ModuleObject() : Object(kKind) {}
  std::string name;  // dotted
  SourceFile* file = nullptr;
  bool is_package = false;
  bool is_stand_in = false;  // one of the analyser's own texts
  Namespace environment;
  LazyScope scope;
  ModuleObject* shadow = nullptr;  // stand-in text whose names win over this module's own
  std::string path;  // of a source that is parsed when one of its own names is first needed
};

struct FunctionObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kFunction;
  FunctionObject() : Object(kKind) {}
  std::string name;
  std::string qualified;       // "LlamaAttention.forward"
  const Node* node = nullptr;  // kFunction or kLambda
  SourceFile* file = nullptr;
  ModuleObject* module = nullptr;
  Namespace* closure = nullptr;
  ClassObject* owner = nullptr;
  std::vector<Value> defaults;  // by parameter, undefined where there is none
  bool compiled = false;        // decorated with torch.compile
  bool kernel = false;          // decorated with triton.jit: a launch is one operator
  int generator = -1;           // whether the body yields; found on the first call
  std::vector<std::pair<std::string, Value>> attributes;
};

struct ClassObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kClass;
  ClassObject() : Object(kKind) {}
  std::string name;
  std::string qualified;  // "vllm.model_executor.models.llama.LlamaMLP"
  const Node* node = nullptr;
  ModuleObject* module = nullptr;
  std::vector<Value> bases;            // ClassObject or ExternalObject
  std::vector<Object*> linearisation;  // C3; ClassObject or ExternalObject
  Namespace environment;
  LazyScope scope;
  std::vector<Value> decorators;
  bool is_dataclass = false;
  bool is_enum = false;
  // Row of layers.def: the stand-in class whose methods replace this one's, and what it means.
  ClassObject* behaviour = nullptr;
  int layer_row = -1;

  std::string_view file() const { return module->file->shown(); }
};

struct InstanceObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kInstance;
  InstanceObject() : Object(kKind) {}
  ClassObject* cls = nullptr;
  std::vector<std::pair<std::string, Value>> attributes;
  InstanceObject* parent = nullptr;  // module that holds it first
  std::string name;                  // under that parent
  bool open = false;                 // a missing attribute is unknown, not an error
  std::string label;                 // shown in expressions: "config"
  Value native;                      // payload of subclasses of str, int, dict, list
  // Class to become when an attribute is asked for that was not given: its source is read only
  // then.
  std::string later_class;

  Value* Find(std::string_view key) {
    for (auto& [known, value] : attributes) {
      if (known == key) return &value;
    }
    return nullptr;
  }
};

struct BoundMethodObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kBoundMethod;
  BoundMethodObject(Value s, Value f) : Object(kKind), self(s), function(f) {}
  Value self;
  Value function;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
  bool open = false;  // a * or ** of something unknown: a parameter left over is unknown

  Value* Find(std::string_view key) {
    for (auto& [known, value] : keywords) {
      if (known == key) return &value;
    }
    return nullptr;
  }
};

struct PartialObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kPartial;
  PartialObject() : Object(kKind) {}
  Value function;
  Arguments arguments;
};

struct ExternalObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kExternal;
  explicit ExternalObject(std::string n) : Object(kKind), name(std::move(n)) {}
  std::string name;  // "torch.float32"
};

using NativeFunction = Value (*)(Interpreter&, Arguments&);
struct BuiltinObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kBuiltin;
  BuiltinObject(std::string n, NativeFunction f) : Object(kKind), name(std::move(n)), call(f) {}
  std::string name;
  NativeFunction call;  // null for the types that only isinstance and annotations use
};

struct SuperObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kSuper;
  SuperObject() : Object(kKind) {}
  ClassObject* after = nullptr;  // the search starts behind this class
  Value self;                    // instance, or class in a classmethod
};

struct DescriptorObject : Object {
  static constexpr ObjectKind kKind = ObjectKind::kDescriptor;
  enum class Role : uint8_t { kProperty, kCachedProperty, kStatic, kClassMethod };
  DescriptorObject(Role r, Value f) : Object(kKind), role(r), function(f) {}
  Role role;
  Value function;
};

bool Identical(const Value& a, const Value& b);
// Equality of concrete values; Unknown equals only itself here (callers decide what that means).
bool Equal(const Value& a, const Value& b);
size_t Hash(const Value& value);
// Python's repr for concrete values, short forms for the rest.
std::string Repr(const Value& value);
std::string Str(const Value& value);
const std::string* Text(const Value& value);  // of a string, else null
std::string FloatText(double value);

class Heap {
 public:
  template <typename T, typename... Args>
  T* New(Args&&... args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }
  Namespace* NewNamespace() { return &environments_.emplace_back(); }

 private:
  std::vector<std::unique_ptr<Object>> objects_;
  std::deque<Namespace> environments_;
};

}  // namespace tenon::analyze
