// A list as it runs: calls with their providers, arguments in place, memory for results.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/prepare/prepare.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

class Program {
 public:
  // Chooses providers and memory; adds both to the report. Throws what choosing a provider throws.
  Program(CallList list, PreparedList& report);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  enum class End : uint8_t {
    done,
    other_layout,  // a call gives a tensor of another layout than in the list, which the model has to see
    other_elements  // and of other elements than were compared with, see `runs_like`
  };
  // Runs it on the arguments, by their numbers. Throws what a call throws. Where it is not done,
  // `changed_operands` says whether a call may have changed an argument or a member by then.
  End run(tenon_tensor* const* arguments, tenon_value* results);
  // Whether this list is for runs like the last one of `other`, as far as that came.
  bool runs_like(const Program& other) const;
  bool changed_operands() const { return changed_operands_; }
  // Whether some call changes an argument in place.
  bool changes_arguments() const { return changes_arguments_; }
  // Whether a call that fails may leave a copy of a member half changed.
  bool writes_members() const { return writes_members_; }
  // Number of the results of the model.
  size_t outputs() const { return list_.outputs.size() - list_.compared.size(); }

 private:
  struct Release {
    void operator()(tenon_prepared_call* call) const { service::calls().release(call); }
  };
  using PreparedHandle = std::unique_ptr<tenon_prepared_call, Release>;
  // A tensor among the results of a call, or an argument of the model.
  struct Given {
    size_t value = 0;
    bool again = false;  // an operand that comes back
    const tenon_tensor_view* layout = nullptr;
    std::vector<tenon_tensor**> places;  // places where calls read it
  };
  struct Step {
    const tenon_prepared_call* call = nullptr;
    const tenon_value* arguments = nullptr;
    tenon_tensor* memory = nullptr;  // for the result; null: the kernel makes it
    bool changes_argument = false;
    const Given* single = nullptr;            // the one result; null: see `results`
    std::vector<std::vector<Given>> results;  // by result
    std::vector<size_t> last_uses;            // values that no later call reads
    std::vector<size_t> members;              // members that it may change, as constants
    std::vector<size_t> compared;             // results to compare, by their places
  };

  void bind_arguments();
  void choose_providers(PreparedList& report);
  void plan_memory(PreparedList& report);
  void make_steps();
  void place_comparisons();
  Given given_of(size_t number) const;
  bool accept(const Given& given, tenon_tensor* tensor);
  bool accept_all(const Step& step, tenon_value* results);
  bool has_compared_elements(size_t place);
  void write_back(const Step& step);
  void give_outputs(tenon_tensor* const* arguments, tenon_value* results) const;
  void release_frame() noexcept;

  CallList list_;
  std::vector<PreparedHandle> prepared_;
  std::vector<std::vector<tenon_value>> arguments_;               // by call
  std::vector<std::vector<std::vector<tenon_tensor*>>> entries_;  // of lists, by call and argument
  std::vector<std::vector<tenon_tensor**>> places_;               // by value
  // By value, as calls read them; a copy of a member that a call may change.
  std::vector<Tensor> constants_;
  Tensor arena_;
  std::vector<Tensor> arena_tensors_;  // by call; undefined where the kernel makes the result
  std::vector<Step> steps_;
  std::vector<Given> argument_places_;
  std::vector<tenon_tensor*> current_;  // by value
  std::vector<char> owned_;             // by value: released when it is not needed any more
  // The comparison that failed in the last run, and what it found.
  size_t failed_ = 0;
  Tensor found_;
  bool changed_operands_ = false, changes_arguments_ = false, writes_members_ = false;
};

}  // namespace prepared

TENON_NAMESPACE_END
