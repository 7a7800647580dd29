// Calls by which two providers of an op are compared.
#include "provider_call.hpp"

#include <algorithm>
#include <array>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/graph.hpp>
#include <tenon/runtime.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/trace.hpp>

#include "format.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;
using tenon::Value;

namespace {

constexpr uint64_t kSeeds = 2;
constexpr std::array<int64_t, 2> kCopies = {3, 20};
constexpr int64_t kMostElements = 1 << 19;  // of all tensors of a call

int64_t elements_of(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.defined() ? tensor.numel() : 0;
  return count;
}

// The numbers of a tensor in new memory; undefined where it has none.
Tensor plain(const Tensor& given) {
  const Tensor tensor = readable(given);
  if (!tensor.defined()) return {};
  if (!tenon::is_complex(tensor.dtype())) return copied(tensor.detach());
  const std::vector<double> numbers = numbers_of(tensor.detach());
  const Tensor like = tenon::empty_tensor({static_cast<int64_t>(numbers.size())},
                                          tenon::real_dtype(tensor.dtype()));
  return numbers.empty() ? like : with_elements(like, numbers);
}

std::string text_of(const Value& value) {
  Value written;
  tenon::detail::check(tenon::host().value_text, &value.get(), written.slot());
  return written.text();
}

bool has_double(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.defined() && tensor.dtype() == tenon::f64;
  });
}

// Lines of a trace that say who has declined.
class Declines {
 public:
  void hear(std::string_view line) {
    if (line.find("\"declined\"") != line.npos) lines_.emplace_back(line);
  }
  // Those since the last call.
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
    if (call_.places[t].requires_grad) {
      const SampleValue& value = sample_.values[call_.places[t].value];
      names_.push_back(value.name);
    }
    if (!tensor.defined()) continue;
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

CallOutcome ProviderCall::run(const std::vector<Tensor>& inputs, const std::vector<Tensor>* seeds) {
  CallOutcome outcome;
  std::vector<Tensor> given, leaves;
  for (size_t t = 0; t < inputs.size(); ++t) {
    Tensor value = inputs[t];
    // What a call changes is made again for each, in its layout.
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
    for (Piece& piece : pieces_of(call_(given))) {
      if (!piece.other.is_none())
        outcome.others.push_back(text_of(piece.other));
      else
        results.push_back(readable(piece.tensor));
    }
    declines.take(false, outcome.declined);
    backward = true;
    for (const Tensor& result : results) outcome.results.push_back(plain(result));
    if (gradients_) differentiate(results, leaves, seeds, outcome);
  } catch (const tenon::Error& error) {
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

}  // namespace

void save_outcomes(const std::string& folder, const OpCheck& check,
                   const std::vector<CallOutcome>& outcomes) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  tenon::JsonArray calls, samples;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    calls.add(outcomes[i].json());
    const auto add = [&](const char* what, const std::vector<Tensor>& list) {
      for (size_t t = 0; t < list.size(); ++t) {
        if (list[t].defined()) tensors.emplace_back(tensor_name(i, what, t), list[t]);
      }
    };
    add("result", outcomes[i].results);
    add("gradient", outcomes[i].gradients);
  }
  for (const Sample& sample : check.samples) samples.add(Json::parse(sample.dump()));
  tenon::save_tensors(file_of(folder, check.op.name), tensors,
                      tenon::JsonObject()
                          .set("calls", calls.json().dump())
                          .set("samples", samples.json().dump())
                          .json());
}

SavedOutcomes load_outcomes(const std::string& folder, const std::string& op) {
  const std::string file = file_of(folder, op);
  const Json metadata = tenon::tensors_metadata(file);
  const Json calls = Json::parse(metadata["calls"].text());
  SavedOutcomes saved{metadata["samples"].text(), {}};
  std::vector<std::pair<std::string, Tensor>> tensors = tenon::load_tensors(file);
  const auto take = [&](size_t call, const char* what, const Json& count) {
    std::vector<Tensor> list;
    // The file was written beside plugin code.
    const int64_t most = std::min<int64_t>(count.integer(), 4096);
    for (int64_t t = 0; t < most; ++t) {
      const std::string name = tensor_name(call, what, static_cast<size_t>(t));
      const auto found = std::find_if(tensors.begin(), tensors.end(),
                                      [&](const auto& tensor) { return tensor.first == name; });
      list.push_back(found == tensors.end() ? Tensor() : found->second);
    }
    return list;
  };
  for (int64_t i = 0; i < calls.size(); ++i) {
    const Json call = calls[i];
    CallOutcome& outcome = saved.outcomes.emplace_back();
    outcome.refusal = call["refusal"].text();
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
