// Marks the lines of a child process that its checker wrote, so that the plugin in the same process
// cannot pass its own lines for them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

// A secret that parent and child alone know. Made by the parent for each child.
struct Secret {
  std::array<uint64_t, 2> key{};
  uint8_t exit_code = 0;  // exit code of a child that reached its end
  static Secret make();
};

// Counts lines on either side: one that is missing, repeated or in another order is not genuine.
class Seal {
 public:
  explicit Seal(const Secret& secret) : key_(secret.key) {}
  // The line to send, with a mark in front and line ends around.
  std::string sealed(std::string_view text);
  // The text of a received line; nullopt for one that is not the next that was sealed.
  std::optional<std::string> opened(std::string_view line);

 private:
  std::string mark(std::string_view text) const;
  std::array<uint64_t, 2> key_;
  uint64_t number_ = 0;
};

}  // namespace cli
