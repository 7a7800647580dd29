// Training as a library: everything under tenon/training.
#pragma once

#include "tenon/training/batch_gradients.hpp"
#include "tenon/training/batches.hpp"
#include "tenon/training/checkpoint.hpp"
#include "tenon/training/config.hpp"
#include "tenon/training/dataset.hpp"
#include "tenon/training/files.hpp"
#include "tenon/training/gradient_buckets.hpp"
#include "tenon/training/gradient_clip.hpp"
#include "tenon/training/loss.hpp"
#include "tenon/training/metric.hpp"
#include "tenon/training/model_summary.hpp"
#include "tenon/training/monitor.hpp"
#include "tenon/training/optimizer.hpp"
#include "tenon/training/ranks.hpp"
#include "tenon/training/schedule.hpp"
#include "tenon/training/trainer.hpp"
