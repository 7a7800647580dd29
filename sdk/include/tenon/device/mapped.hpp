// The CPU's kernels in memory of a device that it reaches: at once, or later on the device's queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/device/type.hpp"
#include "tenon/grad_mode.hpp"
#include "tenon/runtime.hpp"
#include "tenon/shapes_only.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

namespace detail {

// The operands of one call as plain tensors over mapped memory.
template <class D>
class Mapped {
 public:
  Mapped() = default;
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    for (const Operand& operand : operands_) unmap(operand);
  }

  // Tensors of the CPU stay: numbers, and what is copied to or from the device.
  Tensor plain(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!is<D>(tensor)) return of_cpu_.emplace_back(tensor);
    DeviceMemory& buffer = *as<D>(tensor).buffer;
    if (index_ >= 0 && buffer.index != index_) {
      throw_message(TENON_ERROR_VALUE,
                    {"one operand is on ", D::name, ":", index_, ", another on ", D::name, ":",
                     buffer.index, "; copy one of them to the device of the other"});
    }
    index_ = buffer.index;
    for (const Operand& operand : operands_) {
      if (operand.given.is_same(tensor)) return operand.plain;
    }
    wait_for(buffer);
    buffer.check();
    Operand operand{tensor, {}, &buffer};
    if (buffer.bytes > 0) buffer.driver.map(buffer.index, buffer.data, buffer.bytes);
    operands_.push_back(std::move(operand));
    return operands_.back().plain = over(buffer, tensor);
  }
  // A result as the caller gets it: the operand itself where it was changed in place.
  Tensor result(const Tensor& made) {
    if (!made.defined() || made.view_record().type != 0) return made;
    for (const Operand& operand : operands_) {
      if (operand.plain.is_same(made)) return operand.given;
    }
    for (const Tensor& given : of_cpu_) {
      if (given.is_same(made)) return made;
    }
    // A view that the op may give, as reshape does, is one of the operand on the device.
    for (const Operand& operand : operands_) {
      const bool is_view =
          made.numel() > 0 && made.dtype() == operand.given.dtype() &&
          tenon::service::tensors().shares_storage(operand.plain.handle(), made.handle()) != 0;
      if (!is_view) continue;
      const int64_t offset = (static_cast<const char*>(elements(made)) -
                              static_cast<const char*>(elements(operand.plain))) /
                             element_size(made.dtype());
      static const Op view("as_strided");
      return view.call<Tensor>(operand.given, made.shape(), made.strides(), offset);
    }
    return upload<D>(made, index_);
  }

 private:
  struct Operand {
    Tensor given;
    Tensor plain;
    DeviceMemory* buffer;
  };
  static void unmap(const Operand& operand) {
    if (operand.buffer->bytes > 0)
      operand.buffer->driver.unmap(operand.buffer->index, operand.buffer->data,
                                   operand.buffer->bytes);
  }
  // Operands of one allocation share a storage, as they do on the device.
  Tensor over(const DeviceMemory& buffer, const Tensor& tensor) {
    if (tensor.numel() == 0) return empty_tensor(tensor.shape(), tensor.dtype());
    const int64_t width = element_size(tensor.dtype());
    const int64_t offset =
        (static_cast<char*>(elements(tensor)) - static_cast<char*>(buffer.data)) / width;
    for (const auto& [known, whole] : wholes_) {
      if (known == &buffer && whole.dtype() == tensor.dtype())
        return alias_tensor(whole, tensor.shape(), tensor.strides(), offset);
    }
    const int64_t count = buffer.bytes / width, step = 1;
    wholes_.emplace_back(&buffer, wrap_buffer(buffer.data, IntList(&count, 1), IntList(&step, 1),
                                              tensor.dtype(), nullptr, nullptr));
    return alias_tensor(wholes_.back().second, tensor.shape(), tensor.strides(), offset);
  }
  std::vector<Operand> operands_;
  std::vector<std::pair<const DeviceMemory*, Tensor>> wholes_;
  std::vector<Tensor> of_cpu_;
  int64_t index_ = -1;
};

// ---- later ----

// Facts that decide how an op is queued.
struct OpFacts {
  bool draws = false;  // its samples are not deterministic: it draws random numbers, in the call
  bool elementwise = false;   // its derivative says so
  std::vector<bool> mutates;  // by parameter
};
inline OpFacts read_op_facts(const Op& op) {
  // Facts of all plugins; never destroyed: calls may be made until the process ends.
  static const auto& declared = *[] {
    auto* const known = new std::map<std::string, OpFacts>;
    const Json plugins = document(Document::facts);
    for (int64_t p = 0; p < plugins.size(); ++p) {
      const Json ops = plugins[p]["facts"]["ops"];
      for (int64_t i = 0; i < ops.size(); ++i) {
        OpFacts& facts = (*known)[ops[i]["name"].text()];
        facts.elementwise |= ops[i]["jvp"].text("") == "pointwise";
        if (!ops[i]["samples"].defined()) continue;
        const Json samples = Json::parse(ops[i]["samples"].text());
        for (int64_t k = 0; k < samples.size(); ++k)
          facts.draws |= !samples[k]["check"]["deterministic"].as_bool(true);
      }
    }
    return known;
  }();
  const auto found = declared.find(op.name());
  OpFacts facts = found == declared.end() ? OpFacts() : found->second;
  const Json parameters = parse_schema(op.schema())["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json mutates = parameters[i]["mutates"];
    facts.mutates.push_back(mutates.defined() && mutates.as_bool());
  }
  return facts;
}
// Any thread; valid for the life of the process.
inline const OpFacts& facts_of(const Op& op) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, OpFacts>;
  const std::string name = op.name();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(name);
  return found != known.end() ? found->second
                              : known.emplace(name, read_op_facts(op)).first->second;
}

// A call that outlives its caller: arguments, with tensors as numbers of operands, and where the
// results go.
template <class D>
class LaterCall {
 public:
  // Declines what must run at once: where a kernel of the CPU is not run on a queue, operands are in
  // memory of the CPU, results are not tensors, or shapes depend on elements. Throws what the shapes
  // alone show, and the failures of operands.
  static Results queue(const Call& call) {
    auto kept = std::make_shared<LaterCall>();
    Queue* queue = nullptr;
    if (!kept->keep(call, queue)) return not_implemented;
    Results results = not_implemented;
    if (!kept->make_results(results)) return not_implemented;
    Queue::Job job{CallRecord(call), {}, {}, {}};
    for (const Operand& operand : kept->operands_) {
      if (operand.memory.get() != nullptr)
        (operand.changes ? job.writes : job.reads).push_back(operand.memory);
    }
    for (const Made& made : kept->made_) job.writes.push_back(made.memory);
    kept->given_.clear();
    job.run = [kept] { kept->run(); };
    queue->push(std::move(job));
    return results;
  }

 private:
  struct Layout {
    DType dtype = DType::none;
    std::vector<int64_t> shape, strides;
    explicit Layout(const Tensor& tensor)
        : dtype(tensor.dtype()),
          shape(tensor.shape().begin(), tensor.shape().end()),
          strides(tensor.strides().begin(), tensor.strides().end()) {}
    Layout() = default;
    int64_t count() const {
      int64_t all = 1;
      for (const int64_t size : shape) all *= size;
      return all;
    }
  };
  struct Operand {
    MemoryReference memory;  // null: a number of the CPU
    Layout layout;
    int64_t offset = 0;  // in elements, from the begin of the memory
    bool changes = false;
    Tensor number;
  };
  struct Argument {
    tenon_value value{};
    std::vector<int64_t> integers;
    std::vector<double> numbers;
    std::vector<uint8_t> booleans;
    std::vector<std::string> texts;
    std::vector<tenon_string> strings;
    std::vector<int> tensors;  // numbers of operands; -1: none
  };
  // A result in new memory; the others are operands and views of them.
  struct Made {
    int place = 0;  // among all tensors of the results
    MemoryReference memory;
    Layout layout;
  };

  // ---- in the call ----

  static Span<const int64_t> list(const std::vector<int64_t>& numbers) {
    return {numbers.data(), static_cast<int64_t>(numbers.size())};
  }

  bool keep(const Call& call, Queue*& queue) {
    op_ = call.handle()->op;
    bool fits = true;
    call.each_tensor([&](const Tensor& tensor) {
      if (!is<D>(tensor)) {
        fits &= tensor.view_record().type == 0 && tensor.dim() == 0;
        return;
      }
      const int64_t index = as<D>(tensor).buffer->index;
      fits &= index_ < 0 || index_ == index;
      index_ = index;
    });
    if (!fits || index_ < 0) return false;
    queue = D::driver().queue(index_);
    if (queue == nullptr) return false;
    check_process(D::name);
    const OpFacts& facts = facts_of(call.op());
    if (facts.draws) return false;
    elementwise_ = facts.elementwise;
    arguments_.resize(static_cast<size_t>(call.size()));
    for (int64_t i = 0; i < call.size(); ++i) {
      const auto place = static_cast<size_t>(i);
      const bool changes = place < facts.mutates.size() && facts.mutates[place];
      if (!keep(call.argument(i).value(), changes, arguments_[place])) return false;
    }
    return true;
  }
  bool keep(const tenon_value& value, bool changes, Argument& kept) {
    kept.value = value;
    const size_t count = value.length;
    switch (value.tag) {
      case TENON_VALUE_NONE:
      case TENON_VALUE_BOOL:
      case TENON_VALUE_INT:
      case TENON_VALUE_FLOAT:
      case TENON_VALUE_DTYPE:
        return true;
      case TENON_VALUE_STRING:
        kept.texts.emplace_back(value.as.string, count);
        return true;
      case TENON_VALUE_STRING_LIST:
        for (size_t i = 0; i < count; ++i) {
          const tenon_string& text = value.as.strings[i];
          kept.texts.emplace_back(text.data, static_cast<size_t>(text.length));
        }
        return true;
      case TENON_VALUE_INT_LIST:
        kept.integers.assign(value.as.integers, value.as.integers + count);
        return true;
      case TENON_VALUE_FLOAT_LIST:
        kept.numbers.assign(value.as.numbers, value.as.numbers + count);
        return true;
      case TENON_VALUE_BOOL_LIST:
        kept.booleans.assign(value.as.booleans, value.as.booleans + count);
        return true;
      case TENON_VALUE_TENSOR:
        kept.tensors.push_back(number_of(value.as.tensor, changes));
        return true;
      case TENON_VALUE_TENSOR_LIST:
        for (size_t i = 0; i < count; ++i)
          kept.tensors.push_back(number_of(value.as.tensors[i], changes));
        return true;
      default:
        return false;
    }
  }
  int number_of(tenon_tensor* handle, bool changes) {
    if (handle == nullptr) return -1;
    const Tensor tensor = Tensor::borrow(handle);
    for (size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i].is_same(tensor)) continue;
      operands_[i].changes |= changes;
      return static_cast<int>(i);
    }
    Operand operand;
    operand.layout = Layout(tensor);
    operand.changes = changes;
    if (is<D>(tensor)) {
      DeviceMemory& memory = *as<D>(tensor).buffer;
      memory.check();
      operand.memory = MemoryReference(memory);
      if (tensor.numel() > 0) {
        operand.offset = (static_cast<char*>(elements(tensor)) - static_cast<char*>(memory.data)) /
                         element_size(tensor.dtype());
      }
    } else {
      operand.number = empty_tensor(tensor.shape(), tensor.dtype());
      copy_elements(operand.number, tensor);
    }
    operands_.push_back(std::move(operand));
    given_.push_back(tensor);
    return static_cast<int>(given_.size()) - 1;
  }

  // Runs the op on zeros that have the layouts of the operands; makes the results from what it gives.
  // False where it fails: then the call itself says why, or needs the elements.
  bool make_results(Results& results) {
    const NoGrad unrecorded;
    std::vector<Tensor> stand_ins;
    result_count_ = service::ops().result_count(op_);
    results = Results::of_count(result_count_);
    std::vector<tenon_value> values;
    {
      const ShapesOnly shapes;
      stand_ins = plain_operands([](const DeviceMemory& memory, DType dtype) {
        const int64_t count = memory.bytes / element_size(dtype);
        Tensor zeros = empty_tensor({count}, dtype);
        constexpr int64_t kLazy = int64_t{1} << 20;  // from here on it is pages of zeros
        if (count > 0 && memory.bytes < kLazy)
          std::memset(zeros.view_record().data, 0, static_cast<size_t>(memory.bytes));
        return zeros;
      });
      values = values_with(stand_ins);
      if (!succeeds(service::ops().call, op_, values.data(), static_cast<int64_t>(values.size()),
                    results.slots()))
        return false;
    }
    bool tensors = true, new_tensors = false;
    for (int64_t i = 0; i < results.size(); ++i) {
      const uint32_t tag = results.slots()[i].tag;
      tensors &= tag == TENON_VALUE_TENSOR || tag == TENON_VALUE_TENSOR_LIST;
    }
    if (!tensors) return false;
    results.transform([&](const Tensor& made) {
      new_tensors |= std::none_of(stand_ins.begin(), stand_ins.end(),
                                  [&](const Tensor& one) { return one.is_same(made); });
      return made;
    });
    // Shapes alone of an op that only writes are those of what it writes. Where nothing has compared them, it
    // runs at once: its refusals are raised in the call.
    if (!new_tensors && !elementwise_) return false;
    if (!call_.prepare(op_, values)) return false;
    int place = 0;
    bool fits = true;
    results.transform([&](const Tensor& made) {
      const int here = place++;
      for (size_t i = 0; i < stand_ins.size(); ++i) {
        if (!stand_ins[i].is_same(made)) continue;
        fits &= operands_[i].memory.get() != nullptr;
        operands_[i].changes |= fits;
        return given_[i];
      }
      for (size_t i = 0; i < stand_ins.size(); ++i) {
        const Operand& operand = operands_[i];
        if (operand.memory.get() == nullptr || made.numel() == 0 ||
            made.dtype() != operand.layout.dtype ||
            service::tensors().shares_storage(stand_ins[i].handle(), made.handle()) == 0)
          continue;
        const int64_t offset = (static_cast<const char*>(elements(made)) -
                                static_cast<const char*>(elements(stand_ins[i]))) /
                               element_size(made.dtype());
        static const Op view("as_strided");
        return view.call<Tensor>(given_[i], made.shape(), made.strides(), offset);
      }
      Tensor result = empty<D>(made.shape(), made.dtype(), index_);
      made_.push_back({here, memory_of<D>(result), Layout(result)});
      return result;
    });
    return fits;
  }

  template <class Slot, class... Arguments>
  static bool succeeds(Slot slot, const Arguments&... arguments) {
    tenon_error* error = nullptr;
    if (slot(arguments..., &error) == TENON_OK) return true;
    service::values().error_release(error);
    return false;
  }

  // ---- in the call and on the queue ----

  // The provider that the call has chosen: its plugin stays until the call has run, also where it is
  // unloaded meanwhile.
  class HeldCall {
   public:
    HeldCall() = default;
    HeldCall(const HeldCall&) = delete;
    HeldCall& operator=(const HeldCall&) = delete;
    ~HeldCall() { service::calls().release(call_); }
    bool prepare(const tenon_op* op, const std::vector<tenon_value>& arguments) {
      return succeeds(service::calls().prepare, op, arguments.data(),
                      static_cast<int64_t>(arguments.size()), &call_) &&
             succeeds(service::calls().hold, call_);
    }
    const tenon_prepared_call* get() const { return call_; }

   private:
    tenon_prepared_call* call_ = nullptr;
  };

  // `whole` makes the plain tensor of an allocation, in elements of a dtype.
  template <class Whole>
  std::vector<Tensor> plain_operands(const Whole& whole) const {
    std::vector<std::pair<const DeviceMemory*, Tensor>> wholes;
    std::vector<Tensor> plain;
    for (const Operand& operand : operands_) {
      const Layout& layout = operand.layout;
      if (operand.memory.get() == nullptr) {
        plain.push_back(operand.number);
        continue;
      }
      if (layout.count() == 0) {
        plain.push_back(empty_tensor(list(layout.shape), layout.dtype));
        continue;
      }
      const Tensor* base = nullptr;
      for (const auto& [known, tensor] : wholes) {
        if (known == operand.memory.get() && tensor.dtype() == layout.dtype) base = &tensor;
      }
      if (base == nullptr) {
        wholes.emplace_back(operand.memory.get(), whole(*operand.memory, layout.dtype));
        base = &wholes.back().second;
      }
      plain.push_back(
          alias_tensor(*base, list(layout.shape), list(layout.strides), operand.offset));
    }
    return plain;
  }
  std::vector<tenon_value> values_with(const std::vector<Tensor>& plain) {
    std::vector<tenon_value> values;
    handles_.assign(arguments_.size(), {});
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Argument& kept = arguments_[i];
      tenon_value value = kept.value;
      for (const int number : kept.tensors)
        handles_[i].push_back(number < 0 ? nullptr : plain[static_cast<size_t>(number)].handle());
      switch (value.tag) {
        case TENON_VALUE_STRING:
          value.as.string = kept.texts[0].data();
          break;
        case TENON_VALUE_STRING_LIST:
          kept.strings.clear();
          for (const std::string& text : kept.texts)
            kept.strings.push_back({text.data(), static_cast<int64_t>(text.size())});
          value.as.strings = kept.strings.data();
          break;
        case TENON_VALUE_INT_LIST:
          value.as.integers = kept.integers.data();
          break;
        case TENON_VALUE_FLOAT_LIST:
          value.as.numbers = kept.numbers.data();
          break;
        case TENON_VALUE_BOOL_LIST:
          value.as.booleans = kept.booleans.data();
          break;
        case TENON_VALUE_TENSOR:
          value.as.tensor = handles_[i][0];
          break;
        case TENON_VALUE_TENSOR_LIST:
          value.as.tensors = handles_[i].data();
          break;
        default:
          break;
      }
      values.push_back(value);
    }
    return values;
  }

  // ---- on the queue ----

  // Memory that the CPU reads and writes as long as this lives.
  class Opened {
   public:
    Opened() = default;
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() {
      for (DeviceMemory* memory : opened_)
        memory->driver.unmap(memory->index, memory->data, memory->bytes);
    }
    void open(const MemoryReference& memory) {
      if (memory.get() == nullptr || memory->bytes == 0) return;
      opened_.reserve(opened_.size() + 1);
      memory->driver.map(memory->index, memory->data, memory->bytes);
      opened_.push_back(memory.get());
    }

   private:
    std::vector<DeviceMemory*> opened_;
  };

  static Tensor over(const DeviceMemory& memory, DType dtype) {
    const int64_t count = memory.bytes / element_size(dtype), step = 1;
    return wrap_buffer(memory.data, IntList(&count, 1), IntList(&step, 1), dtype, nullptr, nullptr);
  }

  void run() {
    Opened opened;
    for (const Operand& operand : operands_) opened.open(operand.memory);
    for (const Made& made : made_) opened.open(made.memory);
    const std::vector<Tensor> plain = plain_operands(over);
    Results results = Results::of_count(result_count_);
    std::vector<tenon_value> values = values_with(plain);
    tenon::detail::check(service::calls().run, call_.get(), values.data(), results.slots());
    int place = 0;
    size_t next = 0;
    results.transform([&](const Tensor& made) {
      if (next < made_.size() && made_[next].place == place++) put(made_[next++], made);
      return Tensor();
    });
    if (next != made_.size()) throw RuntimeError("it gave fewer results than its shapes said");
  }
  static void put(const Made& place, const Tensor& made) {
    const Layout& layout = place.layout;
    if (made.dtype() != layout.dtype || made.sizes() != layout.shape) {
      throw_message(TENON_ERROR_RUNTIME,
                    {"it gave a ", shape_text(made.dtype(), made.shape()),
                     ", and its shape rule a ", shape_text(layout.dtype, list(layout.shape))});
    }
    if (layout.count() == 0) return;
    copy_elements(alias_tensor(over(*place.memory, layout.dtype), list(layout.shape),
                               list(layout.strides), 0),
                  made);
  }

  const tenon_op* op_ = nullptr;
  HeldCall call_;
  bool elementwise_ = false;
  int64_t result_count_ = 0;
  int64_t index_ = -1;
  std::vector<Operand> operands_;
  std::vector<Tensor> given_;  // in the call alone: the caller's handles
  std::vector<Argument> arguments_;
  std::vector<std::vector<tenon_tensor*>> handles_;
  std::vector<Made> made_;
};

}  // namespace detail

// A handler that runs each op by the kernels of the CPU, in memory that the driver maps: later, where
// the instance has a queue and the shapes of the results are known before, else at once.
template <class D>
Results run_mapped(const Call& call) {
  if (Results later = detail::LaterCall<D>::queue(call); !later.declined()) return later;
  const tenon_call& given = *call.handle();
  detail::Mapped<D> mapped;
  std::vector<tenon_value> values(given.arguments, given.arguments + given.argument_count);
  std::vector<Tensor> owned;
  std::vector<std::vector<tenon_tensor*>> lists(values.size());
  const auto replaced = [&](tenon_tensor* tensor) {
    return tensor == nullptr ? nullptr
                             : owned.emplace_back(mapped.plain(Tensor::borrow(tensor))).handle();
  };
  for (size_t i = 0; i < values.size(); ++i) {
    tenon_value& value = values[i];
    if (value.tag == TENON_VALUE_TENSOR) {
      value.as.tensor = replaced(value.as.tensor);
    } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k) lists[i].push_back(replaced(value.as.tensors[k]));
      value.as.tensors = lists[i].data();
    }
  }
  Results results = Results::of_count(tenon::service::ops().result_count(given.op));
  tenon::detail::check(tenon::service::ops().call, given.op, values.data(), given.argument_count,
                       results.slots());
  results.transform([&](const Tensor& made) { return mapped.result(made); });
  return results;
}

}  // namespace device
TENON_NAMESPACE_END
