// Fuzzes the CSV parser: what parses has full rows, cells are read the same in any way of reading
// them, and faults can be printed.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/data/csv_cursor.hpp"

// The parsers call nothing of it.
extern "C" const tenon_host* tenon_host_get() { return nullptr; }

namespace {

using data::CsvCell;
using data::CsvCursor;
using data::Reading;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_table(std::string_view text, char delimiter, bool header) {
  const data::CsvTable table = data::parse_csv(text, delimiter, header);
  require(table.rows > 0 && table.columns > 0);
  require(!header || static_cast<int64_t>(table.names.size()) == table.columns);
  // Every value was written: the sanitizer sees reads beyond them.
  float last = 0;
  for (int64_t i = 0; i < table.rows * table.columns; ++i) last = table.values.get()[i];
  require(std::isnan(last) || last == last);
}

// The quick way, and that by the text of the cell.
template <class T>
void read_cells(std::string_view text, char delimiter, char point) {
  CsvCursor quick(text, delimiter, point), slow(text, delimiter, point);
  int64_t rows = 0, columns = 1;
  const CsvCursor start = quick;
  while (quick.next_row()) {
    require(slow.next_row() && quick.row_line() == slow.row_line());
    columns = 0;
    bool more = true;
    while (more) {
      T value = 0, same = 0;
      const bool taken = quick.take_number(value);
      const CsvCell cell = slow.take_cell();
      const Reading reading = data::read_decimal(cell.text, point, same);
      if (taken) {
        require(reading == Reading::number && !cell.quoted);
        require(value == same && std::signbit(value) == std::signbit(same));
      } else {
        require(quick.take_cell().text == cell.text && quick.place() == slow.place());
      }
      ++columns;
      more = quick.more_cells();
      require(slow.more_cells() == more);
    }
    ++rows;
  }
  require(!slow.next_row());
  require(rows <= start.most_rows(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  constexpr char delimiters[] = {',', ';', '\t', ' ', '|'};
  const char point = (bytes[1] & 2) != 0 && bytes[0] % sizeof(delimiters) != 0 ? ',' : '.';
  char delimiter = delimiters[bytes[0] % sizeof(delimiters)];
  if ((bytes[1] & 4) != 0) delimiter = data::find_delimiter(text, point);
  const auto printable = [&](auto&& read) {
    try {
      read();
    } catch (const data::Fault& fault) {
      for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
    }
  };
  printable([&] { read_table(text, delimiter == point ? ';' : delimiter, (bytes[1] & 1) != 0); });
  printable([&] { read_cells<float>(text, delimiter, point); });
  printable([&] { read_cells<double>(text, delimiter, point); });
  return 0;
}
