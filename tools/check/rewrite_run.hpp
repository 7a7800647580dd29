// Lists of calls in which patterns of a rewrite occur, before and after it, and what both compute.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <tenon/op.hpp>
#include <tenon/prepare/rewrite.hpp>

#include "rewrite_pattern.hpp"

namespace cli {

// A value for each slot of a pattern.
struct RewriteCase {
  std::vector<SampleValue> values;
  std::vector<std::vector<tenon::Tensor>> tensors;  // by slot, made by fill() or another way
  std::set<size_t> constants;                       // slots whose tensors the model keeps
  std::string with;  // how the tensors differ from those of the values: "x with other strides"
  double times_bound = 1;  // so many times the rule's bound both sides may differ

  double elements() const;  // elements of all tensors
  void fill(uint64_t seed);
  Sample sample() const;  // for reports
};

// Other calls on the tensors of the pattern.
enum class RewriteUse {
  read,            // another call reads the results
  shown,           // the results are outputs
  inner_read,      // other calls read each result of the pattern, also those inside
  inner_shown,     // they are outputs
  then_written,    // the operands are changed in place before the results are read
  result_written,  // the results are changed in place before the operands are read
  written_between  // the operands are changed in place between two calls of the pattern
};
const char* text_of(RewriteUse use);

// Results of a case: what readers and outputs got, in their order.
struct RewriteResults {
  std::vector<tenon::Tensor> tensors;
  std::string error;    // message of a call that failed
  std::string changed;  // an operand that calls have changed: "'x'"
};

class RewriteLists {
 public:
  RewriteLists(const RewritePattern& pattern, const tenon::rewrites::Rule& rule);

  // Runs the pattern on the case and adds its calls; false where it refuses these operands.
  bool add(const RewriteCase& given, RewriteUse use);
  size_t size() const { return cases_.size(); }
  const RewriteCase& given(size_t index) const { return cases_[index].given; }

  // Rewrites all of them; `others`: also by the rules of plugins.
  tenon::rewrites::Account apply(bool others);
  bool is_applied(size_t index) const;
  RewriteResults before(size_t index) const { return run(before_, index); }
  RewriteResults after(size_t index) const { return run(after_, index); }

 private:
  struct Case {
    RewriteCase given;
    size_t calls = 0;
  };
  struct Recording;

  size_t add_value(tenon::prepared::ListValue::Kind kind, const tenon::Tensor& tensor,
                   std::vector<size_t>& of_case);
  void add_probe(size_t index, bool writes, const std::vector<size_t>& values);
  void add_uses(Recording& recording, size_t index, RewriteUse use);
  RewriteResults run(const tenon::prepared::CallList& list, size_t index) const;

  const RewritePattern& pattern_;
  const tenon::rewrites::Rule& rule_;
  tenon::Op probe_;  // an op that no call of the pattern is of; it is never run
  tenon::prepared::CallList before_, after_;
  std::vector<Case> cases_;
  std::vector<tenon::Tensor> real_;                     // by value of before_
  std::vector<std::pair<size_t, std::string>> owners_;  // by argument: case and name of the slot
  std::vector<tenon::Tensor> arguments_;
};

// Tensors that one call of a pattern gives; `results`: of the calls before it. Throws what the op throws.
std::vector<tenon::Tensor> call_of_pattern(const PatternCall& call, const RewriteCase& given,
                                           const std::vector<std::vector<tenon::Tensor>>& results);

// "element 3 is 1 by the pattern and 2 by the replacement ...", for the element that differs most;
// empty: they agree. `bound`: relative to the largest element; 0: by bits. `infinite`: some operand is
// infinite.
std::string rewrite_difference(const tenon::Tensor& pattern, const tenon::Tensor& replacement,
                               double bound, bool infinite);

}  // namespace cli
