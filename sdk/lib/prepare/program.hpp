// A list as it runs: calls with their providers, arguments in place, memory for results.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "numbered_constants.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

class Program {
 public:
  // Chooses providers; adds them to the report. Throws what choosing a provider throws. `numbered`: handles of
  // constants in memory of the caller's; null: as they are.
  Program(CallList list, PreparedList& report, NumberedConstants* numbered);
  ~Program();
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
  // From now on a run leaves members as they are, or ends doing so.
  void rehearse(bool rehearses) { rehearses_ = rehearses; }
  // After the first run that is done, which has shown where kernels make their results: from now on these
  // are in one block. Adds it to the report. Does nothing later.
  void settle(PreparedList& report);
  // Whether this list is for runs like the last one of `other`, as far as that came.
  bool runs_like(const Program& other) const;
  bool changed_operands() const { return changed_operands_; }
  // Whether some call changes an argument in place.
  bool changes_arguments() const { return changes_arguments_; }
  // Whether a call that fails may leave a copy of a member half changed.
  bool writes_members() const { return writes_members_; }
  const CallList& list() const { return list_; }
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
    // In the block, once settled: where a loop writes the result, or a place where a kernel makes it. Null:
    // the kernel makes the result as it does without a list.
    tenon_tensor* memory = nullptr;
    tenon_tensor** place = nullptr;
    // The result may be in the block; the first run has shown that the kernel makes it first, and leaves it.
    bool may_be_placed = false, is_placed = false, is_loop = false;
    bool changes_argument = false;
    const Given* single = nullptr;            // the one result; null: see `results`
    std::vector<std::vector<Given>> results;  // by result
    // Values that no later call reads: all, and without those in the block.
    std::vector<size_t> last_uses, other_last_uses;
    std::vector<size_t> members;   // members that it may change, as constants
    std::vector<size_t> compared;  // results to compare, by their places
  };

  void bind_arguments(NumberedConstants* numbered);
  void choose_providers(PreparedList& report);
  void make_steps();
  void account(PreparedList& report) const;
  void bind(size_t at, tenon_tensor* result);
  tenon_status run_step(Step& step, size_t at, tenon_value* given, bool& in_block,
                        tenon_error** error);
  tenon_status try_place(Step& step, size_t at, tenon_value* given, tenon_error** error);
  bool take_back(const Step& step, const tenon_value& given);
  void place_comparisons();
  Given given_of(size_t number) const;
  bool accept(const Given& given, tenon_tensor* tensor);
  bool accept_all(const Step& step, tenon_value* results);
  bool has_compared_elements(size_t place);
  void write_back(const Step& step);
  void give_outputs(tenon_tensor* const* arguments, tenon_value* results);
  void release_unused(const Step& step);
  void release_frame() noexcept;

  CallList list_;
  std::vector<PreparedHandle> prepared_;
  std::vector<std::vector<tenon_value>> arguments_;               // by call
  std::vector<std::vector<std::vector<tenon_tensor*>>> entries_;  // of lists, by call and argument
  std::vector<std::vector<tenon_tensor**>> places_;               // by value
  // By value, as calls read them; a copy of a member that a call may change.
  std::vector<Tensor> constants_;
  std::vector<Tensor> written_;        // results of loops in the block
  std::vector<tenon_tensor*> placed_;  // by call: owned; null while a kernel has it
  enum class Memory : uint8_t {
    unknown,  // no run is done yet
    settled,
    separate  // a kernel has made its result elsewhere, or kept it: each result has its own
  };
  Memory memory_ = Memory::unknown;
  std::vector<Step> steps_;
  std::vector<Given> argument_places_;
  std::vector<tenon_tensor*> current_;  // by value
  std::vector<char> owned_;             // by value: released when it is not needed any more
  // The comparison that failed in the last run, and what it found.
  size_t failed_ = 0;
  Tensor found_;
  bool rehearses_ = false, changed_operands_ = false, changes_arguments_ = false,
       writes_members_ = false;
};

}  // namespace prepared

TENON_NAMESPACE_END
