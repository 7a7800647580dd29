// The mode that lists the calls of a model while it runs.
//
// The model gets stand-ins for its arguments and for all results: they have a layout and no data, so
// that a model which reads elements fails here and is run as it is. The ops themselves run on tensors
// with data, which the mode keeps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <tenon/mode.hpp>
#include <tenon/prepare/call_list.hpp>

#include "model_state.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

// Results that a model may read, as it got them, by the numbers of their values.
using ReadResults = std::map<size_t, Tensor>;

// How many integers or booleans an argument has at most that are numbers to read.
inline constexpr int64_t argument_numbers = 4;

class Recorder final : public Mode {
 public:
  // `copies`: arguments are copied, so that ops may change them. `reads`: results that are one integer or
  // boolean have elements. `first`, which may be null: a list that this run has to make as well, call by
  // call, and what the model read; ops are not run again, since they would give the same.
  Recorder(const std::vector<ModelMember>& members, bool copies, bool reads, const CallList* first,
           const ReadResults* first_read);

  // An argument of the model; its stand-in. `readable`: a copy, whose elements calls see as a constant.
  Tensor add_argument(const Tensor& given, bool readable);
  Results tenon_function(const Call& call) override;
  void add_output(const tenon_value& value);

  // Why the model runs as it is; the first reason stays. `changes_argument`: copies are needed.
  const std::string& reason() const { return reason_; }
  bool changes_argument() const { return changes_argument_; }
  // Tensors of the model that are neither members nor results, by the numbers of their values.
  const std::unordered_map<size_t, Tensor>& others() const { return others_; }
  const ReadResults& read_results() const { return read_; }
  // Whether code of the model has changed a result outside of ops.
  bool read_changed() const;
  CallList take_list() { return std::move(list_); }

 private:
  [[noreturn]] void refuse(std::string reason);
  size_t number_of(const std::string& op, const Tensor& tensor);
  size_t add_value(ListValue::Kind kind, const Tensor& real);
  size_t add_constant(const Tensor& tensor);
  int64_t memory_of(const Tensor& real);
  void require_plain(const std::string& op, const Tensor& tensor);
  ListOperand read_argument(const Call& call, int64_t place, tenon_value& argument,
                            std::vector<std::vector<tenon_tensor*>>& lists);
  void write_constant(const std::string& op, size_t number);
  void leave_unchanged_members(ListedCall& call);
  void check_written(const std::string& op, const ListOperand& operand);
  ListOperand read_result(const std::string& op, tenon_value& result);
  Results follow(const ListedCall& call);
  const Tensor& shown(size_t number) const;
  const std::vector<size_t>& written_parameters(const Op& op);
  void forget_unused();

  const std::thread::id thread_ = std::this_thread::get_id();
  const bool copies_, reads_;
  const CallList* const first_;
  const ReadResults* const first_read_;
  CallList list_;
  std::string reason_;
  bool changes_argument_ = false;
  int64_t arguments_ = 0;
  std::vector<Tensor> reals_;  // by number; undefined where the model cannot use it any more
  std::unordered_map<const tenon_tensor*, size_t> by_shown_, by_real_;
  std::unordered_map<const tenon_tensor*, const ModelMember*> members_;
  std::unordered_map<const tenon_tensor*, size_t> readable_;  // arguments, as the model got them
  ReadResults read_;
  std::unordered_map<size_t, Tensor> others_;
  std::unordered_map<uint32_t, int64_t> memory_by_storage_;
  // By number of memory: which it belongs to.
  struct Memory {
    bool argument = false, constant = false, read = false;
  };
  std::vector<Memory> memory_;
  std::unordered_map<const tenon_op*, std::vector<size_t>> written_;
  // Real tensors that were left when they were last looked through, bytes of the results among them, and of
  // those that were made since.
  size_t kept_ = 0;
  int64_t kept_bytes_ = 0, made_bytes_ = 0;
};

}  // namespace prepared

TENON_NAMESPACE_END
