// Calls the op as any other and checks its gradient.
#include <cstdio>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op logistic("examples.logistic");
  const tenon::Tensor x = tenon::tensor({-1., 0., 2.}, tenon::f64).requires_grad_();
  std::puts(logistic.call<tenon::Tensor>(x).text().c_str());
  std::puts(tenon::gradcheck(logistic, {x}) ? "True" : "False");
}
