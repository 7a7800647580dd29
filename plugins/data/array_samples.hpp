// Samples from arrays: what the readers of array files do with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <tenon/plugin.hpp>

namespace data {

struct ArrayRequest {
  std::optional<tenon::IntList> shape;  // the shape of a sample
  bool channels_last = false;           // [samples, height, width, channels] in the file
  double scale = 1;
  bool check_finite = true;
  tenon::DType dtype = tenon::f32;
  std::string_view fitted;  // JSON of another file's samples; "" where there is none
};

// Inputs, targets, `fitted`; as the readers return them.
using ArraySamples = std::tuple<tenon::Tensor, tenon::Tensor, std::string>;

// An array of a file, and what messages say of it.
struct FileArray {
  std::string_view path, name;
  tenon::Tensor array;  // undefined where it is not read
};

// Inputs of any dtype, [samples, ...]; targets [samples] or [samples, columns], of which integers and
// bools become i64. ValueError for numbers of samples that differ, for another shape than was
// fitted, for NaN and inf.
ArraySamples make_samples(const FileArray& inputs, const FileArray& targets,
                          const ArrayRequest& request);

}  // namespace data
