// Checks of one op, module, type, override or rewrite, reported to a listener as they run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "report.hpp"
#include "sample.hpp"

namespace cli {

struct CheckedOp {
  std::string name;
  std::vector<DeclaredType> parameters, returns;
  std::string differentiable, jvp, samples;
  std::string double_backward;  // yes, once, unknown, none
  bool function = false, zero_gradient = false;
};
CheckedOp checked_op(const tenon::Json& declaration);

struct CheckedModule {
  std::string name, samples;
  std::vector<DeclaredType> attributes, inputs;
  bool own_forward = false;  // each instance has its own schema
  bool mode = false;
  bool of_file = false;  // the model of a file, which is not the plugin's code
};
CheckedModule checked_module(const tenon::Json& declaration);

struct CheckedRewrite {
  std::string name, plugin;
  std::string text, samples;  // the rule in one line; JSON, may be empty
};

// Listens to the checks of one item.
class CheckListener {
 public:
  virtual ~CheckListener() = default;
  virtual void stage(const std::string& name) = 0;
  // The sample that is tried next: the report names it if the process ends there.
  virtual void trying(const Sample& sample) = 0;
  virtual void finding(const Finding& finding) = 0;
  virtual void note(const std::string& text) = 0;
  virtual void skip(const std::string& reason) = 0;
  virtual void samples(int64_t count) = 0;
  // The comparison of two providers by the same calls.
  virtual void comparison(const tenon::Json& document) = 0;
};

struct CheckSettings {
  uint64_t seed = 0;
  std::string options;  // JSON as in a sample's "check", for every sample
  std::string folder;   // for the files of samples and modules
};

void check_op(const CheckedOp& op, const CheckSettings& settings, CheckListener& listener);
void check_module(const CheckedModule& module, const CheckSettings& settings,
                  CheckListener& listener);
// By name, and by key: "mul[A, B]".
void check_type(const std::string& type, const CheckSettings& settings, CheckListener& listener);
void check_override(const std::string& key, const CheckSettings& settings, CheckListener& listener);
void check_rewrite(const CheckedRewrite& rewrite, const CheckSettings& settings,
                   CheckListener& listener);

}  // namespace cli
