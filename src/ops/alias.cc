#include "ops/alias.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/dtype.h"

namespace tenon::ops {
namespace {

struct Term {
  int64_t stride;  // bytes, positive
  int64_t extent;  // the index runs over [0, extent]
};

// The bytes of a view: start + sum of stride * index.
struct Bytes {
  int64_t start = 0;
  int64_t length = 0;  // to the last byte
  std::array<Term, kMaxRank + 1> terms;
  int num_terms = 0;
  bool empty = false;

  void Add(Term term) { terms[static_cast<size_t>(num_terms++)] = term; }
};

Bytes BytesOf(const Tensor& t) {
  const int64_t item = ItemSize(t.dtype);
  Bytes bytes;
  bytes.start = reinterpret_cast<int64_t>(t.data);
  bytes.length = item;
  bytes.Add({1, item - 1});
  for (int axis = 0; axis < t.rank; ++axis) {
    if (t.sizes[axis] == 0) bytes.empty = true;
    const int64_t extent = t.sizes[axis] - 1;
    const int64_t stride = t.strides[axis] * item;
    if (extent <= 0 || stride == 0) continue;
    if (stride < 0) bytes.start += stride * extent;
    bytes.Add({std::abs(stride), extent});
    bytes.length += std::abs(stride) * extent;
  }
  return bytes;
}

// Whether sum of stride * index, index in [0, extent], can be `target`. Terms come with falling
// strides; for nested layouts at most two values of an index are worth trying.
class BoundedSum {
 public:
  explicit BoundedSum(std::vector<Term> terms) : terms_(std::move(terms)) {
    rest_.resize(terms_.size() + 1, 0);
    for (size_t i = terms_.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1] + terms_[i].stride * terms_[i].extent;
    }
  }

  bool CanBe(int64_t target, size_t from = 0) {
    if (target < 0 || target > rest_[from]) return false;
    if (from == terms_.size()) return true;
    if (--budget_ < 0) return true;
    const auto [stride, extent] = terms_[from];
    const int64_t high = std::min(extent, target / stride);
    const int64_t short_by = target - rest_[from + 1];
    const int64_t low = short_by <= 0 ? 0 : (short_by + stride - 1) / stride;
    for (int64_t index = high; index >= low; --index) {
      if (CanBe(target - index * stride, from + 1)) return true;
    }
    return false;
  }

 private:
  std::vector<Term> terms_;
  std::vector<int64_t> rest_;  // largest sum of the terms from here on
  int64_t budget_ = 100000;    // steps; nested layouts need a few dozen
};

}  // namespace

bool ShareMemory(const Tensor& a, const Tensor& b) {
  const Bytes x = BytesOf(a);
  const Bytes y = BytesOf(b);
  if (x.empty || y.empty) return false;
  if (x.start + x.length <= y.start || y.start + y.length <= x.start) return false;
  // x.start + sum(x) = y.start + sum(y). Counting y's indices from their ends makes every term
  // positive; equal strides join into one term.
  std::map<int64_t, int64_t, std::greater<>> joined;
  int64_t target = y.start - x.start;
  for (int i = 0; i < x.num_terms; ++i) joined[x.terms[i].stride] += x.terms[i].extent;
  for (int i = 0; i < y.num_terms; ++i) {
    const Term& term = y.terms[i];
    joined[term.stride] += term.extent;
    target += term.stride * term.extent;
  }
  std::vector<Term> terms;
  for (const auto& [stride, extent] : joined) terms.push_back({stride, extent});
  return BoundedSum(std::move(terms)).CanBe(target);
}

bool OverlapsItself(const Tensor& t) {
  if (t.numel() == 0) return false;
  std::array<Term, kMaxRank> terms;  // with rising strides
  int count = 0;
  for (int axis = 0; axis < t.rank; ++axis) {
    if (t.sizes[axis] <= 1) continue;
    const Term term{std::abs(t.strides[axis]), t.sizes[axis] - 1};
    int place = count++;
    for (; place > 0 && terms[place - 1].stride > term.stride; --place) {
      terms[place] = terms[place - 1];
    }
    terms[place] = term;
  }
  int64_t length = 1;
  for (int i = 0; i < count; ++i) {
    if (terms[i].stride < length) return true;
    length += terms[i].stride * terms[i].extent;
  }
  return false;
}

}  // namespace tenon::ops
