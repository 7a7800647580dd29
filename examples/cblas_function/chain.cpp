// The foreign call between two ops of the runtime: gradients go through all three.
#include <cstdio>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

using tenon::Tensor;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op quadratic_form("examples.quadratic_form");
  const auto chain = [&](const Tensor& x, const Tensor& a) {
    return quadratic_form.call<Tensor>(x.exp(), a).log();
  };
  const Tensor x = tenon::tensor({0.1, 0.2, 0.3}, tenon::f64).requires_grad_();
  const Tensor a = tenon::ones({3, 3}, tenon::f64).requires_grad_();
  std::puts(chain(x, a).detach().text().c_str());
  std::puts(tenon::gradcheck(chain, {x, a}) ? "True" : "False");
}
