// Columns by name, by position or as a list, found in a header.
#include "column_choice.hpp"

#include <algorithm>

#include <tenon/json.hpp>
#include <tenon/text.hpp>

#include "csv_cursor.hpp"

namespace data {

tenon_value plain_value(const tenon::Argument& value) {
  const tenon_value& held = value.value();
  if (held.tag != TENON_VALUE_JSON || tenon::Json::borrow(held.as.json).is_container()) return held;
  return tenon::service::documents().value(held.as.json);
}

ColumnChoice::ColumnChoice(const char* parameter, const tenon::Argument& value)
    : parameter_(parameter) {
  const tenon_value held = plain_value(value);
  given_ = held.tag != TENON_VALUE_NONE;
  switch (held.tag) {
    case TENON_VALUE_NONE:
      break;
    case TENON_VALUE_STRING:
      word_ = std::string(held.as.string, held.length);
      add(held);
      break;
    case TENON_VALUE_INT_LIST:
      for (uint32_t i = 0; i < held.length; ++i) add(tenon::Argument(held.as.integers[i]).value());
      break;
    case TENON_VALUE_STRING_LIST:
      for (uint32_t i = 0; i < held.length; ++i) {
        const tenon_string& name = held.as.strings[i];
        add(tenon::Argument(std::string_view(name.data, static_cast<size_t>(name.length))).value());
      }
      break;
    case TENON_VALUE_JSON: {
      const tenon::Json list = tenon::Json::borrow(held.as.json);
      if (list.is_object()) refuse_kind();
      for (int64_t i = 0; i < list.size(); ++i)
        add(tenon::service::documents().value(list[i].handle()));
      break;
    }
    default:
      // Lists without elements arrive as lists of any kind.
      if (held.length == 0 && held.tag >= TENON_VALUE_BOOL_LIST) break;
      add(held);
  }
}

void ColumnChoice::add(const tenon_value& value) {
  if (value.tag == TENON_VALUE_INT) {
    items_.push_back({std::nullopt, value.as.integer});
  } else if (value.tag == TENON_VALUE_STRING) {
    items_.push_back({std::string(value.as.string, value.length), 0});
  } else {
    refuse_kind();
  }
}

void ColumnChoice::refuse_kind() const {
  throw tenon::TypeError(parameter_ +
                         " must be the name of a column, its position, or a list of these");
}

void ColumnChoice::refuse(const std::string& reason) const {
  throw Fault(parameter_ + " " + reason);
}

int64_t ColumnChoice::resolve(const Item& item, const std::vector<std::string>& names,
                              int64_t columns) const {
  if (!item.name) {
    if (item.position < -columns || item.position >= columns) {
      refuse("names column " + std::to_string(item.position) + ", the file has columns 0 to " +
             std::to_string(columns - 1) + " (-1 is the last)");
    }
    return item.position < 0 ? item.position + columns : item.position;
  }
  const auto found = std::find(names.begin(), names.end(), *item.name);
  if (found != names.end()) return found - names.begin();
  refuse("names the column " + quoted_text(*item.name) +
         (names.empty()
              ? ", the file has no header: give its position"
              : ", which the header does not have" + tenon::suggestion(*item.name, names)));
}

std::vector<int64_t> ColumnChoice::resolve(const std::vector<std::string>& names,
                                           int64_t columns) const {
  std::vector<int64_t> positions;
  for (const Item& item : items_) {
    const int64_t position = resolve(item, names, columns);
    if (std::find(positions.begin(), positions.end(), position) != positions.end())
      refuse("names " + column_text(names, position) + " twice");
    positions.push_back(position);
  }
  return positions;
}

}  // namespace data
