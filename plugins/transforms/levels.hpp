// Levels of vmap that are active on a thread: slots of the service `transforms`.
#pragma once

#include <memory>

#include <tenon/plugin.hpp>
#include <tenon/transforms/batched.hpp>

namespace tenon_transforms {

tenon_status begin_level(int64_t size, uint32_t randomness, transforms_level** level,
                         tenon_error** error);
tenon_status end_level(transforms_level* level, tenon_error** error);
transforms_level* innermost_level();

// A level outside of all others, which is alive as long as a tensor refers to it.
tenon::transforms::Level lasting_level(int64_t size, uint32_t randomness);
bool is_lasting(const tenon::transforms::Level& level);

// Scope in which the level is the innermost of the thread.
class ActiveLevel {
 public:
  explicit ActiveLevel(transforms_level* level);
  ~ActiveLevel();
  ActiveLevel(const ActiveLevel&) = delete;
  ActiveLevel& operator=(const ActiveLevel&) = delete;

 private:
  transforms_level* before_;
};

// Scope in which ops that draw random numbers are seen within an op that is made of ops, whose own
// call the modes of the level and of those around it have seen. Errors of entering are thrown.
class DrawsSeen {
 public:
  explicit DrawsSeen(transforms_level* level);
  ~DrawsSeen();
  DrawsSeen(const DrawsSeen&) = delete;
  DrawsSeen& operator=(const DrawsSeen&) = delete;

 private:
  std::unique_ptr<DrawsSeen> outer_;  // left after this one
  tenon_mode* mode_;
};

}  // namespace tenon_transforms
