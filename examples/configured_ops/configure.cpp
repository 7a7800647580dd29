// Sets the attributes once, in code or from JSON, and calls the ops like functions.
#include <cstdio>

#include <tenon/tenon.hpp>

using tenon::Tensor;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const auto add_three = tenon::configure("examples.add_constant", tenon::arg("constant") = 3.0);
  const auto swap =
      tenon::configure(tenon::Json::parse(R"({"op": "examples.transpose", "dim0": 0, "dim1": 1})"));

  Tensor x = tenon::tensor({{1., 2., 3.}, {4., 5., 6.}}).requires_grad_();
  const auto y = swap.call<Tensor>(add_three.call<Tensor>(x));
  std::puts(y.detach().text().c_str());
  (y * tenon::tensor({{1., 2.}, {3., 4.}, {5., 6.}})).sum().backward();
  std::puts(x.grad().text().c_str());
}
