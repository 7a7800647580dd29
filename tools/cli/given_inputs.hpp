// Inputs of a model's file as the command line gives them: shapes, numbers, or files of tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/module.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/state/model_format.hpp>

namespace cli {

// Makes the inputs of a call.
class GivenInputs {
 public:
  enum class Elements { zero, random };

  // Inputs as the file declares them, else by the parameters of the module's forward.
  GivenInputs(const std::string& path, const tenon::Module& model);
  // Inputs of a file of tenon convert MODEL FILE.tenon: those that it was prepared for, which are given.
  GivenInputs(const std::string& path, const tenon::Prepared& model);

  // "NAME=VALUE" as --input has it. ValueError for a name, shape, number or file that does not fit.
  void give(const std::string& text);
  // "NAME=FILE", or "FILE": tensors under their names, one without a name for the next input that has none.
  void give_file(const std::string& text);

  // The tensors, in order; those that were not given have the shapes that the file declares. ValueError, with
  // all of them, for inputs whose sizes are open. Random numbers are of [0, 1); integers and booleans are 0.
  std::vector<tenon::Tensor> tensors(Elements elements) const;
  // The samples of tenon check for one module with these inputs.
  tenon::Json sample() const;

 private:
  struct Input {
    std::string parameter;  // its name in forward
    tenon::state::ModelInput declared;
    tenon::Tensor tensor;        // given
    std::vector<int64_t> shape;  // given; of `has_shape`
    bool has_shape = false;
  };
  void add_inputs(const std::string& forward,
                  const std::optional<std::vector<tenon::state::ModelInput>>& declared);
  Input& find(const std::string& name);
  void give_tensor(Input& input, const tenon::Tensor& tensor);
  void give_shape(Input& input, const std::vector<int64_t>& shape);
  // The shape of an input without a tensor; a fault where sizes are open.
  std::vector<int64_t> shape_of(const Input& input, std::vector<std::string>& faults) const;
  std::vector<std::vector<int64_t>> shapes() const;

  std::string path_;
  std::vector<Input> inputs_;
};

// Whether a path is that of a prepared model, "net.tenon".
bool is_prepared_file(const std::string& path);
// open_prepared under the load guard.
tenon::Prepared open_prepared_file(const std::string& path);
// UsageError where --input is given with a config.
void refuse_inputs(const std::vector<std::string>& inputs, const std::string& config);

}  // namespace cli
