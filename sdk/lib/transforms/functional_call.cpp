// Modules whose parameters are replaced for a scope.
#include <tenon/kernel/shape.hpp>
#include <tenon/text.hpp>
#include <tenon/transforms/functional_call.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms {

namespace {

using Named = std::vector<std::pair<std::string, Tensor>>;

Parameters detached(const Named& named) {
  Parameters found;
  for (const auto& [name, tensor] : named) {
    if (tensor.defined()) found.emplace(name, tensor.detach());
  }
  return found;
}

}  // namespace

Parameters parameters_of(const Module& module) { return detached(module.named_parameters()); }
Parameters buffers_of(const Module& module) { return detached(module.named_buffers()); }

ReplacedParameters::ReplacedParameters(const Module& module, const Parameters& parameters)
    : module_(module) {
  Named all = module.named_parameters(true, false);
  for (auto& buffer : module.named_buffers(true, false)) all.push_back(std::move(buffer));
  try {
    for (const auto& [name, tensor] : parameters) {
      Tensor own;
      std::vector<std::string> names;
      for (const auto& [known, held] : all) {
        names.push_back(known);
        if (known == name) own = held;
      }
      if (!own.defined())
        throw ValueError("functional_call: " + module.type() + " has no parameter or buffer '" +
                         printable(name) + "'" + suggestion(name, names));
      if (!tensor.defined() || tensor.sizes() != own.sizes())
        throw ValueError("functional_call: '" + name + "' of " + module.type() + " has shape " +
                         kernel::shape_text(own.shape()) + ", but the tensor given for it " +
                         (tensor.defined() ? "has shape " + kernel::shape_text(tensor.shape())
                                           : "is undefined"));
      for (const auto& [known, held] : all) {
        if (held.is_same(own)) put(known, tensor);
      }
    }
  } catch (...) {
    put_back();
    throw;
  }
}

ReplacedParameters::~ReplacedParameters() { put_back(); }

void ReplacedParameters::put(const std::string& dotted, const Tensor& tensor) {
  const size_t dot = dotted.rfind('.');
  const bool below = dot != std::string::npos;
  Place place{below ? module_.child(dotted.substr(0, dot).c_str()) : module_,
              below ? dotted.substr(dot + 1) : dotted, module_.tensor(dotted.c_str())};
  detail::check(service::modules().assign, place.owner.handle(), place.name.data(),
                static_cast<int64_t>(place.name.size()), &Argument(tensor).value(),
                uint32_t{TENON_ASSIGN_ANY_TENSOR});
  places_.push_back(std::move(place));
}

void ReplacedParameters::put_back() noexcept {
  for (; !places_.empty(); places_.pop_back()) {
    const Place& place = places_.back();
    service::modules().assign(place.owner.handle(), place.name.data(),
                              static_cast<int64_t>(place.name.size()),
                              &Argument(place.before).value(), TENON_ASSIGN_ANY_TENSOR, nullptr);
  }
}

}  // namespace transforms
TENON_NAMESPACE_END
