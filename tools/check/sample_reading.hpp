// Shared code of the readers of samples.
#pragma once

#include <string>

#include <tenon/json.hpp>

#include "sample.hpp"

namespace cli {

// Throws ValueError: "samples/0/input: what".
[[noreturn]] void refuse_sample(const std::string& place, const std::string& what);
// "samples/0/input: found 3, expected a list of tensors".
[[noreturn]] void refuse_kind(const std::string& place, const tenon::Json& document,
                              const std::string& expected);
// true or false.
bool is_truth_value(const tenon::Json& document);
// A sample's "check": how to compare, and what not to expect.
void read_sample_options(const std::string& place, const tenon::Json& document, Sample& sample);

}  // namespace cli
