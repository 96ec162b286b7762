// Python's syntax as small trees. tree-sitter's trees are converted once per file; function bodies
// when they are first run, since most functions of a file never are.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::analyze {

// What each kind keeps in text / kids is written beside it; a kid may be null where "?" stands.
enum class Kind : uint8_t {
  // Expressions.
  kName,         // text
  kInt,          // integer
  kFloat,        // real
  kString,       // text, escapes resolved
  kFormat,       // kids: kString | kFormatValue
  kFormatValue,  // text: conversion ("r", "s", ""); kids: expression, kFormat? of the specification
  kTrue,
  kFalse,
  kNone,
  kEllipsis,
  kAttribute,   // text; kids: object
  kSubscript,   // kids: object, index
  kSlice,       // kids: start?, stop?, step?
  kCall,        // kids: callee, arguments (kKeyword, kStar, kDoubleStar or an expression)
  kKeyword,     // text; kids: value
  kStar,        // kids: value
  kDoubleStar,  // kids: value
  kUnary,       // op; kids: operand
  kBinary,      // op; kids: left, right
  kCompare,     // text: one Operator per character; kids: operands
  kAnd,         // kids: left, right
  kOr,          // kids: left, right
  kNot,         // kids: operand
  kIfElse,      // kids: condition, value, other value
  kLambda,      // kids: kParameters, body
  kTuple,
  kList,
  kSet,
  kDict,       // kids: kPair | kDoubleStar
  kPair,       // kids: key, value
  kListComp,   // kids: element, then kCompFor | kCompIf in order
  kSetComp,    // as kListComp
  kDictComp,   // as kListComp, the element is a kPair
  kGenerator,  // as kListComp
  kCompFor,    // kids: target, iterable
  kCompIf,     // kids: condition
  kNamed,      // kids: kName, value
  kYield,      // kids: value?
  kYieldFrom,  // kids: iterable
  // Statements.
  kBlock,
  kExpression,  // kids: value
  kAssign,      // kids: value, targets from left to right
  kAnnotated,   // kids: target, annotation, value?
  kAugmented,   // op; kids: target, value
  kReturn,      // kids: value?
  kIf,          // kids: condition, block, else block?
  kFor,         // kids: target, iterable, block, else block?
  kWhile,       // kids: condition, block, else block?
  kTry,         // kids: block, else?, finally?, then kHandler
  kHandler,     // text: bound name; kids: type?, block
  kWith,        // kids: block, then kWithItem
  kWithItem,    // kids: value, target?
  kRaise,       // kids: value?
  kAssert,      // kids: condition, message?
  kDelete,      // kids: targets
  kGlobal,      // kids: kName
  kPass,
  kBreak,
  kContinue,
  kImport,        // kids: kAlias
  kImportFrom,    // text: module without dots; integer: leading dots; kids: kAlias ("*" for all)
  kAlias,         // text: name; kids: kName of the binding?
  kFunction,      // text: name; integer: index of the deferred body; kids: kParameters, decorators
  kClass,         // text: name; kids: block, bases (arguments), then kDecorator
  kDecorator,     // kids: value
  kParameters,    // kids: kParameter
  kParameter,     // text: name; integer: ParameterKind; kids: default?, annotation?
  kMatch,         // kids: subject, kCase
  kCase,          // kids: pattern, guard?, block
  kPatternName,   // text: name, "_" for the wildcard
  kPatternOr,     // kids: patterns
  kPatternList,   // kids: patterns
  kPatternStar,   // text: name
  kPatternClass,  // kids: class, patterns (kKeyword for attributes)
  kPatternAs,     // text: name; kids: pattern
  kPatternValue,  // kids: expression
  kArguments,     // kids as those of kCall after the callee
  kError,         // text tree-sitter could not parse
};

enum class Operator : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatMul,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn,
  kIs,
  kIsNot,
  kNegative,
  kPositive,
  kInvert,
};

enum class ParameterKind : uint8_t { kPositional, kKeywordOnly, kStar, kDoubleStar };

struct Node {
  Kind kind = Kind::kError;
  Operator op = Operator::kAdd;
  uint32_t line = 0;  // from 1; of the `class` or `def` keyword for definitions
  uint32_t last_line = 0;
  uint32_t begin = 0;  // bytes in the file
  uint32_t end = 0;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<const Node*> kids;
};

struct SyntaxProblem {
  int line = 0;
  int column = 0;
};

// One parsed file. Nodes live as long as the file.
class SourceFile {
 public:
  // `shown` is the path that reports print.
  SourceFile(std::string shown, std::string text);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const std::string& shown() const { return shown_; }
  const std::string& text() const { return text_; }
  const Node* root() const { return root_; }  // kBlock
  // The block of a kFunction, converted on first use.
  const Node* Body(const Node& function);
  const std::vector<SyntaxProblem>& problems() const { return problems_; }
  std::string Excerpt(const Node& node) const;  // one line, blanks collapsed

 private:
  struct Tree;  // tree-sitter's tree and the nodes of the deferred bodies
  friend class Converter;

  std::string shown_;
  std::string text_;
  std::unique_ptr<Tree> tree_;
  std::deque<Node> nodes_;
  std::vector<const Node*> bodies_;  // by index; null until converted
  std::vector<SyntaxProblem> problems_;
  const Node* root_ = nullptr;
};

std::string_view OperatorText(Operator op);

}  // namespace tenon::analyze
