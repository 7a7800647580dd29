// The padding of a convolution: numbers, or a word for them.
#pragma once

#include "shared_ops/settings.hpp"

namespace nn {

// 'same' leaves the input's size: what is odd of it goes behind the input. 'valid' is none.
struct ConvolutionPadding {
  bool same = false;
  int64_t before[3] = {0, 0, 0};  // and behind, unless it is the same

  // `owner` begins messages: "conv2d()", "Conv2d". TypeError for what is not a number, one for each
  // dimension, or one of both words.
  ConvolutionPadding(const std::string& owner, const tenon::Argument& given, int64_t dimensions) {
    const tenon_value& value = given.value();
    const bool list = value.tag == TENON_VALUE_INT_LIST && value.length == dimensions;
    if (list || value.tag == TENON_VALUE_INT) {
      for (int64_t i = 0; i < dimensions; ++i)
        before[i] = list ? value.as.integers[i] : value.as.integer;
      return;
    }
    const bool text = value.tag == TENON_VALUE_STRING;
    const std::string_view word = text ? std::string_view(value.as.string, value.length) : "";
    same = word == "same";
    if (same || word == "valid") return;
    tenon::Value found;
    tenon::detail::check(tenon::service::values().text, &value, found.slot());
    throw tenon::TypeError(owner + ": argument 'padding' must be int[" +
                           std::to_string(dimensions) + "], 'same' or 'valid', got " +
                           found.text());
  }
};

}  // namespace nn
