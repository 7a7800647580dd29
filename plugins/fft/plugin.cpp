// The fft plugin: discrete Fourier transforms on FFTW, which no other plugin uses.
#include <tenon/plugin.hpp>

#include "plan_cache.hpp"

TENON_PLUGIN(fft, "1.0.0", nullptr, fft::forget_plans)
