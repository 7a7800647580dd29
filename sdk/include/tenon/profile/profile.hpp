// Profiles: where the time of a thread's calls goes, by op, plugin and module.
//
//   profile::Profiler profiler;
//   profiler.watch(model);
//   model(input);
//   const profile::Profile profile = profiler.stop();
//   for (const profile::Entry& entry : profile::by_op(profile)) ...
//
// A profiler is a mode below autograd, so that it sees the ops that are run: those of backward and of
// optimizers, too. It sees what a kernel does as one call, whatever ops the kernel calls. Without a
// profiler no call has anything to do for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

namespace profile {

struct ProfilerOptions {          // options of a profiler
  bool events = false;            // keep each call, for trace_events
  int64_t most_events = 1000000;  // of which more are counted and not kept
};

// Calls of one op by one module with operands of the same dtypes and shapes.
struct CallRow {
  std::string op;        // full name
  std::string provider;  // plugin that the op chose for such operands; empty: not known
  std::string operands;  // "f32[64, 10], f32[10]"
  // Index of Profile::modules: of the innermost whose forward runs, or in backward of the one whose forward
  // has recorded the node, or that of which a backward has recorded it; -1: outside of those that are watched.
  int64_t module = -1;
  bool backward = false;       // called by the engine
  bool optimizer = false;      // outside of modules, by the schema of optimizers
  int64_t calls = 0;           // also those that failed
  int64_t nanoseconds = 0;     // of all calls
  int64_t bytes = 0;           // of all calls: elements of operands and new results
  int64_t multiply_adds = -1;  // of all calls; -1: the op declares none
};

// A module that was watched. Its times are those between the begin and the end of its forward.
struct ModuleRow {
  std::string name, type;       // the watched model itself has no name
  int64_t calls = 0;            // how often
  int64_t nanoseconds = 0;      // with modules that it calls
  int64_t own_nanoseconds = 0;  // without these
};

// One call of an op (`row` of Profile::calls) or of a module (of Profile::modules).
struct CallEvent {
  bool of_module = false;              // whether a module ran, not an op
  int32_t thread = 0;                  // 0: the thread that made the profiler
  int64_t row = 0;                     // index in `calls`
  int64_t begin = 0, nanoseconds = 0;  // `begin` counts from the start of the profile
};

// Rates that this machine reaches with the threads that the process computes with, in a second; 0: not measured.
struct Limits {
  double multiply_adds = 0;  // in a product of f32 matrices, by the provider that runs it
  double bytes = 0;          // read and written by a copy that is larger than caches
};
// Measures them, which takes some 50 milliseconds and 64 MiB. Calls ops: not under a profiler.
Limits measure_limits();

struct Profile {                   // accounts of a run
  int64_t nanoseconds = 0;         // from start to stop
  std::vector<CallRow> calls;      // in the order of their first calls
  std::vector<ModuleRow> modules;  // in the order of watch, parents first
  std::vector<CallEvent> events;   // in the order of their ends, thread by thread
  int64_t events_dropped = 0;      // calls beyond most_events
  Limits limits;                   // set by the caller

  // Time of all calls of ops.
  int64_t call_nanoseconds() const;
};

// Observes this thread, and threads of parallel loops that it begins, until stop(). Made, stopped and
// destroyed on one thread, as watch is called; RuntimeError elsewhere.
//
// Prepared models that it observes run as they are, as under any mode.
//
// The provider of a call is asked for once for the dtypes, shapes and strides of its operands and its
// lists of integers: a plugin that declines by other arguments can be named for a call that it has
// passed on. Multiply-adds are asked for once as well, of ops that change no operand and have two
// tensors or more, by a call that computes shapes alone, which modes around the profiler see.
class Profiler {
 public:
  explicit Profiler(ProfilerOptions options = {});  // starts
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Calls of ops are attributed to the innermost of the model's modules whose forward runs, those of the
  // engine to the one whose forward has recorded the node. Modules that the model calls and does not
  // contain count for the one that calls them; so does a clone, which may be watched, too. Not within a
  // parallel loop.
  void watch(const Module& model);
  // Ends the profile; a second time it has no calls.
  Profile stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Sum of some rows: those of one op and plugin, of one plugin, of one module or of one phase.
struct Entry {
  // Op; plugin; "encoder.0 (Linear)", "encoder.0 (Linear), backward", and for calls of no module "(backward)",
  // "(optimizer)" or "(outside of modules)".
  std::string name;
  std::string provider;                           // plugin of an op
  int64_t calls = 0, nanoseconds = 0, bytes = 0;  // sums
  int64_t multiply_adds = -1;                     // -1: none is declared
  double share = 0;                               // of the time of all calls; 0 to 1
  // Part of the machine's limit that its calls have reached: of multiply-adds or of bytes, whichever is more;
  // above 1 where operands are in caches. -1: limits are not known, or neither is.
  double of_limit = -1;
};
// By falling time, then by name.
std::vector<Entry> by_op(const Profile& profile);
std::vector<Entry> by_provider(const Profile& profile);  // sums of each plugin
std::vector<Entry> by_module(const Profile& profile);    // sums of each module

// {seconds, seconds_in_calls, limits, ops: [{op, provider, calls, seconds, share, of_limit, bytes, multiply_adds}],
// providers: [...], modules: [...]}; share/tenon/documents.md has the shape.
Json document(const Profile& profile);
// The events as a document of the Trace Event Format, which chrome://tracing and ui.perfetto.dev read.
// The profile must have been made with `events`.
std::string trace_events(const Profile& profile, const std::string& title);

}  // namespace profile

TENON_NAMESPACE_END
