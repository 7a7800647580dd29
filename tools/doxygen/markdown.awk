# Writes a page as Doxygen reads it: headings get the names by which links of other pages know them, `## Give samples` in
# a/b.md is #a_b_md_give-samples, and links to headings are of that form.
function label_of(path, slug,    n, i, parts, kept, count, name) {
  n = split(path, parts, "/")
  for (i = 1; i <= n; ++i) {
    if (parts[i] == ".." ) --count
    else if (parts[i] != "." && parts[i] != "") kept[++count] = parts[i]
  }
  for (i = 1; i <= count; ++i) name = name kept[i] "_"
  gsub(/[^A-Za-z0-9_]/, "_", name)
  return name slug
}
# The name that hosts of Markdown give a heading.
function slug_of(heading) {
  heading = tolower(heading)
  gsub(/[^a-z0-9 _-]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}
BEGIN {
  cwd = ENVIRON["PWD"] "/"
}
FNR == 1 {
  file = FILENAME
  if (index(file, cwd) == 1) file = substr(file, length(cwd) + 1)
  folder = file
  if (!sub(/\/[^\/]*$/, "/", folder)) folder = ""
}
/^```/ { in_code = !in_code }
!in_code && /^#+ / {
  slug = $0
  sub(/^#+ /, "", slug)
  slug = slug_of(slug)
  if (FNR > 1) $0 = $0 " {#" label_of(file, slug (seen[slug]++ ? "-" seen[slug] - 1 : "")) "}"
}
!in_code {
  rest = $0
  line = ""
  while (match(rest, /\]\([^() ]*#[^() ]*\)/)) {
    link = substr(rest, RSTART + 2, RLENGTH - 3)
    path = link
    sub(/#.*/, "", path)
    anchor = link
    sub(/[^#]*#/, "", anchor)
    line = line substr(rest, 1, RSTART + 1)
    rest = substr(rest, RSTART + RLENGTH)
    if (link ~ /^[a-z]+:/) line = line link ")"
    else line = line "#" label_of(path == "" ? file : folder path, anchor) ")"
  }
  $0 = line rest
}
# Doxygen takes these for commands and quotations, in code too.
!in_code {
  while (match($0, /`([@\\][^`]*|")`/)) {
    code = substr($0, RSTART + 2, RLENGTH - 3)
    sign = substr($0, RSTART + 1, 1)
    sign = sign == "@" ? "&#64;" : sign == "\"" ? "&quot;" : "&#92;"
    $0 = substr($0, 1, RSTART - 1) "<code>" sign code "</code>" substr($0, RSTART + RLENGTH)
  }
}
{ print }
