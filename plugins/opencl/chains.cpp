#include "opencl/chains.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "opencl/operands.hpp"

namespace tenon_opencl {

namespace {

constexpr size_t kMostCalls = 16;
// Saved bytes that are worth a compilation, and those that one queued kernel is worth.
constexpr int64_t kWorthCompiling = int64_t{1} << 30, kKernelBytes = 16384;

int64_t bytes_of(const ChainCall& call) { return call.count * tenon::element_size(call.type); }
// Whether two ranges of as many bytes overlap without being the same.
bool crosses(const void* a, const void* b, int64_t bytes) {
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  return x != y && x < y + bytes && y < x + bytes;
}

}  // namespace

bool Chains::joins(const ChainCall& call) const {
  if (calls_.empty()) return true;
  const ChainCall& first = calls_.front();
  if (calls_.size() >= kMostCalls || first.count != call.count || first.type != call.type)
    return false;
  const int64_t bytes = bytes_of(call);
  const auto apart = [&](const void* written, const void* other) {
    return other == nullptr || !crosses(written, other, bytes);
  };
  return std::all_of(calls_.begin(), calls_.end(), [&](const ChainCall& before) {
    return apart(before.result, call.x.data) && apart(before.result, call.y.data) &&
           apart(before.result, call.result) && apart(call.result, before.x.data) &&
           apart(call.result, before.y.data);
  });
}

void Chains::add(const ChainCall& call) {
  const std::lock_guard lock(mutex_);
  if (!joins(call)) flush_locked();
  // Memory that is written again is no longer that of a tensor that is gone.
  for (size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].result == call.result) freed_[i] = true;
  calls_.push_back(call);
  freed_.push_back(false);
  waiting_.store(true, std::memory_order_release);
}

void Chains::forget(const void* data, int64_t bytes) noexcept {
  if (!waiting_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  const auto* first = static_cast<const char*>(data);
  for (size_t i = 0; i < calls_.size(); ++i) {
    const auto* result = static_cast<const char*>(calls_[i].result);
    if (result >= first && result < first + bytes) freed_[i] = true;
  }
}

void Chains::flush_calls() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

// Other threads that flush meanwhile wait until the calls are queued: one may be about to read them.
void Chains::flush_locked() {
  const std::vector<ChainCall> calls = std::exchange(calls_, {});
  const std::vector<bool> freed = std::exchange(freed_, {});
  struct Done {
    std::atomic<bool>& waiting;
    ~Done() { waiting.store(false, std::memory_order_release); }
  } const done{waiting_};
  if (!calls.empty()) queue(calls, freed);
}

// Values of one pass: memory that is read before it is written, and results, of which the last one of each
// memory is written.
struct Chains::Plan {
  std::vector<const void*> reads;
  std::vector<size_t> writes;  // calls
  std::vector<double> numbers;
  std::string key;  // decides the text
  std::string body;

  Plan(const std::vector<ChainCall>& calls, const std::vector<bool>& freed) {
    std::map<const void*, size_t> latest;  // calls by the memory of their results
    const auto value = [&](const ChainOperand& operand) {
      if (operand.data == nullptr) return number(operand.number);
      const auto found = latest.find(operand.data);
      if (found != latest.end()) return "v" + std::to_string(found->second);
      const auto known = std::find(reads.begin(), reads.end(), operand.data);
      const auto at = known - reads.begin();
      if (known == reads.end()) reads.push_back(operand.data);
      return "e" + std::to_string(at);
    };
    for (size_t i = 0; i < calls.size(); ++i) {
      const ChainCall& call = calls[i];
      body += "    const VT v" + std::to_string(i) + " = " + function_name(call.op) + "(" +
              value(call.x);
      if (call.operands == 2) body += ", " + value(call.y);
      const int given = numbers_of(call.op), taken = call.operands == 2 ? 1 : 3;
      for (int k = 0; k < taken; ++k)
        body += k < given ? ", " + number_name(call.numbers[k]) : ", 0";
      body += ");\n";
      latest[call.result] = i;
    }
    for (size_t i = 0; i < calls.size(); ++i)
      if (!freed[i] && latest[calls[i].result] == i) writes.push_back(i);
    key = std::string(calls.front().type == tenon::f64 ? "d" : "f") + body;
    for (const size_t i : writes) key += "w" + std::to_string(i);
  }

  std::string text(const std::vector<ChainCall>& calls) const {
    std::string source = chain_helpers(calls.front().type);
    std::set<int> ops;
    for (const ChainCall& call : calls) {
      if (ops.insert(call.op).second) source += function_text(call.op);
    }
    source += "typedef struct { Dims d; T n[" + std::to_string(most_numbers()) +
              "]; } Given;\n__kernel void chain(Given g";
    for (size_t i = 0; i < reads.size(); ++i) source += ", __global const T* r" + std::to_string(i);
    for (const size_t i : writes) source += ", __global T* w" + std::to_string(i);
    source += ") {\n  EACH_VECTOR(\n";
    for (size_t i = 0; i < reads.size(); ++i) {
      const std::string place = std::to_string(i);
      source.append("    const VT e").append(place).append(" = fetch(r").append(place);
      source += " + i, 1, count);\n";
    }
    source += body;
    for (const size_t i : writes) {
      const std::string place = std::to_string(i);
      source.append("    put(w").append(place).append(" + i, 1, count, v").append(place);
      source += ");\n";
    }
    return source + "  )\n}\n";
  }
  // As the kernel gets them.
  template <class T>
  std::vector<unsigned char> given(const Dims& dims) const {
    constexpr size_t alignment = sizeof(cl_ulong);
    const size_t size = sizeof dims + most_numbers() * sizeof(T);
    std::vector<unsigned char> bytes((size + alignment - 1) / alignment * alignment);
    std::memcpy(bytes.data(), &dims, sizeof dims);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto one = static_cast<T>(numbers[i]);
      std::memcpy(bytes.data() + sizeof dims + i * sizeof one, &one, sizeof one);
    }
    return bytes;
  }

 private:
  size_t most_numbers() const { return std::max<size_t>(numbers.size(), 1); }
  std::string number_name(double given) {
    numbers.push_back(given);
    return "g.n[" + std::to_string(numbers.size() - 1) + "]";
  }
  std::string number(double given) { return "(VT)(" + number_name(given) + ")"; }
};

void Chains::queue(const std::vector<ChainCall>& calls, const std::vector<bool>& freed) {
  const auto queue_each = [&] {
    for (const ChainCall& call : calls) queue_call(device_, call);
  };
  if (calls.size() == 1) return queue_each();
  Plan plan(calls, freed);
  const ChainCall& first = calls.front();
  Pass& pass = passes_[plan.key];
  if (pass.text.empty()) {
    pass.text = plan.text(calls);
    pass.is_built = device_.has_text(first.type, pass.text);
  }
  if (!pass.is_built) {
    const auto size = static_cast<int64_t>(calls.size());
    const int64_t read_again = size - static_cast<int64_t>(plan.reads.size()),
                  unwritten = size - static_cast<int64_t>(plan.writes.size());
    pass.saved +=
        std::max<int64_t>(read_again + unwritten, 0) * bytes_of(first) + (size - 1) * kKernelBytes;
    if (pass.saved < kWorthCompiling) return queue_each();
    pass.is_built = true;
  }
  Dims dims;
  dims.inner = number(first.count);
  const size_t items = row_items(dims, device_.lanes(first.type) * device_.vectors());
  device_.run_text(pass.kernel, first.type, pass.text, items, kGroup, [&](const auto& set) {
    cl_uint place = 0;
    with_floating(first.type, [&](auto zero) {
      const std::vector<unsigned char> given = plan.given<decltype(zero)>(dims);
      set(place++, Bytes{given.data(), given.size()});
    });
    for (const void* read : plan.reads) set(place++, Memory{read});
    for (const size_t i : plan.writes) set(place++, Memory{calls[i].result});
  });
}

}  // namespace tenon_opencl
