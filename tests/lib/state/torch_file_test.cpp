// Checkpoints of torch.save: what comes back, what is shared, and hostile files. The files in checkpoints/
// are written by the script beside them.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/state/module_file.hpp>
#include <tenon/state/torch_file.hpp>
#include <tenon/tenon.hpp>

#include "sdk/lib/state/zip_file.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using state::load_torch;
using state::map_torch;
using state::TorchFile;
using tenon_test::TemporaryFolder;
using namespace std::string_literals;

namespace {

std::string checkpoint(const std::string& name) { return TENON_CHECKPOINTS "/" + name + ".pt"; }

Tensor tensor_of(const TorchFile& file, const std::string& name) {
  for (const auto& [known, tensor] : file.tensors) {
    if (known == name) return tensor;
  }
  FAIL("no tensor is named " << name);
  return {};
}
const Value& value_of(const TorchFile& file, const std::string& name) {
  for (const auto& [known, value] : file.values) {
    if (known == name) return value;
  }
  FAIL("no value is named " << name);
  return file.values.front().second;
}
template <class T>
std::vector<T> numbers(const TorchFile& file, const std::string& name) {
  return tensor_of(file, name).to_vector<T>();
}
std::vector<std::string> names(const TorchFile& file) {
  std::vector<std::string> list;
  for (const auto& entry : file.tensors) list.push_back(entry.first);
  return list;
}

std::string fault(const std::string& path) {
  try {
    load_torch(path);
  } catch (const ValueError& error) {
    const std::string message = error.what();
    const std::string begin = "'" + path + "' is not a checkpoint that can be read: ";
    REQUIRE(message.substr(0, begin.size()) == begin);
    return message.substr(begin.size());
  }
  return "";
}

// A checkpoint of this pickle, whose one storage has 4 numbers of f32.
std::string zip_of(const std::string& pickle, bool deflate = false) {
  state::ZipWriter writer(deflate);
  writer.add("x/data.pkl", pickle);
  writer.add("x/data/0", std::string(16, '\0'));
  return writer.finish();
}
std::string fault_of_bytes(const std::string& bytes) {
  const TemporaryFolder folder;
  tenon_test::put_bytes(folder / "x.pt", bytes);
  return fault(folder / "x.pt");
}
std::string fault_of(const std::string& pickle) { return fault_of_bytes(zip_of(pickle)); }

std::string text(const std::string& characters) {
  const auto length = static_cast<char>(characters.size());
  return "X" + std::string{length, '\0', '\0', '\0'} + characters;
}
std::string integer(uint8_t number) { return {'K', static_cast<char>(number)}; }
std::string big(int64_t number) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &number, 8);
  return "\x8a\x08" + bytes;
}
std::string storage(const std::string& key = "0", const std::string& count = integer(4)) {
  return "(" + text("storage") + "ctorch\nFloatStorage\n" + text(key) + text("cpu") + count + "tQ";
}
// {"t": a tensor of these arguments}
std::string tensor_pickle(const std::string& of, const std::string& offset,
                          const std::string& sizes, const std::string& strides) {
  return "\x80\x02}"s + text("t") + "ctorch._utils\n_rebuild_tensor_v2\n(" + of + offset + sizes +
         strides + "\x89}tRs.";
}
std::string tuple(const std::vector<std::string>& items) {
  std::string code = "(";
  for (const std::string& item : items) code += item;
  return code + "t";
}

}  // namespace

TEST_SUITE("state/torch_file") {
  TEST_CASE("a state_dict comes back in its order, with its names and values") {
    for (const auto& read : {load_torch, map_torch}) {
      const TorchFile file = read(checkpoint("linear"));
      CHECK(names(file) == std::vector<std::string>{"weight", "bias"});
      CHECK(tensor_of(file, "weight").sizes() == std::vector<int64_t>{2, 3});
      CHECK(numbers<float>(file, "weight") == std::vector<float>{1, 2, 3, 4, 5, 6});
      CHECK(numbers<float>(file, "bias") == std::vector<float>{-1, 0.5});
      CHECK(file.values.empty());
    }
  }

  TEST_CASE("a dictionary of dictionaries has names with dots, and values beside its tensors") {
    const TorchFile file = load_torch(checkpoint("nested"));
    CHECK(names(file) ==
          std::vector<std::string>{"model.weight", "model.bias", "optimizer.state.0.exp_avg"});
    CHECK(value_of(file, "epoch").to<int64_t>() == 12);
    CHECK(value_of(file, "big").to<int64_t>() == -(int64_t{1} << 40));
    CHECK(value_of(file, "done").to<bool>());
    CHECK(value_of(file, "note").text() == "caf\xc3\xa9");
    CHECK(value_of(file, "names").strings() == std::vector<std::string>{"a", "b"});
    CHECK(value_of(file, "optimizer.state.0.step").to<int64_t>() == 3);
    CHECK(value_of(file, "optimizer.param_groups.0.lr").to<double>() == 0.25);
    CHECK(value_of(file, "optimizer.param_groups.0.betas").to<std::vector<double>>() ==
          std::vector<double>{0.5, 0.75});
    CHECK(value_of(file, "optimizer.param_groups.0.params").to<std::vector<int64_t>>() ==
          std::vector<int64_t>{0, 1});
    CHECK(value_of(file, "optimizer.param_groups.0.foreach").is_none());
  }

  TEST_CASE("views share their storage as they did when they were saved") {
    for (const auto& read : {load_torch, map_torch}) {
      const TorchFile file = read(checkpoint("views"));
      CHECK(numbers<double>(file, "turned") ==
            std::vector<double>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
      CHECK(numbers<double>(file, "row") == std::vector<double>{4, 5, 6, 7});
      CHECK(numbers<double>(file, "repeated") == std::vector<double>{1, 2, 3, 1, 2, 3});
      CHECK(numbers<double>(file, "number") == std::vector<double>{11});
      CHECK(tensor_of(file, "empty").sizes() == std::vector<int64_t>{0, 5});
      fill_elements(tensor_of(file, "row"), -1.0);
      CHECK(numbers<double>(file, "whole") ==
            std::vector<double>{0, 1, 2, 3, -1, -1, -1, -1, 8, 9, 10, 11});
    }
    CHECK(numbers<double>(load_torch(checkpoint("views")), "row") ==
          std::vector<double>{4, 5, 6, 7});
  }

  TEST_CASE("big-endian bytes, storages without a dtype and packed members are read") {
    for (const auto& read : {load_torch, map_torch}) {
      const TorchFile file = read(checkpoint("big_endian"));
      CHECK(numbers<float>(file, "weight") == std::vector<float>{1, 2, 3, 4, 5, 6});
      CHECK(numbers<int64_t>(file, "steps") == std::vector<int64_t>{int64_t{1} << 40, -2});
      CHECK(tensor_of(file, "wave").dtype() == f16);
      CHECK(tensor_of(file, "wave").to(f32).to_vector<float>() == std::vector<float>{0.5, -2});
      const TorchFile untyped = read(checkpoint("untyped"));
      CHECK(tensor_of(untyped, "counts").dtype() == u16);
      CHECK(tensor_of(untyped, "counts").to(i64).to_vector<int64_t>() ==
            std::vector<int64_t>{1, 65535});
      CHECK(numbers<float>(read(checkpoint("packed")), "zeros") == std::vector<float>(64, 0.0F));
    }
  }

  TEST_CASE("a module loads a checkpoint by its names, and those below a prefix") {
    Module linear = Module::create("Linear", arg("in_features") = 3, arg("out_features") = 2);
    state::load(linear, checkpoint("linear"));
    CHECK(linear.tensor("bias").detach().to_vector<float>() == std::vector<float>{-1, 0.5});
    linear = Module::create("Linear", arg("in_features") = 3, arg("out_features") = 2);
    state::load(linear, checkpoint("nested"), true, true, "model.");
    CHECK(linear.tensor("weight").detach().to_vector<float>() ==
          std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(linear.tensor("weight").requires_grad());
  }

  TEST_CASE("a mapped checkpoint outlives its file's name and every other tensor of it") {
    const TemporaryFolder folder;
    tenon_test::put_bytes(folder / "x.pt", tenon_test::bytes_of(checkpoint("linear")));
    Tensor bias = tensor_of(map_torch(folder / "x.pt"), "bias");
    std::filesystem::remove(folder / "x.pt");
    CHECK(bias.to_vector<float>() == std::vector<float>{-1, 0.5});
  }

  TEST_CASE("a global beyond those of tensors is refused by its name, and nothing runs") {
    CHECK(
        fault_of("\x80\x02"s + "cos\nsystem\n" + text("true") + "\x85R.") ==
        "the pickle at byte 2 names 'os.system', which is not read because it may run code; save a "
        "dictionary of tensors, numbers and texts, such as a state_dict()");
    CHECK(fault_of("\x80\x04"s + text("builtins") + text("eval") + "\x93.")
              .find("names 'builtins.eval', which") != std::string::npos);
    CHECK(fault_of("\x80\x02"s + "ccollections\nOrderedDict\n)\x81.")
              .find("has the opcode 0x81, which makes an object of a class; save") !=
          std::string::npos);
    CHECK(fault_of("\x80\x02"s + "C\x01x.").find("opcode 0x43, which holds bytes") !=
          std::string::npos);
    CHECK(fault_of("\x80\x02?.").find("opcode 0x3f, which no checkpoint needs") !=
          std::string::npos);
    CHECK(fault_of("\x80\x02"s + "ctorch\nFloatStorage\n)R.").find("'FloatStorage' is called") !=
          std::string::npos);
  }

  TEST_CASE("views beyond their storage, broken sizes and wrong values are refused") {
    const std::string four = tuple({integer(4)}), one = tuple({integer(1)});
    CHECK(fault_of(tensor_pickle(storage(), integer(0), four, one)) == "");
    CHECK(
        fault_of(tensor_pickle(storage(), integer(1), four, one)) ==
        "tensor 't': a view of shape [4], strides [1] and offset 1 is outside of its storage of 4 "
        "elements");
    for (const std::string& size : {big(INT64_MAX), big(INT64_MIN), big(-1)}) {
      CHECK(fault_of(tensor_pickle(storage(), integer(0), tuple({size}), one)) != "");
      CHECK(fault_of(tensor_pickle(storage(), size, four, one)) != "");
      CHECK(fault_of(tensor_pickle(storage(), integer(0), four, tuple({size}))) != "");
      CHECK(fault_of(tensor_pickle(storage("0", size), integer(0), four, one)) != "");
    }
    CHECK(fault_of(tensor_pickle(storage("0", integer(5)), integer(0), four, one)) ==
          "tensor 't': its storage 'data/0' has 16 bytes, 5 elements of 4 bytes were saved");
    CHECK(fault_of(tensor_pickle(storage("1"), integer(0), four, one)) ==
          "tensor 't': there is no 'data/1', its storage");
    CHECK(fault_of(tensor_pickle(storage(), integer(0), four, tuple({})))
              .find("a tensor has 1 sizes and 0 strides") != std::string::npos);
    CHECK(fault_of(tensor_pickle(integer(1), integer(0), four, one))
              .find("found an integer, expected a storage") != std::string::npos);
    CHECK(fault_of(tensor_pickle(storage(), integer(0), tuple(std::vector(17, integer(1))),
                                 tuple(std::vector(17, integer(1)))))
              .find("a tensor has more than 16 dimensions") != std::string::npos);
  }

  TEST_CASE(
      "lists that hold themselves, names that are there twice and broken stacks are refused") {
    CHECK(fault_of("\x80\x02]q\0h\0a."s) ==
          "its dictionaries and lists are more than 64 deep, or hold themselves");
    CHECK(fault_of("\x80\x02}"s + text("a") + integer(1) + "s" + text("a") + integer(2) + "s.") ==
          "two values have the name 'a'");
    CHECK(fault_of("\x80\x02R.").find("takes a value where there is none") != std::string::npos);
    CHECK(fault_of("\x80\x02t.").find("down to a mark where there is none") != std::string::npos);
    CHECK(fault_of("\x80\x02h\x07.").find("names the value 7, not there") != std::string::npos);
    CHECK(fault_of("\x80\x01.").find("protocol 1 is not read") != std::string::npos);
    // 2^40 names from 40 lists, each of two entries, the next list.
    std::string doubling = "\x80\x02N";
    for (char i = 0; i < 40; ++i) doubling += std::string{'q', i, 'h', i, '\x86'};
    CHECK(fault_of(doubling + ".") == "it has more names than a file of its size needs");
    // Lists alone, the innermost one empty, have no names.
    doubling.replace(2, 1, "]");
    CHECK(fault_of(doubling + ".") == "it has more names and texts than a file of its size needs");
    // 200 names for one text of a megabyte, which the file holds packed.
    std::string texts =
        "\x80\x02X" + std::string("\0\0\x10\0", 4) + std::string(1 << 20, 'a') + "q\0("s;
    for (uint8_t i = 0; i < 200; ++i) texts += integer(i) + "h\0"s;
    CHECK(fault_of_bytes(zip_of(texts + "d.", true)) ==
          "it has more names and texts than a file of its size needs");
    CHECK_THROWS_AS(load_torch("/dev/null"), IOError);
  }

  TEST_CASE("bombs, other formats and broken zip files are refused") {
    CHECK(fault_of_bytes("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.") ==
          "this is the format of PyTorch before 1.6: load it with PyTorch and save it again");
    state::ZipWriter bomb(true);
    bomb.add("x/data.pkl", "\x80\x02}.");
    bomb.add("x/data/0", std::string(size_t{20} << 20, '\0'));
    CHECK(fault_of_bytes(bomb.finish()) ==
          "its members unpack to more than 20 times its size, which no checkpoint does");
    state::ZipWriter script(false);
    script.add("x/data.pkl", "\x80\x02}.");
    script.add("x/constants.pkl", "\x80\x02).");
    CHECK(fault_of_bytes(script.finish()) ==
          "this is a TorchScript program: torch.save() the state_dict() of the module");
    state::ZipWriter none(false);
    none.add("data.pkl", "\x80\x02}.");
    CHECK(fault_of_bytes(none.finish()) == "it holds no data.pkl, which torch.save writes");
    CHECK_THROWS_AS(fault_of("\x80\x02\x88"), IOError);
    // Marks, places and items that take a byte or two each, and eight in memory.
    const std::string much = "the pickle has more than 4194304 values, the most that are read";
    std::string again = "\x80\x02Nq\0"s, items = "\x80\x02Nq\0]"s;
    for (int i = 0; i < (1 << 22); ++i) again += "h\0"s;
    for (int i = 0; i <= (1 << 22); ++i) items += "h\0a"s;
    for (const std::string& pickle :
         {"\x80\x02" + std::string((size_t{1} << 22) + 1, '('), again, items})
      CHECK(fault_of(pickle) == much);
  }

  TEST_CASE("every shortened file and every changed byte is read or refused") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.pt";
    for (const char* name : {"views", "nested", "big_endian"}) {
      const std::string whole = tenon_test::bytes_of(checkpoint(name));
      for (size_t i = 0; i < whole.size(); i += 3) {
        std::string broken = whole.substr(0, i);
        if (i % 4 == 0) {
          tenon_test::put_bytes(path, broken);
          CHECK_THROWS_AS(load_torch(path), Error);
        }
        broken = whole;
        broken[i] = static_cast<char>(broken[i] ^ (1 << i % 8));
        tenon_test::put_bytes(path, broken);
        try {
          for (const auto& entry : map_torch(path).tensors) contiguous_as(entry.second, f64);
        } catch (const Error&) {
        }
      }
    }
  }
}
