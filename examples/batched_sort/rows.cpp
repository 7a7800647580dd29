// Sorts each row of a matrix by a function of one row, with gradients and tangents.
#include <cstdio>
#include <tuple>

#include <tenon/tenon.hpp>
#include <tenon/transforms/vmap.hpp>

using tenon::Tensor;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op sort("examples.sort");
  const auto sorted = [&](const Tensor& row) {
    return std::get<0>(sort.call<std::tuple<Tensor, Tensor, Tensor>>(row, 0));
  };
  const Tensor rows = tenon::tensor({{3, 1, 2}, {7, 9, 8}}).to(tenon::f64).requires_grad_();
  const Tensor values = tenon::vmap(sorted)(rows);
  std::puts(values.detach().text().c_str());
  (values * tenon::tensor({1, 10, 100})).sum().backward();
  std::puts(rows.grad().text().c_str());

  // Columns instead of rows.
  std::puts(tenon::vmap(sorted, 1, 1)(rows.detach()).text().c_str());
}
