// Reads the zip files of torch.save: storages as memory, tensors as views of it, and names from the
// dictionaries and lists that hold them.
#include "torch_file.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <tenon/detail/parameters.hpp>
#include <tenon/text.hpp>

#include "byte_order.hpp"
#include "file_limits.hpp"
#include "input_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "pickle.hpp"
#include "zip_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

using Kind = PickledValue::Kind;

constexpr std::string_view kPickleName = "/data.pkl";
// torch.save compresses nothing. A file that was packed again may hold this many times its size.
constexpr int64_t kMostUnpacked = 20;
constexpr int64_t kMostPickle = int64_t{256} << 20;
constexpr int kDeepestValue = 64;  // dictionaries and lists within each other

// data.pkl in the one folder of the file, whose name is the caller's choice.
bool is_pickle(std::string_view name) {
  const size_t folder = std::min(name.find('/'), name.size());
  return name.substr(folder) == kPickleName;
}

// Memory of a storage; the pointer keeps what owns it.
struct Storage {
  std::shared_ptr<char> memory;
  int64_t bytes = 0;
  tenon_dtype swapped = TENON_DTYPE_NONE;  // its bytes were turned around for this dtype
  // All of it as elements of a dtype: tensors of it are views of this one, and see its changes.
  std::vector<std::pair<tenon_dtype, Tensor>> whole;
};

class TorchReader {
 public:
  TorchReader(const std::string& path, Access access) : file_(path), access_(access) {}

  TorchFile read() {
    refuse_older();
    find_members();
    Pickle pickle = read_pickle(zip_contents(file_, pickle_member()));
    pickle_ = &pickle;
    storages_.resize(pickle.storages.size());
    collect(pickle.root, "", 0);
    return std::move(result_);
  }

 private:
  // Until 1.5 the file was a row of pickles, which begins with a number of 10 bytes.
  void refuse_older() const {
    static constexpr std::string_view begin{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9", 9};
    char head[begin.size()] = {};
    if (file_.size() < static_cast<int64_t>(begin.size())) return;
    file_.read_at(head, sizeof head, 0);
    if (std::string_view(head, sizeof head) == begin)
      throw Fault(
          "this is the format of PyTorch before 1.6: load it with PyTorch and save it again");
  }

  void find_members() {
    constexpr int64_t least = int64_t{16} << 20;
    const int64_t most = std::max(kMostUnpacked * file_.size(), least);
    int64_t size = 0;
    for (ZipMember& member : read_zip(file_)) {
      if (member.size > most || (size += member.size) > most)
        throw Fault(
            format_text("its members unpack to more than {} times its size, which no "
                        "checkpoint does",
                        kMostUnpacked));
      if (is_pickle(member.name)) {
        if (folder_) throw Fault("there are two pickles in the file");
        folder_ = member.name.substr(0, member.name.find('/') + 1);
      }
      members_.emplace(member.name, std::move(member));
    }
    if (!folder_) throw Fault("it holds no data.pkl, which torch.save writes");
    if (find("constants.pkl") != nullptr)
      throw Fault("this is a TorchScript program: torch.save() the state_dict() of the module");
    read_byte_order();
  }
  const ZipMember* find(const std::string& name) const {
    const auto found = members_.find(*folder_ + name);
    return found == members_.end() ? nullptr : &found->second;
  }
  const ZipMember& pickle_member() const {
    const ZipMember& member = *find("data.pkl");
    if (member.size > kMostPickle)
      throw Fault(
          format_text("its pickle has {} bytes, at most {} are read", member.size, kMostPickle));
    return member;
  }
  void read_byte_order() {
    const ZipMember* const member = find("byteorder");
    if (member == nullptr) return;
    constexpr int64_t longest = 16;
    const std::string order = member->size > longest ? "" : zip_contents(file_, *member);
    big_endian_ = order == "big";
    if (order != "little" && !big_endian_)
      throw Fault("its byteorder is " + quoted_text(order) + "; little and big are read");
  }

  // ---- storages and tensors ----

  std::shared_ptr<char> mapped(const ZipMember& member) {
    if (!mapping_) mapping_ = file_.map();
    return {mapping_, mapping_.get() + member.data};
  }
  std::shared_ptr<char> copied(const ZipMember& member) const {
    const auto bytes = std::make_shared<Tensor>(empty_tensor({member.size}, u8));
    std::shared_ptr<char> memory(bytes, static_cast<char*>(bytes->view_record().data));
    ZipContents contents(file_, member);
    contents.read(memory.get(), member.size);
    contents.finish();
    return memory;
  }

  Storage& storage(size_t at, tenon_dtype dtype) {
    Storage& storage = storages_[at];
    if (storage.memory) return storage;
    const PickledStorage& pickled = pickle_->storages[at];
    const std::string name = "data/" + pickled.key;
    const ZipMember* const member = find(name);
    if (member == nullptr) throw Fault("there is no " + quoted_text(name) + ", its storage");
    const int64_t width =
        pickled.dtype == TENON_DTYPE_NONE ? 1 : element_size(static_cast<DType>(pickled.dtype));
    if (member->size % width != 0 || member->size / width != pickled.count)
      throw Fault(format_text("its storage {} has {} bytes, {} elements of {} bytes were saved",
                              quoted_text(name), member->size, pickled.count, width));
    constexpr int64_t widest = 16;
    const bool maps = access_ == Access::Map && !member->deflated && !big_endian_ &&
                      member->data % widest == 0 && member->size > 0;
    storage.bytes = member->size;
    storage.memory = maps ? mapped(*member) : copied(*member);
    if (!big_endian_) return storage;
    swap_bytes(storage.memory.get(), storage.bytes, number_bytes(dtype));
    storage.swapped = dtype;
    return storage;
  }

  const Tensor& whole(size_t at, tenon_dtype dtype) {
    Storage& memory = storage(at, dtype);
    if (memory.swapped != TENON_DTYPE_NONE && number_bytes(memory.swapped) != number_bytes(dtype))
      throw Fault("it shares a storage of big-endian bytes with a tensor of another dtype");
    for (const auto& [known, tensor] : memory.whole) {
      if (known == dtype) return tensor;
    }
    auto kept = std::make_unique<std::shared_ptr<char>>(memory.memory);
    const int64_t count = memory.bytes / element_size(static_cast<DType>(dtype)), step = 1;
    memory.whole.emplace_back(
        dtype, wrap_buffer(memory.memory.get(), IntList(&count, 1), IntList(&step, 1),
                           static_cast<DType>(dtype), kept.get(),
                           [](void* owner) { delete static_cast<std::shared_ptr<char>*>(owner); }));
    static_cast<void>(kept.release());
    return memory.whole.back().second;
  }
  Tensor tensor(const PickledTensor& pickled) {
    const auto rank = static_cast<int64_t>(pickled.shape.size());
    return alias_tensor(whole(pickled.storage, pickled.dtype), IntList(pickled.shape.data(), rank),
                        IntList(pickled.strides.data(), rank), pickled.offset);
  }

  // ---- names ----

  std::string key_text(size_t at) const {
    const PickledValue& key = pickle_->values[at];
    if (key.kind == Kind::text) return pickle_->texts[static_cast<size_t>(key.integer)];
    if (key.kind == Kind::integer) return std::to_string(key.integer);
    throw Fault("a dictionary has a key that is neither a text nor an integer");
  }

  void collect(size_t at, const std::string& name, int depth) {
    const PickledValue& value = pickle_->values[at];
    const std::string before = name.empty() ? "" : name + ".";
    if (depth > kDeepestValue)
      throw Fault(format_text(
          "its dictionaries and lists are more than {} deep, or hold themselves", kDeepestValue));
    count_bytes(sizeof(std::string) + name.size());
    switch (value.kind) {
      case Kind::dictionary:
        for (const auto& [key, item] : pickle_->dictionaries[static_cast<size_t>(value.integer)])
          collect(item, before + key_text(key), depth + 1);
        return;
      case Kind::sequence: {
        const auto& list = pickle_->sequences[static_cast<size_t>(value.integer)];
        if (auto plain = plain_list(list)) return add_value(std::move(*plain), name);
        for (size_t i = 0; i < list.size(); ++i)
          collect(list[i], before + std::to_string(i), depth + 1);
        return;
      }
      default:
        return add_leaf(value, name);
    }
  }

  void add_name(const std::string& name) {
    if (!lib::is_utf8(name)) throw Fault("a name is not valid UTF-8: " + quoted_text(name));
    if (!names_.insert(name).second) throw Fault("two values have the name " + quoted_text(name));
    if (static_cast<int64_t>(names_.size()) > most_tensors(file_.size()))
      throw Fault("it has more names than a file of its size needs");
  }
  void add_value(Value value, const std::string& name) {
    add_name(name);
    result_.values.emplace_back(name, std::move(value));
  }
  void add_leaf(const PickledValue& value, const std::string& name) {
    if (value.kind != Kind::tensor) return add_value(plain(value, name), name);
    add_name(name);
    try {
      const auto& pickled = pickle_->tensors[static_cast<size_t>(value.integer)];
      result_.tensors.emplace_back(name, tensor(pickled));
    } catch (const Fault& fault) {
      throw Fault("tensor " + quoted_text(name) + ": " + fault.what());
    } catch (const ValueError& error) {
      throw Fault("tensor " + quoted_text(name) + ": " + error.what());
    }
  }

  const std::string& text(const PickledValue& value) const {
    return pickle_->texts[static_cast<size_t>(value.integer)];
  }
  Value plain(const PickledValue& value, const std::string& name) {
    Value result;
    switch (value.kind) {
      case Kind::none:
        break;
      case Kind::boolean:
        detail::give_result(value.integer != 0, result.slot());
        break;
      case Kind::integer:
        detail::give_result(value.integer, result.slot());
        break;
      case Kind::number:
        detail::give_result(value.number, result.slot());
        break;
      case Kind::text:
        count_bytes(text(value).size());
        detail::give_result(text(value), result.slot());
        break;
      default:
        throw Fault(quoted_text(name) + " is a storage or a class without a tensor");
    }
    return result;
  }
  // A list of numbers or of texts as one value; none for any other list.
  std::optional<Value> plain_list(const std::vector<size_t>& list) {
    const auto all = [&](Kind kind, Kind other) {
      return std::all_of(list.begin(), list.end(), [&](size_t at) {
        return pickle_->values[at].kind == kind || pickle_->values[at].kind == other;
      });
    };
    if (list.empty()) return std::nullopt;
    Value result;
    count_bytes(list.size() * sizeof(double));
    if (all(Kind::integer, Kind::integer)) {
      std::vector<int64_t> integers;
      integers.reserve(list.size());
      for (const size_t at : list) integers.push_back(pickle_->values[at].integer);
      detail::give_result(integers, result.slot());
    } else if (all(Kind::integer, Kind::number)) {
      std::vector<double> numbers;
      for (const size_t at : list) {
        const PickledValue& value = pickle_->values[at];
        numbers.push_back(value.kind == Kind::number ? value.number
                                                     : static_cast<double>(value.integer));
      }
      detail::give_result(numbers, result.slot());
    } else if (all(Kind::text, Kind::text)) {
      std::vector<std::string> texts;
      for (const size_t at : list)
        count_bytes(texts.emplace_back(text(pickle_->values[at])).size());
      detail::give_result(texts, result.slot());
    } else {
      return std::nullopt;
    }
    return result;
  }
  // A pickle may name one text, list or dictionary in many places, each of which is copied or searched.
  void count_bytes(size_t copied) {
    copied_bytes_ += static_cast<int64_t>(copied);
    if (copied_bytes_ > kMostHeader + file_.size())
      throw Fault("it has more names and texts than a file of its size needs");
  }

  InputFile file_;
  Access access_;
  std::optional<std::string> folder_;
  std::unordered_map<std::string, ZipMember> members_;
  bool big_endian_ = false;
  const Pickle* pickle_ = nullptr;
  std::shared_ptr<char> mapping_;
  std::vector<Storage> storages_;
  std::unordered_set<std::string> names_;
  int64_t copied_bytes_ = 0;  // bytes of names, texts and lists
  TorchFile result_;
};

}  // namespace

namespace {

[[noreturn]] void refuse_torch(const std::string& path, const Fault& fault) {
  fault.raise(
      format_text("{} is not a checkpoint that can be read: {}", quote(path), fault.what()));
}

}  // namespace

bool is_torch(const std::string& path) {
  try {
    const InputFile file(path);
    const std::vector<ZipMember> members = read_zip(file);
    return std::any_of(members.begin(), members.end(),
                       [](const ZipMember& member) { return is_pickle(member.name); });
  } catch (const Fault& fault) {
    refuse_torch(path, fault);
  }
}

TorchFile read_torch(const std::string& path, Access access) {
  try {
    return TorchReader(path, access).read();
  } catch (const Fault& fault) {
    refuse_torch(path, fault);
  }
}

TorchFile load_torch(const std::string& path) { return read_torch(path, Access::Read); }
TorchFile map_torch(const std::string& path) { return read_torch(path, Access::Map); }

}  // namespace state

TENON_NAMESPACE_END
