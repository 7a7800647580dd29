// FFTW's plans, kept for the next call of the same shape.
#pragma once

#include <cstdint>
#include <fftw3.h>
#include <memory>
#include <vector>

namespace fft {

// A transform as FFTW computes it, as its guru interface takes it: any numbers of dimensions that
// are transformed, and over which the transform is repeated. Strides count elements of the side.
enum class Kind : uint8_t { complex_to_complex, real_to_complex, complex_to_real };
struct Problem {
  Kind kind = Kind::complex_to_complex;
  bool single = false;  // f32 and c64
  bool forward = true;  // direction of complex_to_complex
  bool in_place = false;
  bool aligned = false;  // both sides as FFTW's vector loads need them
  std::vector<fftw_iodim64> transformed, repeated;

  friend bool operator<(const Problem& a, const Problem& b);
};

// A plan, executed on any memory of the problem's layout and alignment. Any thread, several at once.
class Plan {
 public:
  explicit Plan(const Problem& problem);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  void run(const void* in, void* out) const;

 private:
  const Kind kind_;
  const bool single_;
  void* plan_;
};

// The plan of the problem, from the cache or made now. Plans are estimated (FFTW_ESTIMATE): nothing is
// measured, so that equal calls give equal bits. RuntimeError when FFTW has none. Any thread.
std::shared_ptr<const Plan> find_plan(const Problem& problem);
// Frees the plans of the cache, before the plugin is unmapped. No call is under way.
void forget_plans();

// Whether memory is aligned as FFTW's vector loads need it.
bool is_aligned(const void* data);

// Plans that are kept; the ones used longest ago make room.
inline constexpr size_t kKeptPlans = 64;

}  // namespace fft
