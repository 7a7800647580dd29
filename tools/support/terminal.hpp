// Destination of output: to a terminal, with colour and a width, or into a file, plainly.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace cli {

enum class Style { plain, bold, dim, red, green, yellow, cyan };

bool is_terminal(FILE* stream);
// Whether lines on it can be drawn again.
bool can_redraw(FILE* stream);
// The text in a style, for `print`; or as it is where there is no colour: not a terminal, NO_COLOR
// is set, TERM is dumb.
std::string paint(FILE* stream, Style style, std::string_view text);
// Columns of the terminal; 0: not one, lines may be of any length.
int terminal_width(FILE* stream);
// Whether the locale can show more than ASCII.
bool shows_utf8();

// Writes to standard output, or to a stream. Names, documents and messages come from files that
// others wrote: but for line breaks, tabs and the styles of `paint`, everything that a terminal
// would obey is written as text (\x1b, \u202e).
void print(std::string_view text);
void print(FILE* stream, std::string_view text);
// The text without styles, for files.
std::string plain_text(std::string_view text);
// Everything printed has arrived; false when it has not, on a full disk say.
bool finish_output();

}  // namespace cli
