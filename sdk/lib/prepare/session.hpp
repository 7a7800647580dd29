// The lists of one prepared model, and the choice between a list and the model as it is.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "arguments_key.hpp"
#include "model_state.hpp"
#include "program.hpp"
#include "record.hpp"
#include "recorder.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

struct SavedModel;

class Session {
 public:
  // `numbered`: those of all clones.
  Session(Module module, PrepareOptions options, std::shared_ptr<NumberedConstants> numbered);
  // Runs the lists of a file, without a module.
  explicit Session(std::shared_ptr<const SavedModel> saved);

  void run(const Arguments& arguments, tenon_value* results, int64_t result_count);
  // Makes the list for these arguments where there is none.
  void prepare(const Arguments& arguments);

  // Another one of the same module or file.
  std::shared_ptr<Session> clone() const;
  void save(const std::string& path, const Json& notes);
  std::string forward_schema() const;
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

  void rehearse(const Arguments& arguments);
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
  // `first`: no entry is in use, so that all may go.
  Entry make(const Arguments& arguments, bool first);
  void fill(Entry& entry, const Arguments& arguments, bool first);
  Recording record_again(const Arguments& arguments, Entry& entry);
  void rewrite(CallList& list, PreparedList& report) const;
  Recording record_list(const Arguments& arguments, Entry& entry);
  bool run_as_is(const std::string& reason);
  void run_saved(const Arguments& arguments, tenon_value* results, int64_t result_count);
  std::string try_saved(const Arguments& arguments, tenon_value* results, int64_t result_count);
  [[noreturn]] void refuse_saved(const std::string& reason) const;
  void make_saved();
  void make_saved_programs();

  const Module module_;  // undefined: the lists are those of `saved_`
  const PrepareOptions options_;
  mutable std::mutex mutex_;
  ModelState state_;
  uint64_t rewrites_ = 0;       // policies for rewrites so far
  Entries entries_;             // the one that was used last first
  std::list<Reading> reading_;  // the one that was made last first
  std::vector<tenon_tensor*> tensors_;
  std::vector<std::string> reasons_;
  int64_t listed_ = 0, as_is_ = 0;
  const std::shared_ptr<NumberedConstants> numbered_;  // null for `saved_`
  const std::shared_ptr<const SavedModel> saved_;
  uint64_t saved_ops_ =
      0;  // number of changes to providers when the programs of `saved_` were made
  bool rehearses_ = false;  // the run is for an example, and leaves the model as it is
};

}  // namespace prepared

TENON_NAMESPACE_END
