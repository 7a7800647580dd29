// State of a model: what it computes with beside its arguments, and whether that is the same.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/module.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// A parameter or buffer.
struct ModelMember {
  std::string name;
  Tensor tensor;
  int64_t version;
};

class ModelState {
 public:
  explicit ModelState(Module module) : module_(std::move(module)) {}

  enum class Change {
    none,
    elements,  // a parameter or buffer has changed in place; its name is `changed`
    structure  // there are other members or modules, or other providers of ops
  };
  // Looks at everything that can have changed since the last look.
  Change update(std::string& changed);

  // Why the model has to run as it is: a training mode, hooks. Empty: it need not.
  const std::string& reason() const { return reason_; }
  const std::vector<ModelMember>& members() const { return members_; }
  // After a run of the model as it is, for `elements`: a change that left the same elements, as batch norm does
  // with its statistics in eval mode, is not one.
  void after_run_as_is();
  bool has_moved() const { return !moved_.empty(); }
  // Whether a version has moved since the last update: a model that changes itself.
  const ModelMember* changed_member() const;

 private:
  void read();
  std::string find_reason() const;
  bool same_members(const std::vector<ModelMember>& before) const;

  const Module module_;
  // Under each of their names.
  std::vector<std::pair<std::string, Module>> modules_;
  std::vector<ModelMember> members_;
  std::vector<std::pair<size_t, Tensor>> moved_;  // members of the last change, with copies
  std::string reason_;
  bool read_ = false;
  uint64_t ops_ = 0, changes_ = 0;
};

}  // namespace prepared

TENON_NAMESPACE_END
