# The include rules of the tree; prints each breach with file and line, exits 1 when there was one.

BEGIN {
  split("base tensor dispatch kernel autograd nn plugin runtime", areas)
  for (i in areas) rank[areas[i]] = i
  c_library = "^(assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|" \
    "signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|" \
    "tgmath|threads|time|uchar|wchar|wctype)\\.h$"
  posix = "^(cxxabi|dirent|dlfcn|elf|execinfo|fcntl|fnmatch|link|poll|pthread|spawn|unistd|sys\\/[a-z]+)\\.h$"
  intrinsics = "^(immintrin|arm_neon)\\.h$"
  # Each library of core has one home: one concept, that is one file name without its ending.
  split("boost/json boost/dll spdlog/ fmt/", libraries)
}

function breach(rule) {
  printf "%s:%d: %s: %s\n", FILENAME, FNR, $0, rule
  breaches++
}

function check_sdk() {
  if (FILENAME ~ /\.h$/) {
    if (target ~ /^tenon\/abi\/[a-z0-9_\/]+\.h$/ || target ~ c_library) return
    if (quoted && target ~ /^[a-z0-9_]+\.h$/) return
    breach("a header of the boundary sees the boundary and the C library only")
  } else {
    if (target ~ /^tenon\/[a-z0-9_\/]+\.(h|hpp|inc)$/) return
    if (quoted && target ~ /^[a-z0-9_]+\.(hpp|inc)$/) return
    if (!quoted && (target ~ /^[a-z0-9_]+$/ || target ~ c_library || target ~ intrinsics)) return
    breach("the C++ skin sees the SDK and the standard library only")
  }
}

# A library over the SDK: applications that are installed.
function check_library(    from) {
  split(FILENAME, from, "/")
  if (quoted && (target ~ /^[a-z0-9_]+\.hpp$/ || target ~ /^lib\/base\/[a-z0-9_]+\.hpp$/)) return
  if (target ~ /^fmt\// && from[3] == "base") return
  if (target ~ /^(sodium\.h$|boost\/process)/ && from[3] == "trust") return
  if (target == "zlib.h" && from[3] == "state") return
  if (!quoted && (target ~ /^tenon\/[a-z0-9_\/]+\.(h|hpp)$/ || target ~ /^[a-z0-9_]+$/)) return
  if (!quoted && (target ~ c_library || target ~ posix)) return
  breach("a library sees the SDK, as <tenon/...>, lib/base, its own folder and the system only")
}

function check_core(    from, to, i, home) {
  if (target ~ /^tenon\// && target !~ /^tenon\/abi\//)
    breach("core sees the C headers of the SDK only")
  if (quoted && target !~ /^(core|tenon)\//)
    breach("core writes its includes from the root: core/<area>/<file>")
  if (target ~ /^core\//) {
    split(FILENAME, from, "/")
    split(target, to, "/")
    if (!(to[2] in rank)) breach("core has no area of this name")
    else if (rank[to[2]] > rank[from[2]])
      breach("includes go base, tensor, dispatch, kernel, autograd, nn, plugin, runtime; never back")
  }
  for (i in libraries) {
    if (index(target, libraries[i]) != 1 || target == "boost/json/src.hpp") continue
    home = FILENAME
    sub(/\.[a-z]+$/, "", home)
    if (libraries[i] in homes && homes[libraries[i]] != home)
      breach(libraries[i] " has its home in " homes[libraries[i]])
    homes[libraries[i]] = home
  }
}

function check_user(    from, to) {
  if (target ~ /^(core|sdk|tests)\//)
    breach("plugins, examples and tools see the SDK only, as <tenon/...>")
  if (target ~ /^(boost|spdlog)\//) breach("this library belongs to core")
  if (target ~ /^fmt\// && FILENAME !~ /^tools\/support\/format\.[a-z]+$/)
    breach("fmt belongs to core, and to tools/support/format.hpp")
  if (target ~ /(cblas|openblas)/ && FILENAME !~ /^(plugins\/blas|tools\/bench|examples\/cblas_function)\//)
    breach("OpenBLAS belongs to plugins/blas")
  if (target ~ /^z(lib|conf)\.h$/ && FILENAME !~ /^plugins\/data\//)
    breach("zlib belongs to plugins/data")
  split(FILENAME, from, "/")
  split(target, to, "/")
  if (target ~ /^plugins\// && (from[1] != "plugins" || from[2] != to[2]))
    breach("a plugin does not see another one")
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
  quoted = /include[ \t]*"/
  target = $0
  sub(/^[^"<]*["<]/, "", target)
  sub(/[">].*$/, "", target)
  if (target ~ /(^|\/)\.\.\//) breach("includes do not climb out of their folder")
  if (FILENAME ~ /^sdk\/include\//) check_sdk()
  else if (FILENAME ~ /^sdk\/lib\//) check_library()
  else if (FILENAME ~ /^core\//) check_core()
  else if (FILENAME ~ /^(plugins|examples|tools)\//) check_user()
}

END { exit breaches > 0 }
