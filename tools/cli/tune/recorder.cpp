// Recording calls.
#include "recorder.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace {

using tenon::Json;

constexpr int64_t kExactSizes = 16;

std::string sizes_text(tenon::IntList sizes) {
  std::vector<std::string> texts;
  for (const int64_t size : sizes) texts.push_back(std::to_string(size));
  return join(texts, ",");
}

template <class T>
const T* kept(const T* from, size_t count, TunedCall& call) {
  auto copy = std::make_shared<std::vector<T>>(from, from + count);
  call.owned.push_back(copy);
  return copy->data();
}

// A list of tensors that stay.
tenon_tensor* const* kept_tensors(const tenon_value& value, TunedCall& call) {
  auto tensors = std::make_shared<std::vector<tenon::Tensor>>();
  std::vector<tenon_tensor*> handles;
  for (uint32_t i = 0; i < value.length; ++i) {
    tenon_tensor* const given = value.as.tensors[i];
    tensors->push_back(given == nullptr ? tenon::Tensor() : tenon::Tensor::borrow(given).detach());
    handles.push_back(tensors->back().handle());
  }
  call.owned.push_back(tensors);
  return kept(handles.data(), handles.size(), call);
}

// False where it is of a kind that is not kept.
bool keep(const tenon_value& given, TunedCall& call) {
  tenon_value value = given;
  switch (value.tag) {
    case TENON_VALUE_TENSOR: {
      auto tensor =
          std::make_shared<tenon::Tensor>(tenon::Tensor::borrow(value.as.tensor).detach());
      value.as.tensor = tensor->handle();
      call.owned.push_back(std::move(tensor));
      break;
    }
    case TENON_VALUE_TENSOR_LIST:
      value.as.tensors = kept_tensors(given, call);
      break;
    case TENON_VALUE_STRING:
      value.as.string = kept(value.as.string, value.length, call);
      break;
    case TENON_VALUE_INT_LIST:
      value.as.integers = kept(value.as.integers, value.length, call);
      break;
    case TENON_VALUE_FLOAT_LIST:
      value.as.numbers = kept(value.as.numbers, value.length, call);
      break;
    case TENON_VALUE_BOOL_LIST:
      value.as.booleans = kept(value.as.booleans, value.length, call);
      break;
    case TENON_VALUE_NONE:
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
    case TENON_VALUE_FLOAT:
    case TENON_VALUE_DTYPE:
      break;
    default:
      return false;
  }
  call.arguments.push_back(value);
  return true;
}

std::string tensor_key(const tenon::Tensor& tensor) {
  if (!tensor.defined()) return "-";
  return format_text("{}[{}]/{}{}", tenon::dtype_text(tensor.dtype()), sizes_text(tensor.shape()),
                     sizes_text(tensor.strides()), tensor.requires_grad() ? "*" : "");
}

// The key that distinguishes a call from others of the op.
std::string key_of(const tenon::Call& call) {
  std::string key = call.name();
  for (int64_t i = 0; i < call.size(); ++i) {
    const tenon_value value = call.argument(i).value();
    key += " ";
    if (value.tag == TENON_VALUE_TENSOR) {
      key += tensor_key(call.tensor(i));
    } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k)
        key += tensor_key(value.as.tensors[k] == nullptr
                              ? tenon::Tensor()
                              : tenon::Tensor::borrow(value.as.tensors[k])) +
               ";";
    } else {
      key += tenon::text_of(call.argument(i));
    }
  }
  return key;
}

TunedOp described(const std::string& name) {
  const Json op = tenon::listing::op(name);
  TunedOp tuned;
  for (int64_t i = 0; i < op["providers"].size(); ++i) {
    const std::string standing = op["providers"][i]["standing"].text();
    if (standing == "chosen" || standing == "next" || standing == "outranked")
      tuned.providers.push_back(op["providers"][i]["plugin"].text());
  }
  for (int64_t i = 0; i < op["parameters"].size(); ++i) {
    const Json parameter = op["parameters"][i];
    const std::string type = parameter["type"].text();
    tuned.parameters.push_back(parameter["name"].text());
    if (!parameter["keyword_only"].as_bool()) tuned.positional = tuned.parameters.size();
    tuned.operands.push_back(type.rfind("Tensor", 0) == 0 && type.find("[]") == type.npos);
    tuned.mutates.push_back(parameter["mutates"].as_bool());
  }
  return tuned;
}

}  // namespace

std::string size_class(int64_t size) {
  if (size <= kExactSizes) return std::to_string(size);
  const auto low = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size)));
  return format_text("{}..{}", std::max(low, kExactSizes + 1), 2 * low - 1);
}

std::string shape_class(const tenon::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const int64_t size : tensor.shape()) sizes.push_back(size_class(size));
  return format_text("{}[{}]", tenon::dtype_text(tensor.dtype()), join(sizes, ", "));
}

const TunedOp& CallRecorder::look_up(const tenon::Call& call) {
  const TunedOp*& known = by_handle_[call.op().handle()];
  if (known == nullptr) {
    const std::string op_name = call.name();
    known = &ops_.emplace(op_name, described(op_name)).first->second;
  }
  return *known;
}

tenon::Results CallRecorder::tenon_function(const tenon::Call& call) {
  if (const TunedOp& op = look_up(call); op.providers.size() > 1) record(call, op);
  return call.call_parent();
}

void CallRecorder::record(const tenon::Call& call, const TunedOp& op) {
  if (call.size() != static_cast<int64_t>(op.parameters.size())) return;
  const std::string key = key_of(call);
  if (const auto found = known_.find(key); found != known_.end()) {
    ++calls_[found->second].count;
    return;
  }
  TunedCall recorded;
  recorded.op = call.name();
  recorded.count = 1;
  for (int64_t i = 0; i < call.size(); ++i) {
    const auto place = static_cast<size_t>(i);
    const tenon_value value = call.argument(i).value();
    // Made again it would change what the run uses.
    if (op.mutates[place] && value.tag != TENON_VALUE_NONE) return;
    if (!keep(value, recorded)) return;
    const tenon::Tensor tensor = call.tensor(i);
    if (!op.operands[place] || !tensor.defined()) continue;
    recorded.classes.emplace_back(op.parameters[place], shape_class(tensor));
    if (training_ && tensor.requires_grad() && tensor.is_leaf())
      recorded.changing.push_back(tensor.detach());
  }
  known_.emplace(key, calls_.size());
  calls_.push_back(std::move(recorded));
}

}  // namespace cli
