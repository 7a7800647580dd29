// Operators of signals.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(signal, "onnx", R"(
BlackmanWindow:17(size; output_datatype=1, periodic=1) = blackman_window(size, periodic, dtype=output_datatype)
DFT:17(input, dft_length?; axis=1, inverse=0, onesided=0) = onnx.dft(input, dft_length, axis, inverse=inverse, onesided=onesided)
DFT:20(input, dft_length?, axis?; inverse=0, onesided=0) = onnx.dft(input, dft_length, axis, default_axis=-2, inverse=inverse, onesided=onesided)
HammingWindow:17(size; output_datatype=1, periodic=1) = hamming_window(size, periodic, 0.5434782608695652, 0.4565217391304348, dtype=output_datatype)
HannWindow:17(size; output_datatype=1, periodic=1) = hann_window(size, periodic, dtype=output_datatype)
MelWeightMatrix:17(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz; output_datatype=1) = mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype=output_datatype)
STFT:17(signal, frame_step, window?, frame_length?; onesided=1) = onnx.stft(signal, frame_step, window, frame_length, onesided=onesided)
)")
