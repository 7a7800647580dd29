// Operators of pictures.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(pictures, "onnx", R"(
AffineGrid:20(theta, size; align_corners=0) = nn.functional.affine_grid(theta, size, align_corners)
GridSample:16(X, grid; align_corners=0, mode='bilinear', padding_mode='zeros') = nn.functional.grid_sample(X, grid, mode, padding_mode, align_corners)
GridSample:20(X, grid; align_corners=0, mode=='linear'='linear', padding_mode='zeros') = nn.functional.grid_sample(X, grid, 'bilinear', padding_mode, align_corners)
GridSample:20(X, grid; align_corners=0, mode=='cubic', padding_mode='zeros') = nn.functional.grid_sample(X, grid, 'bicubic', padding_mode, align_corners)
GridSample:20(X, grid; align_corners=0, mode=='nearest', padding_mode='zeros') = nn.functional.grid_sample(X, grid, 'nearest', padding_mode, align_corners)
MaxRoiPool:1(X, rois; pooled_shape, spatial_scale=1.0) = onnx.max_roi_pool(X, rois, pooled_shape=pooled_shape, spatial_scale=spatial_scale)
MaxUnpool:9(X, I, output_shape?; kernel_shape, pads?, strides?) = onnx.max_unpool(X, I, output_shape, kernel_shape=kernel_shape, pads=pads, strides=strides)
NonMaxSuppression:10(boxes, scores, max_output_boxes_per_class?, iou_threshold?, score_threshold?; center_point_box=0) = onnx.non_max_suppression(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, center_point_box=center_point_box)
Resize:10(X, scales; mode='nearest') = onnx.resize(X, none, scales, coordinate_transformation_mode='asymmetric', mode=mode, nearest_mode='floor')
Resize:11(X, roi?, scales?, sizes?; coordinate_transformation_mode='half_pixel', cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, mode='nearest', nearest_mode='round_prefer_floor') = onnx.resize(X, roi, scales, sizes, coordinate_transformation_mode=coordinate_transformation_mode, cubic_coeff_a=cubic_coeff_a, exclude_outside=exclude_outside, extrapolation_value=extrapolation_value, mode=mode, nearest_mode=nearest_mode)
Resize:18(X, roi?, scales?, sizes?; antialias=0, axes?, coordinate_transformation_mode='half_pixel', cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy='stretch', mode='nearest', nearest_mode='round_prefer_floor') = onnx.resize(X, roi, scales, sizes, antialias=antialias, axes=axes, coordinate_transformation_mode=coordinate_transformation_mode, cubic_coeff_a=cubic_coeff_a, exclude_outside=exclude_outside, extrapolation_value=extrapolation_value, keep_aspect_ratio_policy=keep_aspect_ratio_policy, mode=mode, nearest_mode=nearest_mode)
RoiAlign:10(X, rois, batch_indices; mode='avg', output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0) = onnx.roi_align(X, rois, batch_indices, coordinate_transformation_mode='output_half_pixel', mode=mode, output_height=output_height, output_width=output_width, sampling_ratio=sampling_ratio, spatial_scale=spatial_scale)
RoiAlign:16(X, rois, batch_indices; coordinate_transformation_mode='half_pixel', mode='avg', output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0) = onnx.roi_align(X, rois, batch_indices, coordinate_transformation_mode=coordinate_transformation_mode, mode=mode, output_height=output_height, output_width=output_width, sampling_ratio=sampling_ratio, spatial_scale=spatial_scale)
Upsample:7(X; mode='nearest', scales) = onnx.resize(X, none, scales, coordinate_transformation_mode='asymmetric', mode=mode, nearest_mode='floor')
Upsample:9(X, scales; mode='nearest') = onnx.resize(X, none, scales, coordinate_transformation_mode='asymmetric', mode=mode, nearest_mode='floor')
)")
