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
  std::vector<size_t> same_;  // by tensor: the first that is the same
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

  bool run_list(const Arguments& arguments, tenon_value* results, int64_t result_count);
  // The entry for the arguments, made where need be; null where the model runs as it is, for a reason.
  Entry* entry_for(const Arguments& arguments);
  std::string reason_as_is(const Arguments& arguments);
  Entry make(const Arguments& arguments);
  void rewrite(CallList& list, PreparedList& report) const;
  bool run_as_is(const std::string& reason);

  const Module module_;
  const PrepareOptions options_;
  mutable std::mutex mutex_;
  ModelState state_;
  Entries entries_;  // the one that was used last first
  std::vector<tenon_tensor*> tensors_;
  std::vector<std::string> reasons_;
  int64_t listed_ = 0, as_is_ = 0;
};

}  // namespace prepared

TENON_NAMESPACE_END
