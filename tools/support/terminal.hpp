// Destination of output: to a terminal, with colour and a width, or into a file, plainly.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace cli {

enum class Style { plain, bold, dim, red, green, yellow, cyan };
enum class Colour { automatic, always, never };
// Decides for the process whether there is colour; `automatic` is as described at `paint`.
void set_colour(Colour colour);

bool is_terminal(FILE* stream);
// Whether lines on it can be drawn again.
bool can_redraw(FILE* stream);
// The text in a style, for `print`; or as it is where there is no colour: not a terminal, NO_COLOR
// is set, TERM is dumb.
std::string paint(FILE* stream, Style style, std::string_view text);
// Columns of the terminal; 0: not one, lines may be of any length.
int terminal_width(FILE* stream);
// Columns that standard output is to be laid out for: COLUMNS of the environment, which shells keep to
// themselves unless they are asked to export it, else those of the terminal. 0: a file or a pipe, whose
// lines are as long as they are, so that programs can read them. At least 20.
int output_width();
// Columns of running text, at most `widest`.
size_t line_width(size_t widest);
// Whether the locale can show more than ASCII.
bool shows_utf8();

// Writes to standard output, or to a stream. Names, documents and messages come from files that
// others wrote: but for line breaks, tabs and the styles of `paint`, everything that a terminal
// would obey is written as text (\x1b, \u202e).
void print(std::string_view text);
void print(FILE* stream, std::string_view text);
// To standard output, with lines broken to fit where it has a width; see `fitted`.
void print_fitted(std::string_view text);
// The text without styles, for files.
std::string plain_text(std::string_view text);
// Sends what is printed from here on through a pager, where standard output is a terminal that can
// scroll: TENON_PAGER, else PAGER, else `less`, which ends at once where the text fits (LESS=FRX unless it
// is set). A pager that is empty, `cat` or not installed: none. Text that is not to be laid out for a terminal stays as
// it is. finish_output() waits for the reader.
void page_output();
// For the process: page_output() does nothing.
void disable_pager();
// Everything printed has arrived; false when it has not, on a full disk say.
bool finish_output();

}  // namespace cli
