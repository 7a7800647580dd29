#include "model_state.hpp"

#include <algorithm>

#include <tenon/hooked.hpp>

#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

void ModelState::read() {
  // Before the walk: what changes during it is seen by the next update.
  ops_ = service::calls().ops_generation();
  changes_ = service::calls().modules_generation();
  modules_ = module_.named_modules(false);
  members_.clear();
  for (const bool buffers : {false, true}) {
    for (auto& [name, tensor] :
         buffers ? module_.named_buffers(true, false) : module_.named_parameters(true, false)) {
      if (tensor.defined()) members_.push_back({name, tensor, tensor.version()});
    }
  }
  reason_ = find_reason();
  read_ = true;
}

std::string ModelState::find_reason() const {
  for (const auto& [name, module] : modules_) {
    if (module.training()) return module.type() + " is in training mode: call eval() of the model";
    if (runs_hooks(module)) return "hooks see the calls of " + module.type();
  }
  return {};
}

bool ModelState::same_members(const std::vector<ModelMember>& before) const {
  return std::equal(members_.begin(), members_.end(), before.begin(), before.end(),
                    [](const ModelMember& a, const ModelMember& b) {
                      return a.name == b.name && a.tensor.is_same(b.tensor);
                    });
}

const ModelMember* ModelState::changed_member() const {
  for (const ModelMember& member : members_) {
    if (member.tensor.version() != member.version) return &member;
  }
  return nullptr;
}

ModelState::Change ModelState::update(std::string& changed) {
  // Hooks that are removed are not counted, so an unusual state is read each time.
  if (!read_ || !reason_.empty() || service::calls().ops_generation() != ops_ ||
      service::calls().modules_generation() != changes_) {
    const uint64_t ops = ops_;
    const bool first = !read_;
    const std::vector<std::pair<std::string, Module>> modules = std::move(modules_);
    const std::vector<ModelMember> members = std::move(members_);
    read();
    const bool same = !first && ops == ops_ && same_members(members) &&
                      std::equal(modules.begin(), modules.end(), modules_.begin(), modules_.end(),
                                 [](const auto& a, const auto& b) {
                                   return a.first == b.first && a.second.is_same(b.second);
                                 });
    if (!same) return Change::structure;
    for (size_t i = 0; i < members.size(); ++i) members_[i].version = members[i].version;
  }
  moved_.clear();
  for (size_t i = 0; i < members_.size(); ++i) {
    ModelMember& member = members_[i];
    const int64_t version = member.tensor.version();
    if (version == member.version) continue;
    member.version = version;
    changed = member.name;
    moved_.emplace_back(i, copy_of(member.tensor));
  }
  return moved_.empty() ? Change::none : Change::elements;
}

void ModelState::after_run_as_is() {
  for (const auto& [i, before] : moved_) {
    ModelMember& member = members_[i];
    const int64_t version = member.tensor.version();
    if (same_elements(member.tensor, before)) member.version = version;
  }
  moved_.clear();
}

}  // namespace prepared

TENON_NAMESPACE_END
