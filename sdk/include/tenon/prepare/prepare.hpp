// Models prepared for inference: the calls of a module, listed once for each layout of its arguments.
//
//   model.eval();
//   const Prepared prepared = prepare(model, {{example}});
//   const NoGrad no_grad;
//   const Tensor output = prepared(input);
//   for (const std::string& reason : prepared.reasons()) ...   // why runs were the model's own
//   prepared.save("model.tenon");                              // open_prepared("model.tenon")
//
// sdk/lib/prepare/README.md says what a list holds, and when the model runs as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"
#include "tenon/prepare/call_list.hpp"
#include "tenon/prepare/rewrite.hpp"

TENON_NAMESPACE_BEGIN

// A step that rewrites the list of a model, before providers and memory are chosen.
using PreparePass = std::function<void(prepared::CallList& list)>;

struct PrepareOptions {  // limits and choices of a preparation
  // Kept, for the layouts that were used last. A model that reads numbers has up to that many lists for one
  // layout, one for each of the ways that it takes.
  size_t lists = 8;
  rewrites::Options rewrites;       // rules of plugins: all of them
  std::vector<PreparePass> passes;  // run in order, after constants are folded and rules applied
};

// A call of a list.
struct PreparedCall {
  std::string op, provider;  // name, and id of the plugin
  int64_t bytes = 0;         // size of its results
  bool in_arena = false;     // its result is in the memory that the list shares
  bool in_place = false;     // and in that of an operand that nothing else reads
  std::string rewrite;       // name of the rule that put it there; empty: the model made it
};

// Account of a list, for one layout of the arguments.
struct PreparedList {
  // "f32[8, 3, 224, 224]"; "i64[] = 16000" where the list is for these numbers.
  std::string arguments;
  std::vector<Tensor> layouts;  // the tensors among them, each once, without data
  std::string reason;           // why the model runs as it is; empty where there is a list
  int64_t recorded = 0;         // calls of the model
  int64_t compared = 0;  // results that the model reads: where they differ, another list runs
  std::vector<std::string> folded, dropped;  // ops of calls whose results are constants, or unused
  std::vector<rewrites::Applied> rewrites;   // rules that have changed it
  std::vector<std::string> refused;  // rules that fit and were not used, each with the reason
  std::vector<PreparedCall> calls;   // in order
  // Bytes of results: of all, of those that share memory of the list, and of this memory. The others are
  // freed after their last use. The first run decides: before it, none shares memory.
  int64_t result_bytes = 0, shared_bytes = 0, arena_bytes = 0;
  // Bytes of results and of the shared memory at most at once: of the calls as recorded, where each result is
  // freed after its last use, and of the list.
  int64_t recorded_peak_bytes = 0, peak_bytes = 0;
};

namespace prepared {
class Session;
}

// The module itself, whose calls run by lists. Members, names and state are the module's; what is
// changed there takes effect in the next run. Calls of one Prepared run one at a time: threads that
// compute at the same time have a clone each. Any thread.
class Prepared : public Module {
 public:
  Prepared() = default;

  template <class... Arguments>
  Tensor operator()(const Arguments&... arguments) const {  // for one result
    return call<Tensor>(arguments...);
  }
  template <class Result, class... Arguments>
  Result call(const Arguments&... arguments) const {  // as the module is called
    return call_by<Result>([this](const Given& given, tenon_value* results,
                                  int64_t result_count) { run(given, results, result_count); },
                           arguments...);
  }
  // The call of `count` values by position, where their number is known at run time only. `results` gets
  // `result_count` values, which the caller owns; below 0, as many as the module gives, of 8 at most.
  void call_values(const tenon_value* values, int64_t count, tenon_value* results,
                   int64_t result_count) const {
    run({values, count, nullptr, nullptr, 0}, results, result_count);
  }
  // Calls the module without a list.
  template <class Result, class... Arguments>
  Result call_as_is(const Arguments&... arguments) const {
    return Module::call<Result>(arguments...);
  }

  // Another one of the same module or file, with its own lists: both share weights.
  Prepared clone() const;
  // Writes the lists that are kept, with the constants that they compute with, as a file for open_prepared.
  // Replaces the file as a whole, or leaves the old one. RuntimeError with the reason where it has none;
  // ValueError where a list calls an op that takes a path or has no result, or computes with what no file
  // has; IOError. `notes`, an object of texts, is kept beside the lists: state::metadata has it. Without any, a
  // model that was opened keeps those of its file.
  void save(const std::string& path, const Json& notes = {}) const;
  // The schema of the model's forward, of one that was opened as well.
  std::string forward_schema() const;
  // The layouts that are kept, the one that was used last first.
  std::vector<PreparedList> lists() const;
  // Why calls have run the module as it is: each reason once, in the order in which they came up.
  std::vector<std::string> reasons() const;
  // Calls that ran by a list, and by the module itself.
  int64_t listed_runs() const;
  int64_t runs_as_is() const;  // calls of the module itself

 private:
  friend Prepared prepare(const Module& module, const std::vector<std::vector<Tensor>>& examples,
                          const PrepareOptions& options);
  friend Prepared open_prepared(const std::string& path);
  Prepared(const Module& module, const PrepareOptions& options);
  Prepared(const Module& module, std::shared_ptr<prepared::Session> session);
  void run(const Given& given, tenon_value* results, int64_t result_count) const;
  prepared::Session& session() const;

  std::shared_ptr<prepared::Session> session_;
};

// Prepares a module, which should be in eval mode; `examples` are arguments by position, for which
// lists are made now, and run once where they change nothing. Arguments that the module refuses throw
// nothing here: lists() has the reason. Arguments of other layouts get a list at their first use.
Prepared prepare(const Module& module, const std::vector<std::vector<Tensor>>& examples = {},
                 const PrepareOptions& options = {});

// Opens a file of Prepared::save: its lists, without the module, over weights in the mapped file, which must
// not be changed or shortened as long as a copy of the result is used. Loads the plugins whose ops the lists
// call. The module is undefined (it has no members); a call that no list is for, or that the model would run
// as it is, throws. PluginError where a plugin is missing, another build than the lists were made with, or not
// the one that is chosen; RuntimeError where the boundary or the processor is another; ValueError where it is
// not such a file; IOError. A file can call any op of the installed plugins but those that take a `path`: open
// only those that may compute here.
Prepared open_prepared(const std::string& path);

TENON_NAMESPACE_END
