// Traces of results: what each call of a thread returns, in a file, and the first difference of two.
//
//   {
//     record::TraceRecorder recorder("a.trace", "digits.json");
//     recorder.watch(model);
//     model(input);
//     recorder.stop();
//   }
//   const record::Comparison found = record::compare("a.trace", "b.trace");
//
// A file has a line of JSON for each call, with a checksum of each result, its extremes, its mean and
// some of its elements, so that two files are compared without the runs: of two machines, providers, thread
// counts or versions. share/tenon/documents.md has the lines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

// Beginning of the files.
inline constexpr auto trace_beginning = R"({"tenon_trace":)";

// Bounds of a trace.
struct RecorderOptions {
  int64_t most_calls = 100000;  // calls beyond are counted and not kept
  int64_t most_elements = 64;   // kept of a result: all, or so many spread over it
};

// Records the calls of this thread, below autograd, until stop(): those of backward and of optimizers
// among them. What a kernel calls, and calls in parallel loops, whose order is chance, are not recorded.
// Each result is read once more, which takes longer than most calls. Made and stopped on one thread,
// as watch is called; RuntimeError elsewhere.
class TraceRecorder {
 public:
  // Replaces the file. IOError where it cannot be written. `title` and `about`, an object, are in the first line.
  TraceRecorder(const std::string& path, const std::string& title, RecorderOptions options = {},
                const Json& about = {});
  ~TraceRecorder();  // leaves a file without its end, where stop was not called
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  // Calls are attributed to the innermost of the model's modules whose forward runs, those of a backward to
  // the one whose forward has recorded the node.
  void watch(const Module& model);
  // Ends the file. IOError where a line could not be written: the calls themselves did not see it.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// A tensor that a call has returned or changed.
struct Summary {
  std::string name;   // name of the result in the schema, or of the parameter that was changed
  std::string dtype;  // "f32"
  std::vector<int64_t> shape;    // sizes
  uint64_t hash = 0;             // checksum of the bits of all elements in order; 0: not known
  int64_t nans = 0;              // number of elements that are NaN
  double minimum = 0;            // least element that is not NaN; NaN where there is none
  double maximum = 0;            // greatest one
  double mean = 0;               // mean of these
  std::vector<double> elements;  // at kept_places; of complex numbers both parts

  int64_t numel() const;  // product of the sizes
};
// Places, in row-major order, of the elements that are kept of so many.
std::vector<int64_t> kept_places(int64_t count, int64_t most);

// A call of a trace.
struct TracedCall {
  int64_t index = 0;                 // from 0
  std::string op, provider, module;  // full name; plugin; "0 (Linear)", empty outside of modules
  bool backward = false;             // called by the engine
  std::string arguments;             // "f32[2, 3], f32[3], alpha=2"
  std::vector<uint64_t> operands;    // checksums of the tensors among them
  std::vector<Summary> results;      // tensors that it returned or changed
};

// A file, read.
struct Trace {
  std::string path;               // its name
  Json header;                    // the first line
  std::vector<TracedCall> calls;  // in their order
  Json end;                       // the last line; undefined: the run did not come to its end
  bool by_name = false;           // from read_tensors: without first and last line
};
// ValueError for a file that is none, with path and line; IOError for one that cannot be read.
Trace read_trace(const std::string& path);

// Tensors by name, from a file of .npz or safetensors, in the order of the file, as one trace: an
// operator's results as another runtime returned them.
Trace read_tensors(const std::string& path, int64_t most_elements = 64);

// The element of a result that differs most, among those that are kept.
struct Worst {
  std::vector<int64_t> place;  // indices
  double one = 0, other = 0;   // the element on both sides
  double difference = 0;  // relative to the largest element of the result; inf: NaN, or not finite
};
// A result of two calls that correspond.
struct Difference {
  TracedCall one, other;         // both calls
  size_t result = 0;             // place among the results
  bool operands_differ = false;  // whether the difference is older than the call
  bool kept = true;              // false: no kept element differs, and `worst` is empty
  Worst worst;                   // element that differs most
};

// Result of a comparison.
enum class Outcome { equal, differ, not_comparable };

// Account of two traces.
struct Comparison {
  Outcome outcome = Outcome::equal;    // equal: none differs beyond the tolerance
  std::string reason;                  // why they cannot be compared
  std::vector<std::string> notes;      // what differs about the runs, such as configs and plugins
  int64_t compared = 0;                // calls, or tensors, without those that are missing
  int64_t different = 0;               // of them, beyond the tolerance
  int64_t different_bits = 0;          // of them, by their checksums
  std::vector<Difference> first;       // the first beyond the tolerance; none or one
  std::vector<Difference> largest;     // the largest relative difference; none or one
  std::vector<TracedCall> one, other;  // calls around the place where sequences part
  std::vector<std::string> missing;    // names of tensors that no call returned
};

// The first difference of two traces, call by call. `tolerance`: part of the largest element of a
// result by which its kept elements, extremes and mean may differ, nothing else being known; 0: all bits are
// compared.
Comparison compare(const Trace& one, const Trace& other, double tolerance = 0);
// A trace beside tensors by name, such as the values in an ONNX file that ONNX Runtime returned: each is
// looked for among the results, by shape and elements, since a call has no such name. The first that is
// not there is compared with the nearest result of its shape behind those that were found. Where the last tensor is
// there, which is what the model returns, others are taken for values within a call, and are `missing`.
Comparison compare_tensors(const Trace& trace, const Trace& tensors, double tolerance);

// {outcome, reason, notes, compared, different, different_bits, first, largest, one, other, missing}
Json document(const Comparison& comparison);

}  // namespace record

TENON_NAMESPACE_END
