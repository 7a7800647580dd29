// Compares the Function's gradients with finite differences.
#include <cstdio>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op linear("examples.linear_function");

  const tenon::Tensor input = tenon::randn({20, 20}, tenon::f64).requires_grad_();
  const tenon::Tensor weight = tenon::randn({30, 20}, tenon::f64).requires_grad_();
  tenon::GradcheckOptions options;
  options.eps = 1e-6;
  options.atol = 1e-4;
  std::puts(tenon::gradcheck(linear, {input, weight}, options) ? "True" : "False");
}
