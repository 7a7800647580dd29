// Log lines of the host during a call, for tests of warnings.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <unistd.h>

namespace tenon_test {

inline std::string logged(const std::function<void()>& call) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int kept = dup(2);
  dup2(fileno(file), 2);
  call();
  std::fflush(stderr);
  dup2(kept, 2);
  close(kept);
  std::string text(static_cast<size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  if (!text.empty() && std::fread(text.data(), 1, text.size(), file) != text.size()) text.clear();
  std::fclose(file);
  return text;
}

}  // namespace tenon_test
