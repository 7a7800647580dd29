// Calls by which two providers of an op are compared.
#include "provider_call.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/graph.hpp>
#include <tenon/runtime.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/trace.hpp>

#include "format.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;
using tenon::Value;

namespace {

constexpr uint64_t kSeeds = 2;
constexpr std::array<int64_t, 2> kCopies = {3, 20};
constexpr int64_t kMostElements = 1 << 19;  // elements of all tensors of a call

struct PlantedName {
  Planted planted;
  const char* name;
};
constexpr std::array<PlantedName, 9> kPlanted = {{
    {Planted::nothing, "nothing"},
    {Planted::few, "one number that is not finite in each tensor"},
    {Planted::first, "numbers that are not finite in the first tensor, zeros in the others"},
    {Planted::others, "zeros in the first tensor, numbers that are not finite in the others"},
    {Planted::zeros, "zeros of both signs"},
    {Planted::ties, "equal numbers"},
    {Planted::no_first, "a first dimension of 0 in the first tensor"},
    {Planted::no_first_all, "a first dimension of 0"},
    {Planted::no_last_all, "a last dimension of 0"},
}};
constexpr uint64_t kPlantedSeeds = 3;  // seeds of `few`: each kind of number is in each tensor once
const char* name_of(Planted planted) { return kPlanted[static_cast<size_t>(planted)].name; }

// Tensor `t` of a call with what is planted in it, in the same places for the same seed.
Tensor planted_in(const Tensor& tensor, Planted planted, size_t t, uint64_t seed) {
  if (planted == Planted::nothing) return tensor;
  const bool empties = planted == Planted::no_first || planted == Planted::no_first_all ||
                       planted == Planted::no_last_all;
  if (empties) {
    if (tensor.dim() == 0 || (planted == Planted::no_first && t > 0)) return tensor;
    std::vector<int64_t> sizes = tensor.sizes();
    (planted == Planted::no_last_all ? sizes.back() : sizes.front()) = 0;
    return tenon::empty_tensor(tenon::IntList(sizes.data(), tensor.dim()), tensor.dtype());
  }
  if (!tenon::is_differentiable(tensor.dtype()) || tensor.numel() == 0) return tensor;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr std::array<double, 3> special = {std::numeric_limits<double>::quiet_NaN(), inf, -inf};
  uint64_t state = seed * 1000003 + t;
  const auto draw = [&](size_t count) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % count;
  };
  std::vector<double> numbers = numbers_of(tensor);
  const size_t count = numbers.size();
  const bool only_zeros = planted == Planted::zeros;
  for (double& number : numbers) {
    if (planted == Planted::ties)
      // Small: states of saturated gates are sums of 1 and -1, of which no bound of rounding holds.
      number = static_cast<double>(draw(3)) / 2 - 0.5;
    else if (only_zeros || draw(8) == 0)
      number = draw(2) == 0 ? 0.0 : -0.0;
  }
  if (planted == Planted::few) numbers[draw(count)] = special[(seed + t) % special.size()];
  if (planted == (t == 0 ? Planted::first : Planted::others)) {
    for (const double number : special) numbers[draw(count)] = number;
  }
  return with_elements(tensor, numbers);
}

int64_t elements_of(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.defined() ? tensor.numel() : 0;
  return count;
}

// The tensor in new memory; undefined where it has no data.
Tensor plain(const Tensor& given) {
  const Tensor tensor = readable(given);
  return tensor.defined() ? copied(tensor.detach()) : tensor;
}

// The dtype of a number that is computed from these, which is rounded no finer than they are.
tenon::DType number_dtype(const std::vector<Tensor>& inputs) {
  tenon::DType dtype = tenon::f64;
  for (const tenon::DType coarse : {tenon::f32, tenon::f16, tenon::bf16}) {
    if (std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& tensor) {
          return tensor.defined() && tenon::is_differentiable(tensor.dtype()) &&
                 tenon::real_dtype(tensor.dtype()) == coarse;
        }))
      dtype = coarse;
  }
  return dtype;
}

// Results that are a number or a list of them; undefined for others.
Tensor numbers_in(const Value& value, const std::vector<Tensor>& inputs) {
  const tenon_value& given = value.get();
  const bool list = given.tag == TENON_VALUE_FLOAT_LIST;
  if (!list && given.tag != TENON_VALUE_FLOAT) return {};
  std::vector<double> numbers{0};
  if (list)
    numbers.assign(given.as.numbers, given.as.numbers + given.length);
  else
    numbers[0] = tenon::Scalar(given).to<double>();
  const auto count = static_cast<int64_t>(numbers.size());
  const Tensor like = tenon::empty_tensor(list ? tenon::IntList(&count, 1) : tenon::IntList(),
                                          number_dtype(inputs));
  return numbers.empty() ? like : with_elements(like, numbers);
}

std::string printed(const Value& value) {
  Value written;
  tenon::detail::check(tenon::service::values().text, &value.get(), written.slot());
  return written.text();
}

bool has_double(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.defined() && tensor.dtype() == tenon::f64;
  });
}

// Folders of a check's files have other names in each process, and in each thread.
std::string without_folders(std::string text, const std::string& folder) {
  constexpr int most = 4;  // recorded/OP/0/shared
  for (size_t at = 0; !folder.empty() && (at = text.find(folder, at)) != std::string::npos; ++at) {
    size_t end = at + folder.size();
    for (int i = 0; i < most && end < text.size() && text[end] == '/'; ++i)
      end = std::min(text.find_first_of("/ \"'\n,:;)]", end + 1), text.size());
    text.replace(at, end - at, "FOLDER");
  }
  return text;
}

// Lines of a trace that say who has declined.
class Declines {
 public:
  void hear(std::string_view line) {
    if (line.find("\"declined\"") != line.npos) lines_.emplace_back(line);
  }
  // Takes the declined calls since the last call.
  void take(bool backward, std::vector<DeclinedCall>& list) {
    for (const std::string& line : std::exchange(lines_, {})) {
      const Json event = Json::parse(line);
      if (event["event"].text() != "declined" || !event["reason"].is_text()) continue;
      list.push_back(
          {event["op"].text(), event["provider"].text(), event["reason"].text(), backward});
    }
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace

Json CallOutcome::json() const {
  tenon::JsonArray list, texts;
  for (const DeclinedCall& call : declined) {
    list.add(tenon::JsonObject()
                 .set("op", call.op)
                 .set("provider", call.provider)
                 .set("reason", call.reason)
                 .set("backward", call.backward)
                 .json());
  }
  for (const std::string& text : others) texts.add(text);
  return tenon::JsonObject()
      .set("refusal", refusal)
      .set("refused_backward", refused_backward)
      .set("declined", list.json())
      .set("others", texts.json())
      .set("results", static_cast<int64_t>(results.size()))
      .set("gradients", static_cast<int64_t>(gradients.size()))
      .json();
}

std::vector<ProviderCase> provider_cases(const OpCheck& check) {
  std::vector<ProviderCase> cases;
  for (size_t s = 0; s < check.samples.size(); ++s) {
    const Sample& sample = check.samples[s];
    const SampleCall call = check.call_of(sample);
    const bool halves = has_double(call.tensors);
    for (const bool single : {true, false}) {
      if (single && !halves) continue;
      for (uint64_t seed = 0; seed < kSeeds; ++seed)
        cases.push_back({s, check.settings.seed + seed, single});
      if (call.tensors.empty()) continue;
      for (size_t layout = 1; sample.layouts && layout <= kLayouts.size(); ++layout) {
        if (kLayouts[layout - 1].repeats && check.mutates(sample)) continue;
        cases.push_back({s, check.settings.seed, single, layout});
      }
      for (const int64_t copies : kCopies) {
        if (elements_of(call.tensors) * copies > kMostElements) continue;
        cases.push_back({s, check.settings.seed, single, 0, copies, false});
        if (call.tensors.size() > 1)
          cases.push_back({s, check.settings.seed, single, 0, copies, true});
      }
    }
    if (call.tensors.empty()) continue;
    for (const auto& [planted, name] : kPlanted) {
      if (planted == Planted::nothing) continue;
      const uint64_t seeds = planted == Planted::few ? kPlantedSeeds : 1;
      for (uint64_t seed = 0; seed < seeds; ++seed)
        cases.push_back({s, check.settings.seed + seed, halves, 0, 1, false, planted});
    }
  }
  return cases;
}

ProviderCall::ProviderCall(const OpCheck& check, const ProviderCase& which)
    : check_(check),
      which_(which),
      sample_(check.samples[which.sample]),
      call_(check.op.name, sample_, which.seed),
      gradients_(check.op.differentiable != "none" && !check.op.zero_gradient &&
                 sample_.gradcheck.check_backward_ad && !check.mutates(sample_)) {
  inputs_ = which.single ? in_single(call_.tensors) : call_.tensors;
  for (size_t t = 0; t < inputs_.size(); ++t) {
    Tensor& tensor = inputs_[t];
    if (parameter_of(t).mutates) changed_.push_back(parameter_of(t).name);
    if (call_.places[t].requires_grad) {
      const SampleValue& value = sample_.values[call_.places[t].value];
      names_.push_back(value.name);
    }
    if (!tensor.defined()) continue;
    tensor = planted_in(tensor, which.planted, t, which.seed);
    if (which.copies > 1 && tensor.dim() > 0 && (which.copies_all || t == 0))
      tensor = tiled(tensor, 0, which.copies);
    if (which.layout > 0) tensor = kLayouts[which.layout - 1].make(tensor);
  }
}

Json ProviderCall::json() const {
  tenon::JsonArray tensors;
  for (const Tensor& tensor : inputs_) {
    tenon::JsonArray shape, strides;
    if (!tensor.defined()) continue;
    for (const int64_t size : tensor.shape()) shape.add(size);
    for (const int64_t stride : tensor.strides()) strides.add(stride);
    tensors.add(tenon::JsonObject()
                    .set("shape", shape.json())
                    .set("strides", strides.json())
                    .set("dtype", std::string(tenon::dtype_text(tensor.dtype())))
                    .json());
  }
  return tenon::JsonObject()
      .set("sample", Json::parse(sample_.dump()))
      .set("seed", static_cast<int64_t>(which_.seed))
      .set("single", which_.single)
      .set("layout",
           std::string(which_.layout == 0 ? "contiguous" : kLayouts[which_.layout - 1].name))
      .set("copies", which_.copies)
      .set("planted", std::string(name_of(which_.planted)))
      .set("copied", std::string(which_.copies_all ? "all tensors" : "the first tensor"))
      .set("tensors", tensors.json())
      .json();
}

void ProviderCall::differentiate(const std::vector<Tensor>& results,
                                 const std::vector<Tensor>& leaves,
                                 const std::vector<Tensor>* seeds, CallOutcome& outcome) {
  std::vector<Tensor> roots;
  tenon::GradientOptions options;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].defined() || !results[r].requires_grad()) continue;
    roots.push_back(results[r]);
    if (seeds == nullptr) {
      options.seeds.push_back(tenon::detail::arbitrary_like(results[r], r + 1));
    } else if (roots.size() <= seeds->size()) {
      options.seeds.push_back((*seeds)[roots.size() - 1]);
    }
  }
  if (seeds == nullptr) seeds_ = options.seeds;
  if (roots.empty() || leaves.empty()) return;
  options.allow_unused = true;
  for (const Tensor& gradient : tenon::gradients(roots, leaves, options))
    outcome.gradients.push_back(plain(gradient));
}

void ProviderCall::call(const std::vector<Tensor>& given, std::vector<Tensor>& results,
                        CallOutcome& outcome) const {
  std::vector<Tensor> taken;
  for (Piece& piece : pieces_of(call_(given))) {
    results.push_back(piece.other.is_none() ? readable(piece.tensor)
                                            : numbers_in(piece.other, given));
    if (piece.other.is_none() || results.back().defined()) continue;
    results.pop_back();
    outcome.others.push_back(without_folders(printed(piece.other), check_.settings.folder));
  }
  taken.reserve(taken.size() + results.size());
  for (const Tensor& result : results) taken.push_back(plain(result));
  for (size_t t = 0; t < given.size(); ++t) {
    if (parameter_of(t).mutates) taken.push_back(plain(given[t]));
  }
  outcome.results = std::move(taken);
}

CallOutcome ProviderCall::run(const std::vector<Tensor>& inputs, const std::vector<Tensor>* seeds) {
  CallOutcome outcome;
  std::vector<Tensor> given, leaves;
  for (size_t t = 0; t < inputs.size(); ++t) {
    Tensor value = inputs[t];
    // An operand that a call changes is made again for each call, in its layout.
    if (value.defined() && !gradients_)
      value = which_.layout > 0 ? kLayouts[which_.layout - 1].make(value) : copied(value);
    if (value.defined() && gradients_ && call_.places[t].requires_grad) {
      value = value.detach();
      value.requires_grad_();
      leaves.push_back(value);
    }
    given.push_back(value);
  }
  Declines declines;
  bool backward = false;
  const tenon::TraceScope trace(tenon::TraceFormat::json,
                                [&](std::string_view line) { declines.hear(line); });
  try {
    std::vector<Tensor> results;
    call(given, results, outcome);
    declines.take(false, outcome.declined);
    backward = true;
    if (gradients_) differentiate(results, leaves, seeds, outcome);
  } catch (const tenon::Error& error) {
    outcome.refused_backward = backward;
    outcome.gradients.clear();
    outcome.refusal = error.what();
    if (outcome.refusal.empty()) outcome.refusal = "an error without a message";
  }
  declines.take(backward, outcome.declined);
  return outcome;
}

double ProviderCall::multiply_adds() const {
  try {
    const tenon::ShapesOnly shapes;
    call_(copied(inputs_));
    return static_cast<double>(shapes.multiply_adds());
  } catch (const tenon::Error&) {
    return 0;
  }
}

// ---- what one process leaves to the other ----

namespace {

std::string file_of(const std::string& folder, const std::string& op) {
  return format_text("{}/{}.safetensors", folder, op);
}
std::string tensor_name(size_t call, const char* what, size_t number) {
  return format_text("{}/{}/{}", call, what, number);
}

// The format has no complex numbers: a last dimension has their two parts.
constexpr std::array kComplex = {tenon::c64, tenon::c128};
std::string parts_name(const std::string& name, tenon::DType dtype) {
  return format_text("{}/{}", name, tenon::dtype_text(dtype));
}
Tensor parts_of(const Tensor& tensor) {
  std::vector<int64_t> sizes = tensor.sizes();
  sizes.push_back(2);
  const Tensor like =
      tenon::empty_tensor(tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size())),
                          tenon::real_dtype(tensor.dtype()));
  return tensor.numel() == 0 ? like : with_elements(like, numbers_of(tensor));
}
Tensor from_parts(const Tensor& parts, tenon::DType dtype) {
  const std::vector<int64_t> sizes = parts.sizes();
  const Tensor like = tenon::empty_tensor(
      tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size()) - 1), dtype);
  return parts.numel() == 0 ? like : with_elements(like, numbers_of(parts));
}

}  // namespace

void save_outcomes(const std::string& folder, const OpCheck& check,
                   const std::vector<CallOutcome>& outcomes) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  tenon::JsonArray calls, samples;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    calls.add(outcomes[i].json());
    const auto add = [&](const char* what, const std::vector<Tensor>& list) {
      for (size_t t = 0; t < list.size(); ++t) {
        const std::string name = tensor_name(i, what, t);
        if (!list[t].defined()) continue;
        if (tenon::is_complex(list[t].dtype()))
          tensors.emplace_back(parts_name(name, list[t].dtype()), parts_of(list[t]));
        else
          tensors.emplace_back(name, list[t]);
      }
    };
    add("result", outcomes[i].results);
    add("gradient", outcomes[i].gradients);
  }
  for (const Sample& sample : check.samples) samples.add(Json::parse(sample.dump()));
  tenon::state::save_tensors(file_of(folder, check.op.name), tensors,
                             tenon::JsonObject()
                                 .set("calls", calls.json().dump())
                                 .set("samples", samples.json().dump())
                                 .json());
}

SavedOutcomes load_outcomes(const std::string& folder, const std::string& op) {
  const std::string file = file_of(folder, op);
  const Json metadata = tenon::state::metadata(file);
  const Json calls = Json::parse(metadata["calls"].text());
  SavedOutcomes saved{metadata["samples"].text(), {}};
  std::vector<std::pair<std::string, Tensor>> tensors = tenon::state::load_tensors(file);
  const auto take = [&](size_t call, const char* what, const Json& count) {
    std::vector<Tensor> list;
    // The file was written beside plugin code.
    const int64_t most = std::min<int64_t>(count.integer(), 4096);
    for (int64_t t = 0; t < most; ++t) {
      const std::string name = tensor_name(call, what, static_cast<size_t>(t));
      const auto named = [&](const std::string& key) {
        const auto found = std::find_if(tensors.begin(), tensors.end(),
                                        [&](const auto& tensor) { return tensor.first == key; });
        return found == tensors.end() ? Tensor() : found->second;
      };
      Tensor tensor = named(name);
      for (const tenon::DType dtype : kComplex) {
        const Tensor parts = tensor.defined() ? Tensor() : named(parts_name(name, dtype));
        if (parts.defined() && parts.dim() > 0) tensor = from_parts(parts, dtype);
      }
      list.push_back(tensor);
    }
    return list;
  };
  for (int64_t i = 0; i < calls.size(); ++i) {
    const Json call = calls[i];
    CallOutcome& outcome = saved.outcomes.emplace_back();
    outcome.refusal = call["refusal"].text();
    outcome.refused_backward = call["refused_backward"].as_bool();
    for (int64_t d = 0; d < call["declined"].size(); ++d) {
      const Json one = call["declined"][d];
      outcome.declined.push_back({one["op"].text(), one["provider"].text(), one["reason"].text(),
                                  one["backward"].as_bool()});
    }
    for (int64_t t = 0; t < call["others"].size(); ++t)
      outcome.others.push_back(call["others"][t].text());
    outcome.results = take(static_cast<size_t>(i), "result", call["results"]);
    outcome.gradients = take(static_cast<size_t>(i), "gradient", call["gradients"]);
  }
  return saved;
}

}  // namespace cli
