// Shared by the tests of tenon::trust: fixtures, throwaway folders, and processes that begin with a new runtime.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <tenon/runtime.hpp>
#include <tenon/trust/guard.hpp>

namespace trust_test {

using tenon::Json;

inline std::string fixture(const std::string& name) {
  return std::string(TENON_FIXTURES) + "/" + name + ".so";
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tenon-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    REQUIRE(!path_.empty());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Copies a fixture into the folder (or one below it) and returns its path there.
  std::string add(const std::string& name, const std::string& as = "") const {
    const std::string target = path_ + "/" + (as.empty() ? name + ".so" : as);
    std::filesystem::create_directories(std::filesystem::path(target).parent_path());
    std::filesystem::copy_file(fixture(name), target);
    return target;
  }

 private:
  std::string path_;
};

// Runs the body in a child of this process, whose runtime has neither plugins nor policies yet. Returns the
// text that the body returns, or the message of the error that it throws.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception& error) {
      text = error.what();
    }
    for (size_t at = 0; at < text.size();) {
      const ssize_t put = ::write(ends[1], text.data() + at, text.size() - at);
      if (put <= 0) ::_exit(1);
      at += static_cast<size_t>(put);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char block[4096];
  while (const ssize_t count = ::read(ends[0], block, sizeof block)) {
    if (count < 0) break;
    text.append(block, static_cast<size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}

// The refusal that the body throws.
template <class Error, class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  std::abort();
}

}  // namespace trust_test
