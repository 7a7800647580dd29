// Operators of layers.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(convolutions, "onnx", R"(
Conv:1(X, W, B?; auto_pad='NOTSET', dilations?, group=1, kernel_shape?, pads?, strides?) = onnx.conv(X, W, B, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)
ConvTranspose:1(X, W, B?; auto_pad='NOTSET', dilations?, group=1, kernel_shape?, output_padding?, output_shape?, pads?, strides?) = onnx.conv_transpose(X, W, B, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, output_padding=output_padding, output_shape=output_shape, pads=pads, strides=strides)
DeformConv:19(X, W, offset, B?, mask?; dilations?, group=1, kernel_shape?, offset_group=1, pads?, strides?) = onnx.deform_conv(X, W, offset, B, mask, dilations=dilations, group=group, kernel_shape=kernel_shape, offset_group=offset_group, pads=pads, strides=strides)
)")

TENON_CONVERSIONS(pools, "onnx", R"(
AveragePool:7(X; kernel_shape, auto_pad='NOTSET', ceil_mode=0, count_include_pad=0, dilations?, pads?, strides?) = onnx.average_pool(X, kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, count_include_pad=count_include_pad, dilations=dilations, pads=pads, strides=strides)
GlobalAveragePool:1(X) = onnx.global_pool(X)
GlobalLpPool:2(X; p=2) = onnx.global_pool(X, kind='lp', p=p)
GlobalMaxPool:1(X) = onnx.global_pool(X, kind='max')
LpPool:2(X; kernel_shape, auto_pad='NOTSET', ceil_mode=0, dilations?, p=2, pads?, strides?) = onnx.lp_pool(X, kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, dilations=dilations, p=p, pads=pads, strides=strides)
MaxPool:1(X; kernel_shape, auto_pad='NOTSET', ceil_mode=0, dilations?, pads?, storage_order=0, strides?) = onnx.max_pool(X, kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, dilations=dilations, pads=pads, storage_order=storage_order, strides=strides, outputs=@outputs)
)")

TENON_CONVERSIONS(normalizations, "onnx", R"(
BatchNormalization:7(X, scale, B, mean, var; epsilon=1e-5, momentum=0.9, spatial==1=1, training_mode==0=0) = nn.functional.batch_norm(X, mean, var, scale, B, false, 0.1, epsilon)
BatchNormalization:14(X, scale, B, mean, var; epsilon=1e-5, momentum=0.9, training_mode==0=0) = nn.functional.batch_norm(X, mean, var, scale, B, false, 0.1, epsilon)
BatchNormalization:14(X, scale, B, mean, var; epsilon=1e-5, momentum=0.9, training_mode==1) = onnx.batch_norm_training(X, scale, B, mean, var, epsilon=epsilon, momentum=momentum)
Dropout:7(data; ratio=0.5) = onnx.dropout(data, ratio, false, outputs=@outputs)
Dropout:12(data, ratio?, training_mode?; seed?) ~ onnx.dropout(data, ratio, training_mode, outputs=@outputs)
GroupNormalization:18(X, scale, bias; epsilon=1e-5, num_groups, stash_type=1) = onnx.group_norm(X, scale, bias, num_groups=num_groups, epsilon=epsilon)
InstanceNormalization:6(input, scale, B; epsilon=1e-5) = nn.functional.instance_norm(input, weight=scale, bias=B, eps=epsilon)
LayerNormalization:17(X, Scale, B?; axis=-1, epsilon=1e-5, stash_type=1) = onnx.layer_norm(X, Scale, B, axis=axis, epsilon=epsilon, outputs=@outputs)
LpNormalization:1(input; axis=-1, p=2) = onnx.lp_normalization(input, axis=axis, p=p)
LRN:1(X; alpha=0.0001, beta=0.75, bias=1.0, size) = onnx.lrn(X, alpha=alpha, beta=beta, bias=bias, size=size)
MeanVarianceNormalization:9(X; axes=[0, 2, 3]) = nn.functional.mean_variance_norm(X, axes)
RMSNormalization:23(X, scale; axis=-1, epsilon=1e-5, stash_type=1) = onnx.rms_norm(X, scale, axis=axis, epsilon=epsilon)
)")

TENON_CONVERSIONS(products, "onnx", R"(
Cast:6(input; to, saturate==1=1) = onnx.cast(input, to=to)
Cast:6(input; to, saturate) = onnx.cast(input, to=to, saturate=saturate)
Cast:24(input; to, round_mode='up', saturate==1=1) = onnx.cast(input, to=to)
Cast:24(input; to, round_mode='up', saturate) = onnx.cast(input, to=to, saturate=saturate)
CastLike:15(input, target_type; saturate==1=1) = onnx.cast_like(input, target_type)
CastLike:15(input, target_type; saturate) = onnx.cast_like(input, target_type, saturate=saturate)
CastLike:24(input, target_type; round_mode='up', saturate==1=1) = onnx.cast_like(input, target_type)
CastLike:24(input, target_type; round_mode='up', saturate) = onnx.cast_like(input, target_type, saturate=saturate)
Det:11(X) = linalg.det(X)
Einsum:12(Inputs...; equation) = einsum(equation, Inputs)
Gemm:7(A, B, C?; alpha=1.0, beta=1.0, transA=0, transB=0) = onnx.gemm(A, B, C, alpha=alpha, beta=beta, transA=transA, transB=transB)
MatMul:1(A, B) = matmul(A, B)
)")

TENON_CONVERSIONS(attention, "onnx", R"(
Attention:23(Q, K, V, attn_mask?, past_key?, past_value?; is_causal=0, kv_num_heads=0, q_num_heads=0, qk_matmul_output_mode=0, scale?, softcap=0.0, softmax_precision?) = onnx.attention(Q, K, V, attn_mask, past_key, past_value, is_causal=is_causal, kv_num_heads=kv_num_heads, q_num_heads=q_num_heads, qk_matmul_output_mode=qk_matmul_output_mode, scale=scale, softcap=softcap, outputs=@outputs)
Attention:24(Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen?; is_causal=0, kv_num_heads=0, q_num_heads=0, qk_matmul_output_mode=0, scale?, softcap=0.0, softmax_precision?) = onnx.attention(Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen, is_causal=is_causal, kv_num_heads=kv_num_heads, q_num_heads=q_num_heads, qk_matmul_output_mode=qk_matmul_output_mode, scale=scale, softcap=softcap, outputs=@outputs)
RotaryEmbedding:23(X, cos_cache, sin_cache, position_ids?; interleaved=0, num_heads=0, rotary_embedding_dim=0) = nn.functional.rotary_embedding(X, cos_cache, sin_cache, position_ids, interleaved=interleaved, num_heads=num_heads, rotary_dim=rotary_embedding_dim)
)")

TENON_CONVERSIONS(recurrent, "onnx", R"(
GRU:7(X, W, R, B?, sequence_lens?, initial_h?; activation_alpha=[], activation_beta=[], activations=[], clip=0.0, direction='forward', hidden_size?, layout=0, linear_before_reset=0) = onnx.gru(X, W, R, B, sequence_lens, initial_h, activation_alpha=activation_alpha, activation_beta=activation_beta, activations=activations, clip=clip, direction=direction, layout=layout, linear_before_reset=linear_before_reset, hidden_size=hidden_size)
LSTM:7(X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?; activation_alpha=[], activation_beta=[], activations=[], clip=0.0, direction='forward', hidden_size?, input_forget=0, layout=0) = onnx.lstm(X, W, R, B, sequence_lens, initial_h, initial_c, P, activation_alpha=activation_alpha, activation_beta=activation_beta, activations=activations, clip=clip, direction=direction, input_forget=input_forget, layout=layout, hidden_size=hidden_size)
RNN:7(X, W, R, B?, sequence_lens?, initial_h?; activation_alpha=[], activation_beta=[], activations=[], clip=0.0, direction='forward', hidden_size?, layout=0) = onnx.rnn(X, W, R, B, sequence_lens, initial_h, activation_alpha=activation_alpha, activation_beta=activation_beta, activations=activations, clip=clip, direction=direction, layout=layout, hidden_size=hidden_size)
)")

TENON_CONVERSIONS(random, "onnx", R"(
RandomNormal:1(; dtype=1, mean=0.0, scale=1.0, seed?, shape) ~ onnx.random(shape, kind='normal', a=mean, b=scale, dtype=dtype)
RandomNormalLike:1(input; dtype?, mean=0.0, scale=1.0, seed?) ~ onnx.random_like(input, kind='normal', a=mean, b=scale, dtype=dtype)
RandomUniform:1(; dtype=1, high=1.0, low=0.0, seed?, shape) ~ onnx.random(shape, kind='uniform', a=low, b=high, dtype=dtype)
RandomUniformLike:1(input; dtype?, high=1.0, low=0.0, seed?) ~ onnx.random_like(input, kind='uniform', a=low, b=high, dtype=dtype)
Bernoulli:15(input; dtype?, seed?) ~ bernoulli(input, dtype=dtype)
Multinomial:7(input; dtype=6, sample_size=1, seed?) ~ onnx.multinomial(input, sample_size=sample_size, dtype=dtype)
)")
