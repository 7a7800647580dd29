# Prints the changes of a report of `abidiff --leaf-changes-only` but for growth: members at the end of structs that begin with
# their size, which readers know. The names of these structs come first, a line each; then the report.
FILENAME == ARGV[1] { growable[$1] = 1; next }
/^(Leaf changes|Changed leaf types|Removed\/Changed\/Added) / && /summary:/ {
  if (/: [1-9][0-9]* Removed| [1-9][0-9]* Changed,/) print
  next
}
/^ *$/ { next }
/^'struct [a-z0-9_]+' changed:$/ {
  head = $0
  name = $2
  gsub(/'/, "", name)
  old_size = -1
  next
}
/^  type size changed from [0-9]+ to [0-9]+ \(in bits\)$/ { if ($7 > $5) { old_size = $5; next } }
/^  [0-9]+ data member insertions?:$/ && name in growable { next }
/^    '.*', at offset [0-9]+ \(in bits\)/ && name in growable && old_size >= 0 {
  offset = $0
  sub(/.*', at offset /, "", offset)
  if (offset + 0 >= old_size) next
}
{
  if (head != "") print head
  head = ""
  print
}
