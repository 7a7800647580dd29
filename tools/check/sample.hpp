// Arguments to try an op with: given by its author as JSON, or generated from its schema.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/gradcheck_report.hpp>
#include <tenon/json.hpp>
#include <tenon/module.hpp>
#include <tenon/op.hpp>
#include <tenon/training/declared_type.hpp>

#include "sample_files.hpp"

namespace cli {

using tenon::training::declared_types, tenon::training::DeclaredType;

struct TensorSpec {
  std::vector<int64_t> shape;
  tenon::DType dtype = tenon::f64;
  double low = -1, high = 1;
  std::vector<double> values;  // in place of random ones
  bool requires_grad = true;   // as far as the dtype can
};

// Numbers that keep their distance from each other and, where the range has both signs, from zero:
// maxima and kinks stay where they are when one is moved a little. `state`: of the random numbers.
tenon::Tensor make_tensor(const TensorSpec& spec, uint64_t& state);

// A text, or the path of a file of the sample with this name.
struct TextSpec {
  std::string text;
  bool file = false;
};

class SampleArguments;
struct Sample;
struct SampleStep;

// One named argument.
struct SampleValue {
  enum class Kind {
    none,
    tensor,
    tensors,
    scalar,
    text,
    texts,
    dtype,
    integers,
    numbers,
    document,
    result  // the result of another op, which is called first, each time
  };
  std::string name;
  Kind kind = Kind::none;
  std::vector<TensorSpec> tensors;
  tenon::Scalar scalar;
  std::vector<TextSpec> texts;
  tenon::DType dtype = tenon::DType::none;
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  tenon::Json document;  // a module, or JSON, of a module's attributes
  std::shared_ptr<const SampleStep> call;

  tenon::Json json() const;
};

// A step of a sample beside the call: a file to write, or a call of another op.
struct SampleStep {
  std::string file, content;
  std::string op;
  std::shared_ptr<const Sample> arguments;
  int64_t result = 0;  // which of the call's results is meant
  std::string json;    // as the author wrote it
};

struct Sample {
  // Both directions, and gradients of the right dtype, unless they are switched off.
  Sample() { gradcheck.check_forward_ad = gradcheck.check_grad_dtypes = true; }
  std::vector<SampleValue> values;
  std::vector<SampleStep> prepare;         // before the first call
  std::shared_ptr<const SampleStep> then;  // after each call: its results are results, too
  std::shared_ptr<const SampleFiles> files;
  tenon::Json inputs;  // a module's arguments, by name
  tenon::GradcheckOptions gradcheck;
  // Expectations of the sample.
  bool layouts = true, precision = true, deterministic = true, mutation = true, leaks = true;
  std::string dump() const;
};

// Arguments made from a sample: the same ones each time for the same seed.
class SampleCall {
 public:
  SampleCall(const std::string& op, Sample sample, uint64_t seed);
  // Arguments of a module's forward; floating tensors are f32, as parameters are.
  SampleCall(const tenon::Module& module, Sample sample, uint64_t seed);
  friend tenon::Module make_module(const std::string& type, const Sample& sample, uint64_t seed);

  // Every tensor of the call in order, those in lists included.
  std::vector<tenon::Tensor> tensors;
  struct Place {
    size_t value;  // value of the sample
    bool requires_grad;
  };
  std::vector<Place> places;
  // The name of the parameter that a tensor is for.
  const std::string& name_of(size_t tensor) const {
    return sample_.values[places[tensor].value].name;
  }

  // Calls with other tensors in their places; random draws are the same in every call. The results
  // of the sample's `then` are behind those of the op.
  std::vector<tenon::Value> operator()(const std::vector<tenon::Tensor>& given,
                                       uint64_t draw = 1) const;
  // Calls with one more keyword.
  std::vector<tenon::Value> with(const std::string& keyword, const tenon::Tensor& tensor) const;

 private:
  explicit SampleCall(Sample sample) : sample_(std::move(sample)) {}
  // Adds the sample's arguments to those of a call.
  void gather(SampleArguments& arguments, const std::vector<tenon::Tensor>& given,
              uint64_t draw) const;
  std::vector<tenon::Value> call(const std::vector<tenon::Tensor>& given, uint64_t draw,
                                 const std::string* keyword, const tenon::Tensor* extra) const;
  void prepare(const std::string& name, uint64_t seed);
  std::vector<tenon::Value> run(const std::vector<tenon_string>& names,
                                const std::vector<tenon_value>& values) const;
  std::optional<tenon::Op> op_;  // or
  tenon::Module module_;
  Sample sample_;
  std::vector<SampleCall> before_;  // calls whose results are values of this one, in order
  std::shared_ptr<const SampleCall> then_;
};

// After a call with this draw: whether the generator continues where the call began, or later.
bool continues_draws(uint64_t draw = 1);

// All tensors among results.
std::vector<tenon::Tensor> tensors_of(const std::vector<tenon::Value>& results);

// Reads what an author wrote; throws ValueError that names the place.
std::vector<Sample> parse_samples(const std::string& json,
                                  const std::vector<DeclaredType>& parameters);
// Reads samples of a module's attributes, beside which `inputs` may be given.
std::vector<Sample> parse_module_samples(const std::string& json,
                                         const std::vector<DeclaredType>& attributes);
// A module with the attributes of a sample.
tenon::Module make_module(const std::string& type, const Sample& sample, uint64_t seed);

// Gives the sample a folder for its files, where it names any, and does what it prepares. Throws
// what a step throws, and IOError.
void prepare_sample(Sample& sample, const std::string& folder, uint64_t seed);
// Whether samples, as an author wrote them, name files.
bool name_files(const std::string& json);

// How to compare, as a sample's "check" says it; over what the sample says already.
void apply_options(const std::string& json, Sample& sample);

// Values that a parameter may be tried with, simplest first; empty: nothing is known to try. `base`: the
// shape that those of tensors are derived from; `texts`: what a text may be.
std::vector<SampleValue> argument_choices(const DeclaredType& type,
                                          const std::vector<int64_t>& base,
                                          const std::vector<std::string>& texts = {});

struct Generated {
  std::vector<Sample> samples;
  std::string reason;  // why there are none
};
// Tries arguments on `accepts` until some are taken: simple ones first, then each option in turn.
// `bases`: shapes that tensors are derived from; empty: those for ops. `texts`: what a text may be.
Generated generate_samples(const std::vector<DeclaredType>& parameters,
                           const std::function<bool(const Sample&)>& accepts,
                           const std::string* last_refusal,
                           const std::vector<std::vector<int64_t>>& bases = {},
                           const std::vector<std::string>& texts = {});

}  // namespace cli
