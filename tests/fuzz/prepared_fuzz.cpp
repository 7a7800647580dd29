// Fuzzes the documents of saved models: any text is refused by its fault, or gives lists of which programs are
// made, and run twice where they call ops of the plugin math on small arguments: first with memory for
// each result, then in a block.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/grad_mode.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "lib/prepare/constant_store.hpp"
#include "lib/prepare/program.hpp"
#include "lib/prepare/saved_model.hpp"

namespace {

using namespace tenon;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr int64_t most_elements = 4096;

const prepared::StoredConstants& constants() {
  static const prepared::StoredConstants stored([] {
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& [name, dtype] :
         {std::pair{"f", f32}, {"d", f64}, {"i", i64}, {"b", boolean}}) {
      const Tensor tensor = empty_tensor({64}, dtype);
      fill_elements(tensor, 1);
      tensors.emplace_back(name, tensor);
    }
    return tensors;
  }());
  return stored;
}

bool is_small(const prepared::SavedList& saved) {
  for (const prepared::ListValue& value : saved.list.values) {
    if (value.layout.numel() > most_elements) return false;
  }
  for (const prepared::ListedCall& call : saved.list.calls) {
    if (provider_of(call.op.name()) != "math") return false;
    for (const prepared::ListOperand& operand : call.arguments) {
      // Sizes that an op is given, of `full` and `repeat` say.
      if (operand.literal != nullptr && operand.literal->get().tag != TENON_VALUE_FLOAT &&
          operand.literal->get().tag != TENON_VALUE_BOOL)
        return false;
    }
  }
  return true;
}

void run(const prepared::SavedList& saved) {
  PreparedList report;
  prepared::Program program(saved.list, report);
  if (!is_small(saved)) return;
  std::vector<Tensor> tensors;
  std::vector<tenon_tensor*> arguments;
  for (const Tensor& layout : saved.key.layouts()) {
    if (!layout.is_contiguous()) return;
    tensors.push_back(empty_tensor(layout.shape(), layout.dtype()));
    fill_elements(tensors.back(), 0);
    arguments.push_back(tensors.back().handle());
  }
  for (int i = 0; i < 2; ++i) {
    tenon_value results[detail::max_results]{};
    const auto end = program.run(arguments.data(), results);
    for (tenon_value& result : results) service::values().release(&result);
    if (end != prepared::Program::End::done) return;
    program.settle(report);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const NoGrad no_grad;
  try {
    const Json document = Json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
    const prepared::SavedModel model = prepared::read_document(document, constants());
    require(!model.lists.empty());
    for (const prepared::SavedList& saved : model.lists) {
      require(saved.providers.size() == saved.list.calls.size());
      run(saved);
    }
  } catch (const Error& error) {
    require(printable(error.what()) == error.what());
  }
  return 0;
}
