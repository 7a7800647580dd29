"""Writes models of one node for operators, most of opset 18 to 25, which the package onnx of Debian has
no cases for, into a folder: operator_cases.py."""
import sys

import numpy as np

from operator_cases import F, Cases, TensorProto, helper, numpy_helper, tensor_of_bytes

cases = Cases(sys.argv[1])
case = cases.case
rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape).astype(F)


def integers(*values):
    return np.array(values, np.int64)


def attention():
    q, k, v = normal(2, 3, 4, 8), normal(2, 3, 6, 8), normal(2, 3, 6, 5)
    case("attention", 23, "Attention", [q, k, v])
    case("attention_causal", 23, "Attention", [q, k, v], is_causal=1)
    case("attention_scale", 23, "Attention", [q, k, v], scale=0.3, softcap=1.5)
    case("attention_mask", 23, "Attention", [q, k, v, normal(4, 6)])
    case("attention_bool_mask", 23, "Attention", [q, k, v, rng.random((2, 1, 4, 6)) > 0.4])
    case("attention_softcap_mask", 23, "Attention", [q, k, v, normal(4, 6)], softcap=0.7)
    case("attention_grouped", 23, "Attention", [normal(2, 4, 3, 8), normal(2, 2, 5, 8), normal(2, 2, 5, 8)])
    case("attention_heads", 23, "Attention", [normal(2, 3, 16), normal(2, 5, 8), normal(2, 5, 8)],
         q_num_heads=4, kv_num_heads=2)
    case("attention_past", 23, "Attention", [q, k, v, normal(4, 9), normal(2, 3, 3, 8), normal(2, 3, 3, 5)],
         3)
    case("attention_past_causal", 23, "Attention",
         [q, k[:, :, :4], v[:, :, :4], None, normal(2, 3, 3, 8), normal(2, 3, 3, 5)], 3, is_causal=1)
    for mode in range(4):
        case(f"attention_scores_{mode}", 23, "Attention",
             [q, k, v, normal(4, 6), normal(2, 3, 3, 8)[:, :, :0], normal(2, 3, 3, 5)[:, :, :0]], 4,
             softcap=2.0, qk_matmul_output_mode=mode)
    case("attention_lengths", 24, "Attention", [q, k, v, None, None, None, integers(6, 3)])
    positions = np.array([[0, 4, 2], [1, 1, 5]], np.int64)
    x = normal(2, 4, 3, 8)
    for interleaved in (0, 1):
        case(f"rotary_{interleaved}", 23, "RotaryEmbedding", [x, normal(6, 4), normal(6, 4), positions],
             interleaved=interleaved)
    case("rotary_partial", 23, "RotaryEmbedding", [x, normal(6, 2), normal(6, 2), positions],
         rotary_embedding_dim=4)
    case("rotary_flat", 23, "RotaryEmbedding", [normal(2, 3, 16), normal(2, 3, 4), normal(2, 3, 4)],
         num_heads=2)
    case("tensor_scatter", 24, "TensorScatter", [normal(2, 3, 5, 4), normal(2, 3, 2, 4), integers(1, 3)])
    case("tensor_scatter_circular", 24, "TensorScatter",
         [normal(2, 5, 4), normal(2, 3, 4), integers(1, 3)], mode="circular")


def normalizations():
    x = normal(2, 6, 4, 3)
    case("rms_normalization", 23, "RMSNormalization", [normal(3, 4, 5), normal(5)])
    case("rms_normalization_axis", 23, "RMSNormalization", [normal(3, 4, 5), normal(4, 5)], axis=1,
         epsilon=0.1)
    case("rms_normalization_broadcast", 23, "RMSNormalization", [normal(3, 4, 5), normal(5)], axis=1)
    case("group_normalization", 21, "GroupNormalization", [x, normal(6), normal(6)], num_groups=3)
    case("group_normalization_of_groups", 18, "GroupNormalization", [x, normal(3), normal(3)], num_groups=3)
    case("gelu", 20, "Gelu", [normal(20) * 3])
    case("gelu_tanh", 20, "Gelu", [normal(20) * 3], approximate="tanh")
    case("mish", 18, "Mish", [normal(20) * 3])
    case("lp_pool", 18, "LpPool", [x], kernel_shape=[2, 2], p=3, pads=[1, 0, 0, 1], strides=[2, 1])
    case("lp_pool_ceil", 18, "LpPool", [normal(1, 2, 6, 6)], kernel_shape=[3, 3], strides=[2, 2],
         ceil_mode=1)


def pictures():
    x = normal(1, 2, 5, 4)
    case("affine_grid", 20, "AffineGrid", [normal(2, 2, 3), [integers(2, 3, 4, 5)]])
    case("affine_grid_corners", 20, "AffineGrid", [normal(1, 3, 4), [integers(1, 2, 3, 4, 5)]],
         align_corners=1)
    grid = (rng.random((1, 3, 4, 2)) * 2.4 - 1.2).astype(F)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            case(f"grid_sample_{mode}_{padding}", 20, "GridSample", [x, grid], mode=mode,
                 padding_mode=padding)
    case("grid_sample_volume", 20, "GridSample",
         [normal(1, 2, 3, 4, 5), (rng.random((1, 2, 3, 4, 3)) * 2 - 1).astype(F)], align_corners=1)
    sizes = {"up": (8, 7), "down": (3, 2)}
    for way, (height, width) in sizes.items():
        for mode in ("nearest", "linear", "cubic"):
            for coordinates in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric",
                                "align_corners"):
                case(f"resize_{way}_{mode}_{coordinates}", 19, "Resize",
                     [x, None, None, [integers(1, 2, height, width)]], mode=mode,
                     coordinate_transformation_mode=coordinates)
    for mode in ("linear", "cubic"):
        case(f"resize_antialias_{mode}", 18, "Resize", [x, None, None, [integers(1, 2, 3, 2)]], mode=mode,
             antialias=1)
    for policy in ("not_larger", "not_smaller"):
        case(f"resize_{policy}", 18, "Resize", [x, None, None, [integers(7, 8)]], mode="linear",
             axes=[2, 3], keep_aspect_ratio_policy=policy)
    case("resize_axes", 18, "Resize", [x, None, [np.array([1.6, 0.5], F)]], mode="linear", axes=[3, 2])
    case("center_crop_pad", 18, "CenterCropPad", [normal(5, 4, 3), [integers(2, 7, 3)]])
    case("center_crop_pad_axes", 18, "CenterCropPad", [normal(5, 4, 6), [integers(8, 3)]], axes=[1, -1])
    case("col2im", 18, "Col2Im", [normal(1, 8, 12), [integers(4, 5)], [integers(2, 2)]])
    case("col2im_pads", 18, "Col2Im", [normal(1, 8, 6), [integers(5, 5)], [integers(2, 2)]],
         pads=[0, 1, 1, 0], strides=[2, 2], dilations=[2, 1])
    # Without dilations, which ONNX Runtime places wrongly in more than two dimensions.
    case("col2im_volume", 18, "Col2Im", [normal(2, 24, 8), [integers(3, 4, 3)], [integers(2, 3, 2)]],
         pads=[0, 0, 1, 1, 0, 0], strides=[2, 1, 2])
    weight = normal(4, 2, 3, 2)
    case("deform_conv", 19, "DeformConv", [normal(2, 2, 5, 6), weight, normal(2, 12, 3, 5)])
    case("deform_conv_groups", 22, "DeformConv",
         [normal(1, 4, 5, 6), weight, normal(1, 24, 4, 3), normal(4), normal(1, 12, 4, 3)], group=2,
         offset_group=2, pads=[1, 0, 2, 1], strides=[1, 2], dilations=[2, 1])
    tokens = np.array([[1, 2, 3, 1, 2], [3, 2, 1, 1, 7]], np.int64)
    for mode in ("TF", "IDF", "TFIDF"):
        case(f"tfidf_{mode}", 9, "TfIdfVectorizer", [tokens], mode=mode, min_gram_length=1,
             max_gram_length=2, max_skip_count=2, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4, 5],
             pool_int64s=[1, 2, 7, 1, 2, 3, 1, 1, 1], weights=[0.5, 2.0, 3.0, 0.25, 1.5, 4.0])


def indices():
    data = normal(4, 5)
    for reduction in ("none", "add", "mul", "max", "min"):
        # The order of updates for one place is not defined without a reduction.
        rows = np.array([[0], [2], [3 if reduction == "none" else 2]], np.int64)
        case(f"scatter_nd_{reduction}", 18, "ScatterND", [data, rows, normal(3, 5)], reduction=reduction)
        places = np.array([[0, 3, 1, -1, 2]], np.int64)
        case(f"scatter_elements_{reduction}", 18, "ScatterElements", [data, places, normal(1, 5)],
             reduction=reduction)
    case("pad_axes", 18, "Pad", [data, [integers(1, 2)], None, [integers(-1)]], mode="edge")
    case("pad_wrap", 19, "Pad", [data, [integers(0, 2, 1, 1)]], mode="wrap")
    case("pad_value", 21, "Pad", [data, [integers(0, 2, 1, -1)], [np.array(1.5, F)]])
    case("split_outputs", 18, "Split", [normal(7, 3)], 3, num_outputs=3)
    case("split_sizes", 18, "Split", [normal(7, 3), [integers(2, 5)]], 2)
    case("bitwise_and", 18, "BitwiseAnd", [integers(5, -7, 3), integers(6, 13, -1)],
         results=[TensorProto.INT64])
    for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        positive = np.abs(normal(2, 3, 4)) + F(0.1)
        case(f"reduce_{kind.lower()}", 18, f"Reduce{kind}", [positive, [integers(-1, 0)]], keepdims=0)
        case(f"reduce_{kind.lower()}_noop", 18, f"Reduce{kind}", [positive], noop_with_empty_axes=1)
    case("reduce_max_bool", 20, "ReduceMax", [rng.random((3, 4)) > 0.7, [integers(1)]],
         results=[TensorProto.BOOL])


def signals():
    signal = normal(2, 7, 3, 1)
    pairs = normal(2, 7, 3, 2)
    case("dft", 20, "DFT", [signal, None, [np.array(1)]])
    case("dft_default_axis", 20, "DFT", [pairs])
    case("dft_length", 20, "DFT", [pairs, [np.array(5)], [np.array(1)]])
    case("dft_onesided", 20, "DFT", [signal, None, [np.array(1)]], onesided=1)
    case("dft_inverse", 20, "DFT", [pairs, None, [np.array(1)]], inverse=1)
    case("stft", 17, "STFT", [normal(2, 20, 1), [np.array(3)], [normal(8)], [np.array(8)]])
    case("stft_twosided", 17, "STFT", [normal(2, 20, 1), [np.array(4)], None, [np.array(6)]], onesided=0)


def quantization():
    x = normal(3, 4) * 4
    scales, zeros = np.array([0.1, 0.2, 0.05, 0.3], F), np.array([0, 3, 128, 250], np.uint8)
    u8, i8 = TensorProto.UINT8, TensorProto.INT8
    for opset in (19, 21, 23, 25):
        case(f"quantize_{opset}", opset, "QuantizeLinear", [x, [F(0.05)], [np.uint8(128)]], results=[u8])
        case(f"quantize_axis_{opset}", opset, "QuantizeLinear", [x, [scales], [zeros]], results=[u8], axis=1)
        numbers = rng.integers(0, 255, (3, 4), np.uint8)
        case(f"dequantize_{opset}", opset, "DequantizeLinear", [numbers, [F(0.05)], [np.uint8(128)]])
        case(f"dequantize_axis_{opset}", opset, "DequantizeLinear", [numbers, [scales], [zeros]], axis=-1)
    blocks = np.abs(normal(3, 2)) + F(0.05)
    case("quantize_blocks", 21, "QuantizeLinear", [x, [blocks], [np.zeros((3, 2), np.int8)]], results=[i8],
         axis=1, block_size=2)
    case("quantize_output_type", 21, "QuantizeLinear", [x, [F(0.05)]], results=[i8], output_dtype=i8)
    case("dequantize_blocks", 21, "DequantizeLinear", [rng.integers(-99, 99, (3, 4), np.int8), [blocks]],
         axis=1, block_size=2)
    case("dequantize_i32", 19, "DequantizeLinear", [rng.integers(-99, 99, (3, 4), np.int32), [F(0.5)]])


def narrow():
    """Floating types of 8 bits (17: e4m3, 19: e5m2), and integers of 4 (21: unsigned, 22: signed)."""
    numbers = np.concatenate([normal(200) * np.exp2(rng.integers(-12, 13, 200)).astype(F),
                              np.array([0, -0.0, 448, 449, 463, 464, 465, 57344, 60000, 61439, -448, -500, 1e9,
                                        -1e9, np.inf, -np.inf, np.nan, 2.0**-9, 2.0**-10], F)]).astype(F)
    # ONNX Runtime makes 448 of some that round to 480, which is NaN.
    numbers = numbers[~((np.abs(numbers) > 465) & (np.abs(numbers) < 512))]
    node, array = helper.make_node, numpy_helper.from_array
    for code in (17, 19):
        for opset in (19, 21, 23):
            cases.chain(f"quantize_{code}_{opset}", opset,
                        [node("QuantizeLinear", ["x0", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y0"])],
                        numbers, [array(np.array(0.37, F), "s"), tensor_of_bytes("z", code, (), [0])])
            cases.chain(f"quantize_axis_{code}_{opset}", opset,
                        [node("QuantizeLinear", ["x0", "s", "z"], ["q"], axis=1),
                         node("DequantizeLinear", ["q", "s", "z"], ["y0"], axis=1)],
                        normal(5, 4) * 20,
                        [array(np.array([0.37, 2, 0.01, 0.5], F), "s"), tensor_of_bytes("z", code, (4,), [0] * 4)])
        for saturate in (0, 1) if code == 17 else (1,):
            cases.chain(f"cast_{code}_{saturate}", 19,
                        [node("Cast", ["x0"], ["q"], to=code, saturate=saturate), node("Cast", ["q"], ["y0"], to=1)], numbers)
    for code in (21, 22):
        cases.chain(f"weight_of_4_bits_{code}", 21,
                    [node("DequantizeLinear", ["w", "s"], ["d"], axis=1, block_size=2), node("MatMul", ["x0", "d"], ["y0"])],
                    normal(2, 3), [tensor_of_bytes("w", code, (3, 4), rng.integers(0, 256, 6).astype(np.uint8)),
                                   array(np.abs(normal(3, 2)), "s")])


def recurrences():
    steps, batch, size, hidden = 4, 3, 2, 5
    lengths = np.array([4, 2, 3], np.int32)
    for operator, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        weights = [normal(2, gates * hidden, size), normal(2, gates * hidden, hidden),
                   normal(2, 2 * gates * hidden)]
        case(f"{operator.lower()}_lengths", 22, operator, [normal(steps, batch, size), *weights, lengths], 2,
             hidden_size=hidden, direction="bidirectional")


def like_onnxruntime():
    """Inputs with NaN and infinities, where the models are read with like="onnxruntime"."""
    i64 = TensorProto.INT64

    def rows(*shape):
        values = rng.integers(-4, 5, shape).astype(F)
        values[rng.random(shape) < 0.2] = np.nan
        return values

    for size, k in ((3, 3), (8, 4), (17, 5), (40, 3), (40, 16), (40, 30)):
        for largest in (0, 1):
            case(f"like_topk_{size}_{k}_{largest}", 11, "TopK", [rows(30, size), [integers(k)]], 2,
                 results=[TensorProto.FLOAT, i64], largest=largest)
    case("like_topk_columns", 11, "TopK", [rows(9, 30), [integers(4)]], 2,
         results=[TensorProto.FLOAT, i64], axis=0, sorted=0)
    for operator in ("ArgMax", "ArgMin"):
        for axis in (0, 1):
            for last in (0, 1):
                case(f"like_{operator.lower()}_{axis}_{last}", 13, operator, [rows(7, 8)], results=[i64],
                     axis=axis, select_last_index=last)
        case(f"like_{operator.lower()}_line", 13, operator, [rows(20)], results=[i64])
        case(f"like_reduce{operator[3:].lower()}", 18, "Reduce" + operator[3:], [rows(9, 12), [integers(0)]])
    case("like_maxpool", 12, "MaxPool", [rows(1, 4, 20)], kernel_shape=[3], pads=[1, 1])
    case("like_maxpool_dilated", 12, "MaxPool", [rows(1, 4, 20)], kernel_shape=[3], pads=[1, 1],
         dilations=[2])
    for order in (0, 1):
        case(f"like_maxpool_indices_{order}", 12, "MaxPool", [rows(2, 3, 6, 7)], 2,
             results=[TensorProto.FLOAT, i64], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1],
             storage_order=order)
    for order in (0, 1):
        case(f"like_unique_{order}", 11, "Unique", [rows(30)], 4, results=[TensorProto.FLOAT, i64, i64, i64],
             sorted=order)
    for reduction in ("max", "min"):
        places = rng.integers(0, 6, (9, 4))
        case(f"like_scatter_{reduction}", 18, "ScatterElements", [rows(9, 6), places, rows(9, 4)], axis=1,
             reduction=reduction)
        case(f"like_scatternd_{reduction}", 18, "ScatterND",
             [rows(6, 3), rng.integers(0, 6, (20, 1)), rows(20, 3)], reduction=reduction)
    numbers = np.concatenate([normal(40) * F(10.0) ** rng.integers(-2, 12, 40), rows(20),
                              np.array([np.inf, -np.inf, 2**31, -2**31, 2**63], F)]).astype(F)
    for name in ("UINT8", "INT8", "INT32", "INT64"):
        case(f"like_cast_{name.lower()}", 13, "Cast", [numbers], results=[getattr(TensorProto, name)],
             to=getattr(TensorProto, name))


for group in (attention, normalizations, pictures, indices, signals, quantization, narrow, recurrences,
              like_onnxruntime):
    group()
cases.finish()
