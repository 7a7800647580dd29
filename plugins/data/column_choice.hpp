// Columns of a table as an argument names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>

namespace data {

// An argument of type `any` from a config, where it is a node of the document: the text or number
// that the node is. Others, lists and objects among them, as they are.
tenon_value plain_value(const tenon::Argument& value);

// The columns that an argument of type `any` names: nothing, a name, a position, or a list of them.
class ColumnChoice {
 public:
  ColumnChoice() = default;
  // `parameter` is for messages. TypeError for a value of another kind.
  ColumnChoice(const char* parameter, const tenon::Argument& value);

  bool given() const { return given_; }
  // The text alone, without a list around it: a word of the parameter's own, such as "auto".
  bool is_word(std::string_view word) const { return word_ == word; }
  // Positions among `columns` columns. A Fault for a name that is not in the header, for a position
  // that is not there, for a column that is named twice.
  std::vector<int64_t> resolve(const std::vector<std::string>& names, int64_t columns) const;

 private:
  struct Item {
    std::optional<std::string> name;
    int64_t position = 0;
  };
  void add(const tenon_value& value);
  int64_t resolve(const Item& item, const std::vector<std::string>& names, int64_t columns) const;
  [[noreturn]] void refuse(const std::string& reason) const;
  [[noreturn]] void refuse_kind() const;

  std::string parameter_;
  std::string word_;
  std::vector<Item> items_;
  bool given_ = false;
};

}  // namespace data
