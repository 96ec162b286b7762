// match statements.
#include "analyze/interpreter.h"

namespace tenon::analyze {

Flow Interpreter::RunMatch(const Node* node, Namespace* env) {
  const Value subject = Eval(node->kids[0], env);
  for (size_t i = 1; i < node->kids.size(); ++i) {
    const Node* match_case = node->kids[i];
    if (!Matches(match_case->kids[0], subject, env)) continue;
    const Node* guard = match_case->kids[1];
    if (guard != nullptr && !Truth(Eval(guard, env), guard, env)) continue;
    return Run(match_case->kids[2], env);
  }
  return Flow::kNext;
}

bool Interpreter::Matches(const Node* pattern, const Value& subject, Namespace* env) {
  switch (pattern->kind) {
    case Kind::kPatternName:
      if (pattern->text != "_") AssignName(pattern->text, subject, env);
      return true;
    case Kind::kPatternOr:
      for (const Node* kid : pattern->kids) {
        if (Matches(kid, subject, env)) return true;
      }
      return false;
    case Kind::kPatternAs:
      if (!Matches(pattern->kids[0], subject, env)) return false;
      AssignName(pattern->text, subject, env);
      return true;
    case Kind::kPatternValue: {
      const Value equal = Compare(Operator::kEq, subject, Eval(pattern->kids[0], env));
      return Truth(equal, pattern, env);
    }
    case Kind::kPatternClass:
      if (!IsInstance(subject, Eval(pattern->kids[0], env))) return false;
      for (size_t i = 1; i < pattern->kids.size(); ++i) {
        const Node* part = pattern->kids[i];
        if (part->kind != Kind::kKeyword) return Matches(part, subject, env);
        const Value attribute = Attribute(subject, part->text);
        if (!attribute.Defined() || !Matches(part->kids[0], attribute, env)) return false;
      }
      return true;
    case Kind::kPatternList: {
      if (!subject.Is(ObjectKind::kList) && !subject.Is(ObjectKind::kTuple)) return false;
      const std::vector<Value> items = Iterate(subject);
      const size_t count = pattern->kids.size();
      const bool star = count > 0 && pattern->kids[count - 1]->kind == Kind::kPatternStar;
      if (star ? items.size() + 1 < count : items.size() != count) return false;
      for (size_t i = 0; i < count; ++i) {
        const Node* kid = pattern->kids[i];
        if (kid->kind == Kind::kPatternStar) {
          const auto first = items.begin() + static_cast<std::ptrdiff_t>(i);
          if (kid->text != "_") AssignName(kid->text, NewList({first, items.end()}), env);
        } else if (!Matches(kid, items[i], env)) {
          return false;
        }
      }
      return true;
    }
    default:
      return false;
  }
}

}  // namespace tenon::analyze
