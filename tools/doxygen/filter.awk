# Writes a header as Doxygen reads it: a comment above or behind a declaration becomes its documentation, one above several
# macros that of all of them. Bodies of functions are left out. Lines keep their numbers.
function indent_of(text) { match(text, /^ */); return RLENGTH }
# Whether lines of this indentation are declarations: of the file, or of the body of a type.
function is_declared(n) { return n == 0 || is_type[n - 2] }
# Text that Doxygen finds no commands in.
function plain(text) {
  gsub(/[\\@]/, "\\\\&", text)
  gsub(/<[a-z]/, "\\\\&", text)
  return text
}
# Prints the comment that was read, as documentation or as it is.
function print_comment(documents,    i) {
  for (i = 1; i <= held; ++i) {
    if (documents) {
      text[i] = plain(text[i])
      sub(/^ *\/\*+/, "&*", text[i])
      sub(/\/\/ ?/, "/// ", text[i])
    }
    print text[i]
  }
  held = 0
}
# The comment that was read, in one line.
function joined(    i, part, all) {
  for (i = 1; i <= held; ++i) {
    part = text[i]
    gsub(/^ *(\/\/|\/\*+|\*) ?| *\*\/ *$/, "", part)
    all = all " " plain(part)
  }
  return all
}
# The line with the comment behind its code in front of it, as documentation.
function with_comment(line, starts,    code, comment) {
  if (!match(line, /  +\/\/ .*$| +\/\* .*\*\/$/)) return line
  code = substr(line, 1, RSTART - 1)
  comment = plain(substr(line, RSTART))
  gsub(/^ *(\/\/|\/\*) | *\*\/$/, "", comment)
  return starts ? separated(code, "/** " comment " */ ") : code " /**< " comment " */"
}
# Each variable of a declaration with the comment, of which Doxygen gives it to one alone.
function separated(code, comment,    type, names, count, i, all) {
  if (code !~ /^ *(mutable |static |constexpr |const )*[A-Za-z_0-9:]+(<[^<>,]*>)?[*&]? [a-z_0-9]+( = [^,;(){}]*)?(, [a-z_0-9]+( = [^,;(){}]*)?)+;$/)
    return comment code
  match(code, /^ *(mutable |static |constexpr |const )*[A-Za-z_0-9:]+(<[^<>,]*>)?[*&]? /)
  type = substr(code, 1, RLENGTH)
  count = split(substr(code, RLENGTH + 1, length(code) - RLENGTH - 1), names, ", ")
  for (i = 1; i <= count; ++i) all = all comment type names[i] "; "
  return all
}
FNR == 1 && /^\/[\/*]/ {
  print "/** @file */ " $0
  in_file_comment = /^\/\*/ && !/\*\//
  next
}
in_file_comment { print; if (/\*\//) in_file_comment = 0; next }
in_body {
  if (indent_of($0) == body_indent && /^ *}/) {
    in_body = 0
    ended = 1
    print substr($0, 1, body_indent) "}" (/;$/ ? ";" : "")
  } else print /^#(if|else|elif|endif)/ ? $0 : ""
  next
}
in_comment { text[++held] = $0; if (/\*\//) in_comment = 0; next }
/^ *\/[\/*]/ {
  n = indent_of($0)
  if (held && (held_indent != n || /^ *\/\*/)) print_comment(0)
  held_indent = n
  text[++held] = $0
  if (/^ *\/\*/ && !/\*\//) in_comment = 1
  if (/^ *\/[\/*] *----/) print_comment(0)
  shared = ""
  ended = 1
  next
}
# Methods of wrappers: the catalogue has the ops.
/^#include .*\.inc"$/ { print ""; next }
/^ *$/ { print_comment(0); shared = ""; ended = 1; print; next }
/^#define/ {
  if (held) shared = joined()
  print_comment(1)
  macro = shared
  in_macro = 1
}
in_macro {
  if (!/\\$/) {
    in_macro = 0
    if (/\*\/$/) $0 = with_comment($0, 0)
    else if (macro != "") $0 = $0 " /**<" macro " */"
  }
  print
  next
}
/^#/ { print_comment(0); print; next }
{
  n = indent_of($0)
  above = held && /, .*;$/ ? "/**" joined() " */ " : ""
  print_comment(held_indent == n && is_declared(n) && !/^ *(}|public:|private:|protected:)/ && !/^(namespace|extern "C"|TENON_NAMESPACE)/)
  code = $0
  sub(/  +\/\/ .*$| +\/\* .*\*\/$/, "", code)
  starts = is_declared(n) && ended && !/^ *[}:]/
  if (code ~ /\{$/) {
    # Heads of types may take several lines.
    is_type[n] = code ~ /^ *(template <.*> )?(typedef )?(struct|class|union|enum)( [^;()]*(\([^()]*\))?[^;()]*)?\{$/
    if (code !~ /^ *(struct|class|template|typedef)/ && n >= 4 && is_head[n - 4]) { is_type[n - 4] = 1; is_type[n] = 0 }
  }
  if (is_declared(n)) declared_indent = n
  if (code ~ /\{$/ && !is_type[n] && !is_type[n - 4] && code !~ /^(namespace|extern|TENON_NAMESPACE)/) {
    in_body = 1
    body_indent = declared_indent
  }
  is_head[n] = code ~ /^ *(struct|class) [^;{}()]*$/
  if (is_declared(n) || is_declared(n - 4)) ended = code ~ /[;,{}:]$/
  # The head of a template is one with what it heads.
  if (starts && code == $0 && above == "" && /^ *template <.*>$/) { head = head $0 " "; ended = 1; print ""; next }
  sub(/^ */, "&" head)
  head = ""
  print code != $0 ? with_comment($0, starts) : above != "" && starts ? separated($0, above) : $0
}
END { print_comment(0) }
