// The lists of one prepared model, and the choice between a list and the model as it is.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "model_state.hpp"
#include "program.hpp"
#include "record.hpp"
#include "recorder.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

// Calls visit(tensor) with each tensor of the arguments, in lists too; undefined ones are null there.
template <class Visit>
void for_each_tensor(const Arguments& arguments, Visit&& visit) {
  const auto look = [&](const tenon_value* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (values[i].tag == TENON_VALUE_TENSOR) visit(values[i].as.tensor);
      for (uint32_t k = 0; values[i].tag == TENON_VALUE_TENSOR_LIST && k < values[i].length; ++k)
        visit(values[i].as.tensors[k]);
    }
  };
  look(arguments.values, arguments.count);
  look(arguments.keyword_values, arguments.keyword_count);
}

// Everything about the arguments of a call that its list depends on: kinds, keywords, layouts, literals,
// and which tensors are the same.
class ArgumentsKey {
 public:
  explicit ArgumentsKey(const Arguments& arguments);
  bool matches(const Arguments& arguments) const;
  // With the elements of the arguments that are numbers, which the list depends on as well.
  void add_numbers(const Arguments& arguments);
  bool has_numbers() const { return !numbers_.empty(); }
  std::string text() const;

 private:
  struct One {
    std::string keyword;
    uint32_t tag = TENON_VALUE_NONE;
    std::vector<Tensor> layouts;  // undefined where a list has no tensor
    std::shared_ptr<const Value> literal;
  };
  static bool matches(const One& one, const tenon_value& value);
  std::vector<One> by_position_, by_keyword_;
  std::vector<size_t> same_;     // by tensor: the first that is the same
  std::vector<Tensor> numbers_;  // by tensor; undefined where the elements do not matter
};

class Session {
 public:
  Session(Module module, PrepareOptions options);

  void run(const Arguments& arguments, tenon_value* results, int64_t result_count);
  // Makes the list for these arguments where there is none.
  void prepare(const Arguments& arguments);

  const PrepareOptions& options() const { return options_; }
  std::vector<PreparedList> lists() const;
  std::vector<std::string> reasons() const;
  int64_t listed_runs() const;
  int64_t runs_as_is() const;

 private:
  struct Entry {
    ArgumentsKey key;
    PreparedList report;
    std::unique_ptr<Program> program;              // null: the model runs as it is
    std::vector<std::pair<Tensor, int64_t>> kept;  // what the model keeps, with versions
  };
  using Entries = std::list<Entry>;
  // A layout of arguments for which the model reads elements, and the lists that were made for it.
  struct Reading {
    ArgumentsKey key;
    Readable readable;
    size_t made = 0;
  };

  bool run_list(const Arguments& arguments, tenon_value* results, int64_t result_count);
  // The entry for the arguments, made where need be; null where the model runs as it is, for a reason.
  Entry* entry_for(const Arguments& arguments);
  enum class Ran : uint8_t { whole, to_comparison, not_at_all };
  Ran run_entry(Entry& entry, tenon_value* results, int64_t result_count);
  // The entry for a run like the last one of `entry`, which ended at a comparison.
  Entry* entry_like(const Entry& entry, const Arguments& arguments);
  Entry* add(Entry entry);
  // Whether the model has changed what it keeps since.
  static bool is_stale(const Entry& entry);
  size_t most_lists() const { return options_.lists == 0 ? 1 : options_.lists; }
  std::string reason_as_is(const Arguments& arguments);
  Entry make(const Arguments& arguments);
  void rewrite(CallList& list, PreparedList& report) const;
  Recording record_list(const Arguments& arguments, Entry& entry);
  bool run_as_is(const std::string& reason);

  const Module module_;
  const PrepareOptions options_;
  mutable std::mutex mutex_;
  ModelState state_;
  uint64_t rewrites_ = 0;       // policies for rewrites so far
  Entries entries_;             // the one that was used last first
  std::list<Reading> reading_;  // the one that was made last first
  std::vector<tenon_tensor*> tensors_;
  std::vector<std::string> reasons_;
  int64_t listed_ = 0, as_is_ = 0;
  bool rehearses_ = false;  // the run is for an example, and leaves the model as it is
};

}  // namespace prepared

TENON_NAMESPACE_END
