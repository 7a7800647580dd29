// Objects of tensor types, made by calls of ops that return them.
#include "objects.hpp"

#include <algorithm>
#include <memory>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "item_check.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;

Tensor ObjectSource::make(const SampleCall& call, const std::vector<Tensor>& given) const {
  const std::vector<Tensor> tensors = tensors_of(call(given));
  if (result < tensors.size()) return tensors[result];
  throw tenon::ValueError(format_text("{}(): fewer results than before", op));
}
Tensor ObjectSource::make(uint64_t seed) const {
  const SampleCall made = call(seed);
  return make(made, made.tensors);
}

SampleValue ObjectSource::argument(const std::string& name) const {
  tenon::JsonObject json;
  json.set("op", op);
  const Json given = Json::parse(arguments.dump());
  for (int64_t i = 0; i < given.size(); ++i) json.set(given.key(i), given[i]);
  SampleStep step;
  step.op = op;
  step.arguments = std::make_shared<const Sample>(arguments);
  step.json = json.json().dump();
  SampleValue value;
  value.name = name;
  value.kind = SampleValue::Kind::result;
  value.call = std::make_shared<const SampleStep>(std::move(step));
  return value;
}

Sample sample_of(const ObjectSource& source) {
  Sample sample;
  sample.values.push_back(source.argument("object"));
  return sample;
}

Tensor plain_of(const Tensor& object) {
  try {
    return tenon::ensure_tensor(object);
  } catch (const tenon::TypeError& error) {
    if (contains_text(error.what(), "has no conversion to Tensor")) return {};
    throw;
  }
}

namespace {

constexpr size_t kMostSources = 3;
constexpr int kMostCalls = 600;  // calls of one op

class Search {
 public:
  Search(const std::string& type, uint64_t seed, const std::function<void(const Sample&)>& trying,
         const std::vector<std::vector<int64_t>>& bases)
      : type_(type), seed_(seed), trying_(trying), bases_(bases) {}

  Objects run(const Json& declarations) {
    std::vector<Json> ops;
    for (int64_t i = 0; i < declarations["ops"].size(); ++i) ops.push_back(declarations["ops"][i]);
    std::stable_partition(ops.begin(), ops.end(),
                          [](const Json& op) { return !op["samples"].text().empty(); });
    // Arguments that do not fit each other, and single elements, say little.
    for (const bool telling : {true, false}) {
      telling_ = telling;
      for (const Json& op : ops) look_at(op);
      if (!objects_.sources.empty()) return std::move(objects_);
    }
    objects_.reason = format_text("no op of plugin '{}' returned one; give one that does `samples`",
                                  declarations["id"].text());
    return std::move(objects_);
  }

 private:
  void look_at(const Json& declaration) {
    if (!objects_.sources.empty()) return;
    const CheckedOp op = checked_op(declaration);
    const bool returns = std::any_of(
        op.returns.begin(), op.returns.end(),
        [](const DeclaredType& type) { return type.is_tensor() || type.base == "any"; });
    const bool changes =
        std::any_of(op.parameters.begin(), op.parameters.end(),
                    [](const DeclaredType& type) { return type.mutates && !type.is_out(); });
    if (!returns || changes || names_file(op)) return;
    if (!op.samples.empty() && try_declared(op)) return;
    calls_ = 0;
    std::vector<DeclaredType> parameters = op.parameters;
    if (generate(op, parameters)) return;
    // An option may choose the type.
    for (DeclaredType& parameter : parameters)
      parameter.has_default = parameter.is_out() || parameter.base == "dtype";
    calls_ = 0;
    generate(op, parameters);
  }

  // Whether an op names a file: it would write outside of the checker's folders.
  static bool names_file(const CheckedOp& op) {
    return name_files(op.samples) ||
           std::any_of(op.parameters.begin(), op.parameters.end(), [](const DeclaredType& type) {
             return type.base == "str" &&
                    (contains_text(type.name, "path") || contains_text(type.name, "file") ||
                     contains_text(type.name, "folder"));
           });
  }

  bool try_declared(const CheckedOp& op) {
    const size_t before = objects_.sources.size();
    calls_ = 0;
    try {
      for (const Sample& sample : parse_samples(op.samples, op.parameters))
        accepts(op.name, sample);
    } catch (const tenon::Error&) {  // a finding of the op
    }
    return objects_.sources.size() > before;
  }

  bool generate(const CheckedOp& op, const std::vector<DeclaredType>& parameters) {
    const size_t before = objects_.sources.size();
    std::string refusal;
    generate_samples(parameters, [&](const Sample& sample) { return accepts(op.name, sample); },
                     &refusal, bases_, {type_});
    return objects_.sources.size() > before;
  }

  static bool is_telling(const Tensor& object) {
    const Tensor plain = plain_of(object);
    return plain.defined() ? plain.numel() > 1 : object.dim() == 0 || object.numel() > 1;
  }

  bool accepts(const std::string& op, const Sample& sample) {
    if (objects_.sources.size() >= kMostSources || ++calls_ > kMostCalls) return false;
    ObjectSource source{op, sample, 0};
    trying_(sample_of(source));
    try {
      const SampleCall call = source.call(seed_);
      const auto is_object = [&](const Tensor& result) {
        return result.defined() && tenon::type_name(result) == type_;
      };
      const std::vector<Tensor> results = tensors_of(call(call.tensors));
      const auto found = std::find_if(results.begin(), results.end(), is_object);
      if (found == results.end()) return false;
      if (telling_ && !is_telling(*found)) return false;
      source.result = static_cast<size_t>(found - results.begin());
      // Stages make theirs again: another type, or a refusal, the next time is a matter of the op.
      if (!is_object(source.make(seed_))) return false;
      objects_.sources.push_back(std::move(source));
      return true;
    } catch (const tenon::Error&) {
      return false;
    }
  }

  const std::string& type_;
  const uint64_t seed_;
  const std::function<void(const Sample&)>& trying_;
  const std::vector<std::vector<int64_t>>& bases_;
  bool telling_ = true;
  int calls_ = 0;
  Objects objects_;
};

}  // namespace

Objects find_objects(const std::string& type, uint64_t seed,
                     const std::function<void(const Sample&)>& trying,
                     const std::vector<std::vector<int64_t>>& bases) {
  const std::string provider = tenon::listing::type(type)["provider"].text();
  return Search(type, seed, trying, bases).run(tenon::listing::declarations(provider));
}

}  // namespace cli
