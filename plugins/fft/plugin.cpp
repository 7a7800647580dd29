// The fft plugin: discrete Fourier transforms on FFTW, which no other plugin uses.
#include <tenon/plugin.hpp>

TENON_PLUGIN(fft, "1.0.0")
