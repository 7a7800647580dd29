// A stack machine for the opcodes that torch.save writes. Globals are looked up in a table; nothing is
// imported or called.
#include "pickle.hpp"

#include <cstring>
#include <unordered_map>

#include <tenon/abi/tensor.h>

TENON_NAMESPACE_BEGIN

namespace state {

namespace {

using Kind = PickledValue::Kind;

// A value of one byte takes some 50 bytes here: this bounds the memory for a hostile pickle.
constexpr size_t kMostValues = size_t{1} << 22;

enum class Meaning : uint8_t {
  ordered_dict,
  size,
  tensor_v2,
  tensor_v3,
  parameter,
  storage_type,
  dtype
};

struct Global {
  std::string_view module, name;
  Meaning meaning;
  tenon_dtype dtype;
};

constexpr Global kGlobals[] = {
    {"collections", "OrderedDict", Meaning::ordered_dict, TENON_DTYPE_NONE},
    {"torch", "Size", Meaning::size, TENON_DTYPE_NONE},
    {"torch._utils", "_rebuild_tensor_v2", Meaning::tensor_v2, TENON_DTYPE_NONE},
    {"torch._utils", "_rebuild_tensor_v3", Meaning::tensor_v3, TENON_DTYPE_NONE},
    {"torch._utils", "_rebuild_parameter", Meaning::parameter, TENON_DTYPE_NONE},
    {"torch.storage", "UntypedStorage", Meaning::storage_type, TENON_DTYPE_NONE},
    {"torch", "BoolStorage", Meaning::storage_type, TENON_BOOL},
    {"torch", "ByteStorage", Meaning::storage_type, TENON_U8},
    {"torch", "CharStorage", Meaning::storage_type, TENON_I8},
    {"torch", "ShortStorage", Meaning::storage_type, TENON_I16},
    {"torch", "IntStorage", Meaning::storage_type, TENON_I32},
    {"torch", "LongStorage", Meaning::storage_type, TENON_I64},
    {"torch", "HalfStorage", Meaning::storage_type, TENON_F16},
    {"torch", "BFloat16Storage", Meaning::storage_type, TENON_BF16},
    {"torch", "FloatStorage", Meaning::storage_type, TENON_F32},
    {"torch", "DoubleStorage", Meaning::storage_type, TENON_F64},
    {"torch", "ComplexFloatStorage", Meaning::storage_type, TENON_C64},
    {"torch", "ComplexDoubleStorage", Meaning::storage_type, TENON_C128},
    {"torch", "bool", Meaning::dtype, TENON_BOOL},
    {"torch", "uint8", Meaning::dtype, TENON_U8},
    {"torch", "int8", Meaning::dtype, TENON_I8},
    {"torch", "int16", Meaning::dtype, TENON_I16},
    {"torch", "int32", Meaning::dtype, TENON_I32},
    {"torch", "int64", Meaning::dtype, TENON_I64},
    {"torch", "uint16", Meaning::dtype, TENON_U16},
    {"torch", "uint32", Meaning::dtype, TENON_U32},
    {"torch", "uint64", Meaning::dtype, TENON_U64},
    {"torch", "float16", Meaning::dtype, TENON_F16},
    {"torch", "bfloat16", Meaning::dtype, TENON_BF16},
    {"torch", "float32", Meaning::dtype, TENON_F32},
    {"torch", "float64", Meaning::dtype, TENON_F64},
    {"torch", "float8_e4m3fn", Meaning::dtype, TENON_F8_E4M3},
    {"torch", "float8_e5m2", Meaning::dtype, TENON_F8_E5M2},
    {"torch", "float8_e8m0fnu", Meaning::dtype, TENON_F8_E8M0},
    {"torch", "complex64", Meaning::dtype, TENON_C64},
    {"torch", "complex128", Meaning::dtype, TENON_C128}};

constexpr const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return "a bool";
    case Kind::integer:
      return "an integer";
    case Kind::number:
      return "a number";
    case Kind::text:
      return "a text";
    case Kind::sequence:
      return "a list or tuple";
    case Kind::dictionary:
      return "a dictionary";
    case Kind::tensor:
      return "a tensor";
    case Kind::storage:
      return "a storage";
    case Kind::global:
      return "a class or function";
  }
  return "";
}

std::string byte_text(unsigned char byte) {
  constexpr const char* digits = "0123456789abcdef";
  return std::string("0x") + digits[byte >> 4] + digits[byte & 15];
}

class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  Pickle read() {
    while (!stopped_) step();
    return std::move(pickle_);
  }

 private:
  using Positions = std::vector<size_t>;

  // The opcode that is being carried out is the place of a fault.
  [[noreturn]] void fail(const std::string& fault) const {
    throw Fault("the pickle at byte " + std::to_string(opcode_at_) + ": " + fault);
  }
  [[noreturn]] void refuse(const char* what) const {
    throw Fault("the pickle at byte " + std::to_string(opcode_at_) + " has the opcode " +
                byte_text(static_cast<unsigned char>(bytes_[opcode_at_])) + ", which " + what +
                "; save a dictionary of tensors, numbers and texts, such as a state_dict()");
  }

  // ---- bytes ----

  std::string_view take(size_t count) {
    if (count > bytes_.size() - at_)
      throw Fault("the pickle ends in the opcode at byte " + std::to_string(opcode_at_), true);
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  uint64_t take_number(size_t count) {
    const std::string_view taken = take(count);
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;) number = number << 8 | static_cast<unsigned char>(taken[i]);
    return number;
  }
  std::string_view take_line() {
    const size_t end = bytes_.find('\n', at_);
    const std::string_view line = take(end == bytes_.npos ? bytes_.size() : end - at_);
    take(1);
    return line;
  }
  double take_float() {
    const std::string_view taken = take(8);
    uint64_t bits = 0;
    for (const char byte : taken) bits = bits << 8 | static_cast<unsigned char>(byte);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  int64_t take_long(size_t count) {
    constexpr size_t most = 8;
    if (count > most)
      fail("an integer of " + std::to_string(count) + " bytes is beyond the range of i64");
    if (count == 0) return 0;
    uint64_t number = take_number(count);
    const size_t unused = 64 - 8 * count;
    number <<= unused;
    return static_cast<int64_t>(number) >> unused;
  }

  // ---- values ----

  static void count(size_t values) {
    if (values > kMostValues)
      throw Fault("the pickle has more than " + std::to_string(kMostValues) +
                  " values, the most that are read");
  }
  size_t add(PickledValue value) {
    count(pickle_.values.size() + 1);
    pickle_.values.push_back(value);
    return pickle_.values.size() - 1;
  }
  void push(PickledValue value) { stack_.push_back(add(value)); }
  void push(Kind kind, int64_t integer) { push({kind, integer, 0}); }
  template <class List, class Entry>
  void push(Kind kind, List& list, Entry&& entry) {
    push(kind, static_cast<int64_t>(list.size()));
    list.push_back(std::forward<Entry>(entry));
  }
  void push_sequence(Positions entries) {
    count(items_ += entries.size());
    push(Kind::sequence, pickle_.sequences, std::move(entries));
  }
  void push_text(std::string_view text) { push(Kind::text, pickle_.texts, std::string(text)); }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  size_t pop() {
    if (stack_.size() <= floor()) fail("it takes a value where there is none");
    const size_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Positions pop(size_t count) {
    if (stack_.size() - floor() < count) fail("it takes a value where there is none");
    Positions values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }
  Positions pop_to_mark() {
    if (marks_.empty()) fail("it takes values down to a mark where there is none");
    Positions values = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }
  size_t top() const {
    if (stack_.size() <= floor()) fail("it takes a value where there is none");
    return stack_.back();
  }

  const PickledValue& value(size_t at) const { return pickle_.values[at]; }
  // The value, which must be of this kind.
  const PickledValue& expect(size_t at, Kind kind) const {
    const PickledValue& found = value(at);
    if (found.kind != kind)
      fail(std::string("found ") + kind_text(found.kind) + ", expected " + kind_text(kind));
    return found;
  }
  size_t index(size_t at, Kind kind) const { return static_cast<size_t>(expect(at, kind).integer); }
  Positions& sequence(size_t at) { return pickle_.sequences[index(at, Kind::sequence)]; }
  auto& dictionary(size_t at) { return pickle_.dictionaries[index(at, Kind::dictionary)]; }
  const std::string& text(size_t at) const { return pickle_.texts[index(at, Kind::text)]; }
  const Global& global(size_t at) const { return kGlobals[index(at, Kind::global)]; }
  // Sizes or strides.
  std::vector<int64_t> integers(size_t at) {
    if (sequence(at).size() > TENON_MAX_RANK)
      fail("a tensor has more than " + std::to_string(TENON_MAX_RANK) + " dimensions");
    std::vector<int64_t> numbers;
    count(items_ += sequence(at).size());
    for (const size_t entry : sequence(at)) numbers.push_back(expect(entry, Kind::integer).integer);
    return numbers;
  }
  // Arguments of a call, of which there must be so many.
  const Positions& arguments(size_t at, size_t least, size_t most, const Global& function) {
    const Positions& list = sequence(at);
    if (list.size() < least || list.size() > most)
      fail(std::string(function.name) + " has " + std::to_string(list.size()) + " arguments");
    return list;
  }

  // ---- opcodes ----

  void step() {
    opcode_at_ = at_;
    const auto opcode = static_cast<unsigned char>(take(1)[0]);
    switch (opcode) {
      case 0x80: {  // PROTO
        const uint64_t protocol = take_number(1);
        if (protocol < 2 || protocol > 5)
          fail("protocol " + std::to_string(protocol) + " is not read; 2 to 5 are");
        return;
      }
      case 0x95:  // FRAME
        take(8);
        return;
      case '.':
        pickle_.root = pop();
        stopped_ = true;
        return;
      case '(':
        count(marks_.size() + 1);
        marks_.push_back(stack_.size());
        return;
      case 'N':
        return push(Kind::none, 0);
      case 0x88:
      case 0x89:
        return push(Kind::boolean, opcode == 0x88 ? 1 : 0);
      case 'J':
        return push(Kind::integer, static_cast<int32_t>(take_number(4)));
      case 'K':
        return push(Kind::integer, static_cast<int64_t>(take_number(1)));
      case 'M':
        return push(Kind::integer, static_cast<int64_t>(take_number(2)));
      case 0x8a:  // LONG1
        return push(Kind::integer, take_long(take_number(1)));
      case 'G':
        return push({Kind::number, 0, take_float()});
      case 'X':
        return push_text(take(take_number(4)));
      case 0x8c:  // SHORT_BINUNICODE
        return push_text(take(take_number(1)));
      case 0x8d:  // BINUNICODE8
        return push_text(take(take_number(8)));
      case ')':
      case ']':
        return push_sequence({});
      case 0x85:
      case 0x86:
      case 0x87:
        return push_sequence(pop(opcode - size_t{0x84}));
      case 't':
      case 'l':
        return push_sequence(pop_to_mark());
      case 'a': {
        const size_t entry = pop();
        count(++items_);
        sequence(top()).push_back(entry);
        return;
      }
      case 'e': {
        const Positions entries = pop_to_mark();
        Positions& list = sequence(top());
        count(items_ += entries.size());
        list.insert(list.end(), entries.begin(), entries.end());
        return;
      }
      case '}':
        return push_dictionary({});
      case 'd':
        return push_dictionary(pop_to_mark());
      case 's':
        return set_items(pop(2));
      case 'u':
        return set_items(pop_to_mark());
      case 'q':
      case 'r':
        return remember(take_number(opcode == 'q' ? 1 : 4));
      case 0x94:  // MEMOIZE
        return remember(memo_.size());
      case 'h':
      case 'j':
        return recall(take_number(opcode == 'h' ? 1 : 4));
      case 'c': {
        const std::string_view module = take_line();
        return push_global(module, take_line());
      }
      case 0x93: {  // STACK_GLOBAL
        const Positions names = pop(2);
        return push_global(text(names[0]), text(names[1]));
      }
      case 'Q':
        return push_storage(pop());
      case 'R': {
        const Positions call = pop(2);
        return reduce(call[0], call[1]);
      }
      case 'b': {  // BUILD: the attribute _metadata of a state_dict, versions of its modules
        pop();
        expect(top(), Kind::dictionary);
        return;
      }
      case 'i':
      case 'o':
      case 0x81:
      case 0x92:
        refuse("makes an object of a class");
      case 0x82:
      case 0x83:
      case 0x84:
        refuse("makes an object of a registered extension");
      case 'B':
      case 'C':
      case 0x8e:
      case 0x96:
        refuse("holds bytes");
      default:
        refuse("no checkpoint needs");
    }
  }

  void push_dictionary(const Positions& entries) {
    push(Kind::dictionary, pickle_.dictionaries, std::vector<std::pair<size_t, size_t>>());
    if (!entries.empty()) set_items(entries);
  }
  void set_items(const Positions& entries) {
    if (entries.size() % 2 != 0) fail("a key of a dictionary has no value");
    auto& items = dictionary(top());
    count(items_ += entries.size() / 2);
    for (size_t i = 0; i < entries.size(); i += 2) items.emplace_back(entries[i], entries[i + 1]);
  }

  void remember(uint64_t place) {
    memo_[place] = top();
    count(memo_.size());
  }
  void recall(uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("it names the value " + std::to_string(place) + ", not there");
    count(stack_.size() + 1);
    stack_.push_back(found->second);
  }

  void push_global(std::string_view module, std::string_view name) {
    for (const Global& known : kGlobals) {
      if (known.module == module && known.name == name)
        return push(Kind::global, &known - kGlobals);
    }
    constexpr size_t longest = 80;
    throw Fault(
        "the pickle at byte " + std::to_string(opcode_at_) + " names " +
        quoted_text(std::string(module) + "." + std::string(name), longest) +
        ", which is not read because it may run code; save a dictionary of tensors, numbers "
        "and texts, such as a state_dict()");
  }

  // The persistent id of a storage: ("storage", type, key, location, elements).
  void push_storage(size_t id) {
    const Positions& parts = sequence(id);
    if (parts.size() != 5 || text(parts[0]) != "storage")
      fail("a persistent id is not one of a storage");
    const Global& type = global(parts[1]);
    if (type.meaning != Meaning::storage_type)
      fail(quoted_text(type.name) + " is not a type of storage");
    PickledStorage storage{text(parts[2]), type.dtype, expect(parts[4], Kind::integer).integer};
    if (storage.count < 0)
      fail("the storage " + quoted_text(storage.key) + " has a negative number of elements");
    const auto [found, is_new] = storages_.emplace(storage.key, pickle_.storages.size());
    if (is_new) {
      pickle_.storages.push_back(std::move(storage));
    } else {
      const PickledStorage& first = pickle_.storages[found->second];
      if (first.dtype != storage.dtype || first.count != storage.count)
        fail("the storage " + quoted_text(storage.key) + " has two types or sizes");
    }
    push(Kind::storage, static_cast<int64_t>(found->second));
  }

  void reduce(size_t function, size_t call) {
    const Global& called = global(function);
    switch (called.meaning) {
      case Meaning::ordered_dict: {
        push_dictionary({});
        const Positions& list = arguments(call, 0, 1, called);
        if (list.empty()) return;
        for (const size_t pair : sequence(list[0])) {
          const Positions& entry = sequence(pair);
          if (entry.size() != 2) fail("an item of an OrderedDict is not a pair");
          set_items(entry);
        }
        return;
      }
      case Meaning::size:
        return push_sequence(sequence(arguments(call, 1, 1, called)[0]));
      case Meaning::parameter:
        return stack_.push_back(expect_at(arguments(call, 3, 3, called)[0], Kind::tensor));
      case Meaning::tensor_v2:
        return push_tensor(arguments(call, 6, 7, called), called);
      case Meaning::tensor_v3:
        return push_tensor(arguments(call, 7, 8, called), called);
      case Meaning::storage_type:
      case Meaning::dtype:
        fail(quoted_text(called.name) + " is called");
    }
  }
  size_t expect_at(size_t at, Kind kind) const {
    expect(at, kind);
    return at;
  }

  // (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata])
  void push_tensor(const Positions& list, const Global& function) {
    PickledTensor tensor;
    tensor.storage = index(list[0], Kind::storage);
    tensor.offset = expect(list[1], Kind::integer).integer;
    tensor.shape = integers(list[2]);
    tensor.strides = integers(list[3]);
    if (tensor.shape.size() != tensor.strides.size())
      fail("a tensor has " + std::to_string(tensor.shape.size()) + " sizes and " +
           std::to_string(tensor.strides.size()) + " strides");
    const bool typed = function.meaning == Meaning::tensor_v2;
    tensor.dtype = pickle_.storages[tensor.storage].dtype;
    if (!typed) {
      const Global& dtype = global(list[6]);
      if (dtype.meaning != Meaning::dtype) fail(quoted_text(dtype.name) + " is not a dtype");
      tensor.dtype = dtype.dtype;
    } else if (tensor.dtype == TENON_DTYPE_NONE) {
      fail("a tensor of a storage of bytes has no dtype");
    }
    // The metadata of a tensor may say that it is a conjugate or negative view.
    const size_t metadata = typed ? 6 : 7;
    if (list.size() > metadata && value(list[metadata]).kind != Kind::none &&
        !dictionary(list[metadata]).empty())
      fail("a tensor has metadata, such as of a conjugate view: save resolve_conj() of it");
    push(Kind::tensor, pickle_.tensors, std::move(tensor));
  }

  std::string_view bytes_;
  size_t at_ = 0, opcode_at_ = 0;
  size_t items_ = 0;  // items of dictionaries and lists, sizes of tensors; many may be one value
  bool stopped_ = false;
  Positions stack_, marks_;
  std::unordered_map<uint64_t, size_t> memo_;
  std::unordered_map<std::string, size_t> storages_;
  Pickle pickle_;
};

}  // namespace

Pickle read_pickle(std::string_view bytes) { return PickleReader(bytes).read(); }

}  // namespace state

TENON_NAMESPACE_END
