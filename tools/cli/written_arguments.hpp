// Arguments of an op as words of the command line.
//
//   add 1 [1,2,3] alpha=2        numbers, lists of numbers, by position or by name
//   exp x.npy   exp m.safetensors:w   exp photo.png   exp table.csv
//   mm f32[64,64] f32[64,64]     random elements: of [0, 1), whole numbers from 0 to 9
//   exp -                        standard input: a list, rows of numbers, or the bytes of a file
//
// A file that ends in .E is read by an op named read_E, such as data.read_npy, of any plugin.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/op.hpp>
#include <tenon/tensor.hpp>

namespace cli {

class WrittenArguments {
 public:
  // Reads each word as the op's schema says. `floating`: whole numbers are f32, unless a word has a dtype.
  // ValueError for a word that cannot be read, naming the argument; UsageError for arguments that are missing,
  // twice there, or too many.
  WrittenArguments(const tenon::Op& op, const std::vector<std::string>& words, bool floating);
  WrittenArguments(const WrittenArguments&) = delete;
  WrittenArguments& operator=(const WrittenArguments&) = delete;

  // One for each tensor among them: its name ("tensors[1]" in a list), and a place where another one
  // can be put.
  struct Operand {
    std::string name;
    tenon::Tensor tensor;
  };
  std::vector<Operand>& operands() { return operands_; }

  // Valid until the next call, for ones of service::ops().
  struct Given {
    std::vector<tenon_value> values, named;
    std::vector<tenon_string> names;
  };
  const Given& given();

 private:
  struct Written {
    std::string keyword;  // empty: by position
    tenon_value value{};
    size_t first = 0, count = 0;  // operands that the value has
    bool list = false;
  };
  void add(const std::string& keyword, const tenon::Json& parameter, const std::string& word);
  void put(const tenon::Json& parameter, const std::string& word, Written& written);
  void put_list(const tenon::Json& parameter, const std::string& word, Written& written);
  void put_tensor(const std::string& name, const std::string& word, Written& written);
  tenon_value text_value(const std::string& text);

  bool floating_;
  std::vector<Operand> operands_;
  std::vector<Written> written_;
  Given given_;
  std::deque<std::string> texts_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<double>> numbers_;
  std::deque<std::vector<uint8_t>> truths_;
  std::deque<std::vector<tenon_string>> strings_;
  std::deque<std::vector<tenon_tensor*>> lists_;
  std::deque<tenon::Json> documents_;
};

// Account of what the call would run, and why: that of service::ops().explain, with what listings add.
tenon::Json explanation_of(const tenon::Op& op, WrittenArguments& arguments);
// Shapes of the operands and of the results under each other, of two operands or more; a mark under sizes that do
// not broadcast where the call refuses them. Calls the op with shapes alone.
std::string shapes_text(const tenon::Op& op, WrittenArguments& arguments);
// Whether a word says a shape: "f32[2,3]".
bool says_shape(const std::string& word);

}  // namespace cli
