# Writes a header as Doxygen reads it: a comment above a declaration, or behind it, becomes its documentation. Bodies of
# functions are left out. Lines keep their numbers.
function indent_of(text) { match(text, /^ */); return RLENGTH }
# Whether lines of this indentation are declarations: of the file, or of the body of a type.
function is_declared(n) { return n == 0 || is_type[n - 2] }
# Prints the comment that was read, as documentation or as it is.
function print_comment(documents,    i) {
  for (i = 1; i <= held; ++i) {
    if (documents) {
      gsub(/[\\@]/, "\\\\&", text[i])
      gsub(/<[a-z]/, "\\\\&", text[i])
      sub(/^ *\/\*+/, "&*", text[i])
      sub(/\/\/ ?/, "/// ", text[i])
    }
    print text[i]
  }
  held = 0
}
FNR == 1 && /^\/\// { print "/** @file */ " $0; first = 1; next }
FNR == 1 && /^\/\*/ { print "/** @file */ " $0; if (!/\*\//) in_file_comment = 1; next }
in_file_comment { print; if (/\*\//) in_file_comment = 0; next }
in_body {
  if (indent_of($0) == body_indent && /^ *}/) { in_body = 0; print substr($0, 1, body_indent) "}" (/;$/ ? ";" : ""); next }
  print /^#(if|else|elif|endif)/ ? $0 : ""
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
  next
}
/^#include .*\.inc"$/ { print ""; next }  # methods that plugins' wrappers have: in the catalogue
/^ *$/ || /^#/ { print_comment(/^#define/); print; next }
{
  n = indent_of($0)
  print_comment(held_indent == n && is_declared(n) && !/^ *(}|public:|private:|protected:)/ && !/^(namespace|extern "C"|TENON_NAMESPACE)/)
  code = $0
  sub(/ *\/\/ .*$/, "", code)
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
  if (is_declared(n) && code ~ /[;,{}]$/ && code != $0) sub(/\/\/ /, "///< ")
  if (is_declared(n) && /[;,{}] *\/\* .*\*\/$/) sub(/\/\* /, "/**< ")
  print
}
END { print_comment(0) }
