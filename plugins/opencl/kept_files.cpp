#include "opencl/kept_files.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <sys/stat.h>

namespace tenon_opencl {

namespace {

std::string cache_folder() {
  std::string folder;
  if (const char* cache = secure_getenv("XDG_CACHE_HOME"))
    folder = cache;
  else if (const char* home = secure_getenv("HOME"))
    folder = std::string(home) + "/.cache";
  else
    return {};
  for (const char* part : {"", "/tenon", "/tenon/opencl"}) mkdir((folder + part).c_str(), 0700);
  return folder + "/tenon/opencl/";
}

// FNV-1a of 64 bits, by eight bytes at a time where there are as many.
uint64_t hash_of(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](uint64_t part) { hash = (hash ^ part) * 0x100000001b3; };
  size_t i = 0;
  for (uint64_t part; i + sizeof part <= bytes.size(); i += sizeof part) {
    std::memcpy(&part, bytes.data() + i, sizeof part);
    add(part);
    hash ^= hash >> 32;  // high bits of a part reach no lower ones by products
  }
  for (; i < bytes.size(); ++i) add(static_cast<unsigned char>(bytes[i]));
  return hash;
}

// The begin of a file: a mark, then length and hash of the rest.
struct Head {
  std::array<char, 8> mark{'t', 'e', 'n', 'o', 'n', 'c', 'l', '1'};
  uint64_t length = 0, hash = 0;

  static Head of(const std::string& bytes) {
    Head head;
    head.length = bytes.size();
    head.hash = hash_of(bytes);
    return head;
  }
  bool operator==(const Head& other) const {
    return mark == other.mark && length == other.length && hash == other.hash;
  }
};

}  // namespace

std::string kept_file(const std::string& text) {
  static const std::string folder = cache_folder();
  if (folder.empty()) return folder;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_of(text)));
  return folder + digits + ".bin";
}

std::string read_kept(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Head head;
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) return {};
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return head == Head::of(bytes) ? bytes : std::string();
}

void keep(const std::string& path, const std::string& bytes) {
  const std::string part = path + "." + std::to_string(getpid());  // by another name first
  const Head head = Head::of(bytes);
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) std::remove(part.c_str());
}

}  // namespace tenon_opencl
