// Reads the index of a file in parts: {"metadata": {...}, "weight_map": {"NAME": "PART"}}.
#include "sharded_file.hpp"

#include <unordered_map>

#include "file_limits.hpp"
#include "input_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& fault) {
  throw ValueError(format_text("{} is not a valid index of tensor files: {}", quote(path), fault));
}

Json parsed(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMostHeader)
    fail(path, format_text("it has {} bytes, at most {} are read", file.size(), kMostHeader));
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read_at(text.data(), file.size(), 0);
  try {
    return Json::parse(text);
  } catch (const ValueError& error) {
    fail(path, error.what());
  }
}

// A part is a file of the index's own folder: any other path could name any file.
std::string part_path(const std::string& path, const std::string& part) {
  if (part.empty() || part.find('/') != part.npos || part == ".." || part == "." ||
      part.find('\0') != part.npos)
    fail(path, format_text("the part {} is not the name of a file beside it", quote(part)));
  const size_t slash = path.rfind('/');
  return slash == path.npos ? part : path.substr(0, slash + 1) + part;
}

}  // namespace

bool is_shard_index(const std::string& path) {
  char head[kLengthBytes] = {};
  const InputFile file(path);
  if (file.size() < kLengthBytes) return false;
  file.read_at(head, kLengthBytes, 0);
  return head[0] == '{' && head[kLengthBytes - 1] != '\0';
}

ShardIndex read_shard_index(const std::string& path) {
  const Json document = parsed(path);
  const Json map = document["weight_map"];
  if (!map.is_object()) fail(path, "it has no object \"weight_map\" of names and parts");
  ShardIndex index;
  index.metadata = document["metadata"];
  std::unordered_map<std::string, size_t> places;
  for (int64_t i = 0; i < map.size(); ++i) {
    const Json part = map[i];
    if (!part.is_text())
      fail(path, format_text("the part of {} is {}, not a text", quote(map.key(i)), part.dump()));
    const auto [found, is_new] = places.emplace(part.text(), index.parts.size());
    if (is_new) index.parts.emplace_back(part_path(path, part.text()), std::vector<std::string>());
    index.parts[found->second].second.push_back(map.key(i));
  }
  return index;
}

}  // namespace state

TENON_NAMESPACE_END
