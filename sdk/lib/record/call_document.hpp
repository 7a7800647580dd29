// A call as a document and the tensors beside it, and arguments made of them again.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <tenon/abi/type.h>
#include <tenon/json.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// {"positional": [VALUE], "keywords": [{"name", "value": VALUE}], "gaps": [text]}
struct CallDocument {
  Json positional, keywords, gaps;
  NamedTensors tensors;
};
// Tensors are saved as the elements from their first to their last one in memory, so that strides and elements
// that share memory come back. Of tensors that take more bytes together only shapes are.
CallDocument document_of(const tenon_call& call, int64_t most_bytes);

// Arguments of a document, as service::ops().call_keywords takes them. Borrowed from this object.
class KeptArguments {
 public:
  // `document` has positional and keywords. ValueError for what does not fit; TypeError for a module.
  KeptArguments(const Json& document, const NamedTensors& tensors);
  KeptArguments(const KeptArguments&) = delete;
  KeptArguments& operator=(const KeptArguments&) = delete;

  std::vector<tenon_value> values, named;
  std::vector<tenon_string> names;

 private:
  tenon_value value_of(const Json& value);
  tenon_tensor* tensor_of(const Json& value);

  const NamedTensors& saved_;
  std::deque<Tensor> tensors_;
  std::deque<std::string> texts_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<double>> numbers_;
  std::deque<std::vector<uint8_t>> truths_;
  std::deque<std::vector<tenon_string>> strings_;
  std::deque<std::vector<tenon_tensor*>> lists_;
  std::deque<Json> documents_;
};

// Checks such a document without making tensors; ValueError says what does not fit.
void check_arguments(const Json& document, const NamedTensors& tensors);
// "mm(f32[2, 3], alpha=2)" without the name.
std::string arguments_text(const Json& document);

}  // namespace record

TENON_NAMESPACE_END
