// How labels go with the output of a model: as numbers of classes, or as numbers of its shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

enum class LabelForm { classes, numbers, neither };

// By the shapes of labels and output, both with the samples. Outputs [samples, classes] have classes
// for one label each; outputs [samples, classes, ...] where an integer is at each of the places that
// follow: numbers may be a regression.
LabelForm label_form(const std::vector<int64_t>& labels, bool whole_labels,
                     const std::vector<int64_t>& output);

// The fault of labels that go with it in neither way, after the place of the model.
std::string number_fault(const Json& model, const std::vector<int64_t>& labels,
                         const std::vector<int64_t>& output);

}  // namespace training

TENON_NAMESPACE_END
