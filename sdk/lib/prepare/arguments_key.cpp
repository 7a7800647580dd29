#include "arguments_key.hpp"

#include <algorithm>

#include <tenon/call.hpp>

#include "constant_store.hpp"
#include "lib/base/format.hpp"
#include "list_document.hpp"
#include "recorder.hpp"
#include "saved_numbers.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;

namespace {

// The numbers of tensors by identity: each the place of the first that is the same.
std::vector<size_t> identities(const Arguments& arguments) {
  std::vector<const tenon_tensor*> seen;
  std::vector<size_t> numbers;
  for_each_tensor(arguments, [&](const tenon_tensor* tensor) {
    const auto found = std::find(seen.begin(), seen.end(), tensor);
    numbers.push_back(static_cast<size_t>(found - seen.begin()));
    seen.push_back(tensor);
  });
  return numbers;
}

bool has_layout_of(const tenon_tensor* tensor, const Tensor& layout) {
  if (tensor == nullptr || !layout.defined()) return tensor == layout.handle();
  const tenon_tensor_view &given = *tenon_tensor_get_view(tensor), &own = layout.view_record();
  return given.dtype == own.dtype && given.rank == own.rank &&
         same_numbers(given.shape, own.shape, given.rank) &&
         same_numbers(given.strides, own.strides, given.rank);
}

}  // namespace

ArgumentsKey::ArgumentsKey(const Arguments& arguments) : same_(identities(arguments)) {
  const auto add = [](std::vector<One>& list, const tenon_value& value, std::string keyword) {
    One one;
    one.keyword = std::move(keyword);
    one.tag = value.tag;
    const auto layout = [](tenon_tensor* tensor) {
      return tensor == nullptr ? Tensor() : stand_in(Tensor::borrow(tensor));
    };
    if (value.tag == TENON_VALUE_TENSOR) {
      one.layouts.push_back(layout(value.as.tensor));
    } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k)
        one.layouts.push_back(layout(value.as.tensors[k]));
    } else {
      one.literal = std::make_shared<const Value>(copy_value(value));
    }
    list.push_back(std::move(one));
  };
  for (int64_t i = 0; i < arguments.count; ++i) add(by_position_, arguments.values[i], "");
  for (int64_t i = 0; i < arguments.keyword_count; ++i) {
    const tenon_string& keyword = arguments.keywords[i];
    add(by_keyword_, arguments.keyword_values[i],
        std::string(keyword.data, static_cast<size_t>(keyword.length)));
  }
}

void ArgumentsKey::add_numbers(const Arguments& arguments) {
  for_each_tensor(arguments, [&](tenon_tensor* handle) {
    const Tensor& tensor = Tensor::borrow(handle);
    numbers_.push_back(is_number(tensor, argument_numbers) ? copy_of(tensor) : Tensor());
  });
}

bool ArgumentsKey::matches(const One& one, const tenon_value& value) {
  if (value.tag != one.tag) return false;
  if (value.tag == TENON_VALUE_TENSOR) return has_layout_of(value.as.tensor, one.layouts.front());
  if (value.tag == TENON_VALUE_TENSOR_LIST) {
    if (value.length != one.layouts.size()) return false;
    for (uint32_t k = 0; k < value.length; ++k) {
      if (!has_layout_of(value.as.tensors[k], one.layouts[k])) return false;
    }
    return true;
  }
  return same_literal(one.literal->get(), value);
}

bool ArgumentsKey::matches(const Arguments& arguments) const {
  if (static_cast<size_t>(arguments.count) != by_position_.size() ||
      static_cast<size_t>(arguments.keyword_count) != by_keyword_.size())
    return false;
  for (size_t i = 0; i < by_position_.size(); ++i) {
    if (!matches(by_position_[i], arguments.values[i])) return false;
  }
  for (size_t i = 0; i < by_keyword_.size(); ++i) {
    const tenon_string& keyword = arguments.keywords[i];
    if (by_keyword_[i].keyword !=
            std::string_view(keyword.data, static_cast<size_t>(keyword.length)) ||
        !matches(by_keyword_[i], arguments.keyword_values[i]))
      return false;
  }
  if (same_.size() > 1 && same_ != identities(arguments)) return false;
  if (numbers_.empty()) return true;
  bool same = true;
  size_t next = 0;
  for_each_tensor(arguments, [&](tenon_tensor* tensor) {
    const Tensor& number = numbers_[next++];
    if (number.defined()) same = same && same_elements(number, Tensor::borrow(tensor));
  });
  return same;
}

std::string ArgumentsKey::text() const {
  std::string text;
  size_t next = 0;
  const auto add_layout = [&](const Tensor& layout) {
    text += layout.defined() ? layout_text(layout) : "None";
    const Tensor number = next < numbers_.size() ? numbers_[next] : Tensor();
    ++next;
    if (!number.defined()) return;
    text += " =";
    for (const int64_t element : number.to_vector<int64_t>()) text += " " + std::to_string(element);
  };
  for (const std::vector<One>* list : {&by_position_, &by_keyword_}) {
    for (const One& one : *list) {
      text += text.empty() ? "" : ", ";
      if (!one.keyword.empty()) text += one.keyword + "=";
      if (one.tag == TENON_VALUE_TENSOR_LIST) text += "[";
      for (size_t k = 0; k < one.layouts.size(); ++k) {
        text += k == 0 ? "" : ", ";
        add_layout(one.layouts[k]);
      }
      if (one.tag == TENON_VALUE_TENSOR_LIST) text += "]";
      if (one.literal != nullptr) text += text_of(*one.literal);
    }
  }
  return text;
}

std::vector<Tensor> ArgumentsKey::layouts() const {
  std::vector<Tensor> layouts;
  size_t next = 0;
  for (const std::vector<One>* list : {&by_position_, &by_keyword_}) {
    for (const One& one : *list) {
      for (const Tensor& layout : one.layouts) {
        const size_t place = next++;
        if (layout.defined() && same_[place] == place) layouts.push_back(layout);
      }
    }
  }
  return layouts;
}

Json ArgumentsKey::document(ConstantStore& store) const {
  const auto layout = [](const Tensor& tensor) {
    return tensor.defined() ? layout_document(tensor).json() : Json();
  };
  JsonArray arguments, same, numbers;
  for (const std::vector<One>* list : {&by_position_, &by_keyword_}) {
    for (const One& one : *list) {
      JsonObject object;
      if (!one.keyword.empty()) object.set("keyword", one.keyword);
      if (one.tag == TENON_VALUE_TENSOR) {
        object.set("tensor", layout(one.layouts.front()));
      } else if (one.tag == TENON_VALUE_TENSOR_LIST) {
        JsonArray layouts;
        for (const Tensor& tensor : one.layouts) layouts.add(layout(tensor));
        object.set("tensors", layouts.json());
      } else {
        object.set("value", literal_document(one.literal.get()));
      }
      arguments.add(object.json());
    }
  }
  for (const size_t place : same_) same.add(static_cast<int64_t>(place));
  for (const Tensor& number : numbers_)
    numbers.add(number.defined() ? store.add(number, "") : Json());
  return JsonObject()
      .set("arguments", arguments.json())
      .set("same", same.json())
      .set("numbers", numbers.json())
      .json();
}

ArgumentsKey::ArgumentsKey(const Json& document, const StoredConstants& stored) {
  const Json arguments = document["arguments"];
  if (!arguments.is_array()) throw ValueError("it has no arguments");
  size_t tensors = 0;
  for (int64_t i = 0; i < arguments.size(); ++i) {
    const Json given = arguments[i];
    One one;
    one.keyword = given["keyword"].text();
    const auto add = [&](const Json& layout) {
      one.layouts.push_back(layout.is_null() ? Tensor() : read_layout(layout));
      ++tensors;
    };
    if (given["value"].defined()) {
      one.literal = read_literal(given["value"]);
      if (one.literal == nullptr) one.literal = std::make_shared<const Value>();
      one.tag = one.literal->get().tag;
    } else if (given["tensors"].is_array()) {
      one.tag = TENON_VALUE_TENSOR_LIST;
      for (int64_t k = 0; k < given["tensors"].size(); ++k) add(given["tensors"][k]);
    } else {
      one.tag = TENON_VALUE_TENSOR;
      add(given["tensor"]);
    }
    (one.keyword.empty() ? by_position_ : by_keyword_).push_back(std::move(one));
  }
  for (const int64_t place : read_integers(document["same"])) {
    if (place < 0 || static_cast<size_t>(place) > same_.size())
      throw ValueError(format_text("argument {} is the same as {}", same_.size(), place));
    same_.push_back(static_cast<size_t>(place));
  }
  const Json numbers = document["numbers"];
  const auto count = static_cast<size_t>(numbers.size());
  if (same_.size() != tensors || (count != 0 && count != tensors))
    throw ValueError("its arguments are not counted right");
  for (int64_t i = 0; i < numbers.size(); ++i)
    numbers_.push_back(numbers[i].is_null() ? Tensor() : stored.find(numbers[i]));
}

}  // namespace prepared

TENON_NAMESPACE_END
