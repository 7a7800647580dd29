#include "record.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "recorder.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

void call_as_is(const Module& module, const Arguments& arguments, tenon_value* results,
                int64_t result_count) {
  detail::check(service::modules().call, module.handle(), arguments.values, arguments.count,
                arguments.keywords, arguments.keyword_values, arguments.keyword_count, results,
                result_count);
}

namespace {

// Arguments with stand-ins in place of their tensors; the same tensor has one.
class StandIns {
 public:
  StandIns(const Arguments& given, Recorder& recorder, Readable readable)
      : readable_(readable),
        values_(replaced(given.values, given.count, recorder)),
        named_(replaced(given.keyword_values, given.keyword_count, recorder)),
        arguments_{values_.data(), given.count, given.keywords, named_.data(),
                   given.keyword_count} {}
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;
  const Arguments& arguments() const { return arguments_; }
  // Whether code of the model has changed a number that it got.
  bool changed() const {
    return std::any_of(made_.begin(), made_.end(), [](const auto& pair) {
      return (pair.second.view_record().flags & TENON_TENSOR_SHAPE_ONLY) == 0 &&
             !same_elements(Tensor::borrow(pair.first), pair.second);
    });
  }

 private:
  tenon_tensor* stand_in_of(tenon_tensor* tensor, Recorder& recorder) {
    if (tensor == nullptr) return nullptr;
    for (const auto& [given, made] : made_) {
      if (given == tensor) return made.handle();
    }
    const Tensor& given = Tensor::borrow(tensor);
    made_.emplace_back(
        tensor, recorder.add_argument(
                    given, readable_ != Readable::nothing && is_number(given, argument_numbers)));
    return made_.back().second.handle();
  }
  std::vector<tenon_value> replaced(const tenon_value* values, int64_t count, Recorder& recorder) {
    std::vector<tenon_value> list(values, values + count);
    for (tenon_value& value : list) {
      if (value.tag == TENON_VALUE_TENSOR) {
        value.as.tensor = stand_in_of(value.as.tensor, recorder);
      } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
        auto entries = std::make_unique<tenon_tensor*[]>(std::max<uint32_t>(value.length, 1));
        for (uint32_t k = 0; k < value.length; ++k)
          entries[k] = stand_in_of(value.as.tensors[k], recorder);
        value.as.tensors = entries.get();
        lists_.push_back(std::move(entries));
      }
    }
    return list;
  }

  const Readable readable_;
  std::vector<std::pair<tenon_tensor*, Tensor>> made_;
  std::vector<std::unique_ptr<tenon_tensor*[]>> lists_;
  std::vector<tenon_value> values_, named_;
  Arguments arguments_;
};

struct Run {
  CallList list;
  std::unordered_map<size_t, Tensor> others;
  ReadResults read;
  std::string reason;
  bool raised = false, changes_argument = false;
};

// `first`: an earlier run, or null.
Run run_once(const Module& module, const ModelState& state, const Arguments& arguments, bool copies,
             Readable readable, const Run* first) {
  Recorder recorder(state.members(), copies, readable == Readable::results,
                    first == nullptr ? nullptr : &first->list,
                    first == nullptr ? nullptr : &first->read);
  Run run;
  {
    const StandIns stand_ins(arguments, recorder, readable);
    std::vector<Value> outputs(detail::max_results);
    int64_t count = 0;
    try {
      detail::check(service::modules().forward, module.handle(),
                    static_cast<tenon_string*>(nullptr), &count);
      const ModeScope scope(recorder, Level::recorder);
      tenon_value results[detail::max_results] = {};
      call_as_is(module, stand_ins.arguments(), results, -1);
      for (size_t r = 0; r < detail::max_results; ++r) outputs[r] = Value(results[r]);
    } catch (const Error& error) {
      if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
      run.raised = recorder.reason().empty();
      run.reason = recorder.reason().empty()
                       ? std::string("on tensors without data it raises: ") + error.what()
                       : recorder.reason();
      run.changes_argument = recorder.changes_argument();
      return run;
    }
    // A model may catch what a refused call throws.
    run.reason = recorder.reason();
    run.changes_argument = recorder.changes_argument();
    try {
      for (int64_t r = 0; r < count && run.reason.empty(); ++r)
        recorder.add_output(outputs[static_cast<size_t>(r)].get());
    } catch (const Error&) {
      run.reason = recorder.reason();
    }
    if (run.reason.empty() && (stand_ins.changed() || recorder.read_changed()))
      run.reason = "the model changes a number outside of ops";
  }
  if (const ModelMember* member = state.changed_member(); member != nullptr && run.reason.empty())
    run.reason = "the model changes its '" + member->name + "'";
  run.others = recorder.others();
  run.read = recorder.read_results();
  run.list = recorder.take_list();
  return run;
}

// Empty where the second run ended as the first did and computed with the same constants; its calls
// were compared as they came.
std::string difference(const CallList& a, const CallList& b) {
  if (a.calls.size() != b.calls.size() || a.values.size() != b.values.size() ||
      !same_operands(a.outputs, b.outputs))
    return "two runs on the same arguments make other calls";
  for (size_t i = 0; i < a.values.size(); ++i) {
    const ListValue &one = a.values[i], &other = b.values[i];
    if (one.kind != other.kind || one.name != other.name ||
        (one.kind == ListValue::Kind::constant && one.name.empty() &&
         !same_elements(one.constant, other.constant)))
      return "two runs on the same arguments compute with other constants";
  }
  return {};
}

// Outputs must not be in memory of the list: of copies of tensors that the model does not keep.
void refuse_shown_copies(const CallList& list, Recording& recording) {
  std::set<int64_t> copies;
  for (const ListValue& value : list.values) {
    const bool own = value.kind == ListValue::Kind::constant && value.name.empty();
    const auto is_kept = [&](const Tensor& kept) {
      return service::tensors().shares_storage(kept.handle(), value.constant.handle()) != 0;
    };
    if (own && std::none_of(recording.kept.begin(), recording.kept.end(), is_kept))
      copies.insert(value.memory);
  }
  for_each_value(list.outputs, [&](size_t number) {
    const ListValue& value = list.values[number];
    if (copies.count(value.memory) != 0 ||
        (value.kind == ListValue::Kind::constant && value.name.empty()))
      recording.reason = "a result of the model is a tensor that it keeps or makes without an op";
  });
}

void add_compared(CallList& list, const ReadResults& read) {
  for (const auto& [number, tensor] : read) {
    ListOperand operand;
    operand.kind = ListOperand::Kind::tensor;
    operand.values.push_back(static_cast<int64_t>(number));
    list.outputs.push_back(std::move(operand));
    list.compared.push_back(tensor);
  }
}

}  // namespace

Recording record(const Module& module, const ModelState& state, const Arguments& arguments,
                 Readable readable) {
  bool copies = false;
  Run first = run_once(module, state, arguments, copies, readable, nullptr);
  if (first.changes_argument) {
    copies = true;
    first = run_once(module, state, arguments, copies, readable, nullptr);
  }
  Recording recording;
  if (!first.reason.empty()) {
    recording.reason = std::move(first.reason);
    recording.raised = first.raised;
    return recording;
  }
  const Run second = run_once(module, state, arguments, copies, readable, &first);
  recording.reason = second.reason.empty() ? difference(first.list, second.list) : second.reason;
  if (!recording.reason.empty()) return recording;
  // The first run's are still held, so that those of the second which are the same are the model's own.
  for (auto& [number, tensor] : first.others) {
    const auto found = second.others.find(number);
    if (found == second.others.end() || !found->second.is_same(tensor)) continue;
    ListValue& value = first.list.values[number];
    // Another handle, so that the number of references shows when the model drops the tensor.
    value.constant = alias_tensor(tensor, tensor.shape(), tensor.strides(), 0);
    recording.kept.push_back(std::move(tensor));
  }
  refuse_shown_copies(first.list, recording);
  add_compared(first.list, first.read);
  recording.list = std::move(first.list);
  return recording;
}

}  // namespace prepared

TENON_NAMESPACE_END
