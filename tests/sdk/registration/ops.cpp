// Ops, a module and an override; those of types.cpp come later in every link.
#include <tenon/plugin.hpp>
#include <tenon/module_definition.hpp>
#include <tenon/ops.hpp>
#include <tenon/override_definition.hpp>

namespace {

using namespace tenon;

struct Twice {
  static constexpr auto schema = "registration.twice(Tensor input) -> Tensor";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input) { return input + input; }
};
struct Add {
  static constexpr auto schema = "registration.add(Tensor input, Tensor other) -> Tensor";
  static constexpr auto element = [](auto a, auto b) { return a + b; };
};
struct Named : ModuleOf<Named> {
  static constexpr auto schema = "registration.Named(int width)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  Tensor forward(const Tensor& input) const { return input; }
};
struct TwiceOfLeaf {
  static constexpr auto schema = "registration.twice(Tensor input) -> str";
  static constexpr auto types = "RegistrationLeaf";
  static std::string forward(const Tensor&) { return "leaf"; }
};

}  // namespace

TENON_OP(Twice)
TENON_OP(Add)
TENON_IN_PLACE_OP(Add)
TENON_MODULE(Named)
TENON_OVERRIDE(TwiceOfLeaf)
