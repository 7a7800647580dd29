// generate_wrappers PLUGIN -o FILE [--methods FILE]: what `tenon wrappers` writes, for the build of
// the shipped plugins, whose wrappers the command line itself includes.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "wrappers.hpp"

int main(int count, char** arguments) {
  const bool methods = count == 6 && std::string_view(arguments[4]) == "--methods";
  if ((count != 4 && !methods) || std::string_view(arguments[2]) != "-o") {
    std::fputs("usage: generate_wrappers PLUGIN -o FILE [--methods FILE]\n", stderr);
    return 2;
  }
  try {
    const wrappers::Files files = wrappers::write(arguments[1], methods);
    wrappers::save(arguments[3], files.functions);
    if (methods) wrappers::save(arguments[5], files.methods);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate_wrappers: %s\n", error.what());
    return 1;
  }
  return 0;
}
