// Prepares a model and lists its calls: without the plugin's rules, and with them.
#include <cstdio>

#include <tenon/prepare/prepare.hpp>
#include <tenon/tenon.hpp>

using tenon::Module, tenon::Prepared, tenon::PreparedCall, tenon::PreparedList, tenon::Tensor;

namespace {

void list_calls(const char* title, const Prepared& model, const Tensor& a, const Tensor& b) {
  const PreparedList list = model.lists().front();
  std::printf("%s:", title);
  for (const PreparedCall& call : list.calls) std::printf(" %s", call.op.c_str());
  const tenon::NoGrad no_grad;
  std::printf("\n  result %s\n", model(a, b).text().c_str());
  for (const tenon::rewrites::Applied& rule : list.rewrites)
    std::printf("  by %s, %lld time\n", rule.rule.c_str(), static_cast<long long>(rule.count));
}

}  // namespace

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const Module model = tenon::create_module(tenon::Json::parse(R"({
    "type": "Graph", "inputs": ["a", "b"],
    "nodes": {
      "difference": {"op": "sub", "inputs": ["a", "b"]},
      "square": {"op": "mul", "inputs": ["difference", "difference"]},
      "distance": {"op": "mean", "inputs": ["square"]}
    }})"));
  model.eval();
  const Tensor a = tenon::tensor({{1., 2.}, {3., 4.}}), b = tenon::tensor({{0., 4.}, {3., 1.}});

  tenon::PrepareOptions as_written;
  as_written.rewrites.enabled = false;
  list_calls("as written", tenon::prepare(model, {{a, b}}, as_written), a, b);
  list_calls("rewritten", tenon::prepare(model, {{a, b}}), a, b);
}
