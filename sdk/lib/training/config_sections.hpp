// The sections of a config that a training reads, as JSON Schema for tenon::config::read.
#pragma once

#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

inline constexpr std::string_view kSections = R"({
  "properties": {
    "data": {"$ref": "#/definitions/data", "description": "labelled samples"},
    "split": {"$ref": "#/definitions/split", "description": "how samples are divided",
              "default": {}},
    "model": {"$ref": "#/definitions/module", "description": "the module to train or evaluate"},
    "input": {"anyOf": [{"$ref": "#/definitions/input"},
                        {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/input"}}],
              "description": "what tenon plan calls the model with: one input, or several in order; samples as \"data\" has them when left out"},
    "loss": {"$ref": "#/definitions/loss", "description": "loss function to minimize"},
    "metrics": {"type": "array", "items": {"$ref": "#/definitions/metric"},
                "description": "what is measured on the test samples; the accuracy when left out and labels are classes"},
    "optimizer": {"$ref": "#/definitions/optimizer",
                  "description": "how gradients change the weights"},
    "training": {"$ref": "#/definitions/training",
                 "description": "how long and in which steps to train"},
    "distributed": {"$ref": "#/definitions/distributed",
                    "description": "how the processes that mpirun starts train one model together"},
    "output": {"$ref": "#/definitions/output", "description": "files that a run writes"}
  },
  "examples": [
    {"data": {"path": "digits.csv"}, "split": {"test": 0.2},
     "model": {"type": "Linear", "in_features": 64, "out_features": 10},
     "input": {"shape": [64]}, "loss": "cross_entropy", "metrics": ["accuracy"],
     "optimizer": {"type": "adam", "learning_rate": 0.001}, "training": {"epochs": 10},
     "distributed": {"engine": "mpi"}, "output": {"weights": "digits.safetensors"}}
  ],
  "dependencies": {
    "split": ["data"],
    "input": ["model"],
    "loss": ["model"],
    "metrics": ["model"],
    "optimizer": ["model"],
    "training": ["data", "model", "loss", "optimizer"],
    "distributed": ["training"],
    "output": ["model"]
  },
  "definitions": {
    "data": {
      "type": "object",
      "description": "labelled samples; further keys are arguments of the op that reads them",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op that reads, 'csv' for data.csv; from the ending of \"path\" when left out"},
        "path": {"type": "string", "format": "input-path",
                 "description": "the file or folder of samples"},
        "scale": {"type": "number", "default": 1.0,
                  "description": "what samples are multiplied by"},
        "shape": {"type": "array", "minItems": 1, "maxItems": 15,
                  "items": {"type": "integer", "minimum": 1},
                  "description": "shape of one sample; as it is read when left out"},
        "normalize": {"type": "boolean",
                      "description": "whether each feature, or channel of images, gets mean 0 and deviation 1 as the training part has them, which is stored with the weights; missing numbers become 0; false when left out"}
      },
      "examples": [{"type": "csv", "path": "digits.csv", "scale": 0.0625, "shape": [1, 8, 8],
                    "normalize": true}]
    },
    "split": {
      "type": "object",
      "description": "how samples are divided",
      "properties": {
        "test": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.2,
                 "description": "part of the samples that is held back for testing"},
        "validation": {"type": "number", "minimum": 0, "exclusiveMaximum": 1,
                       "description": "part of the samples that each epoch is measured on and the best epoch is chosen by; test samples stay unseen then; 0 when left out"},
        "test_path": {"type": "string", "format": "input-path",
                      "description": "a file of the test samples, read as the data is"},
        "validation_path": {"type": "string", "format": "input-path",
                            "description": "a file of the validation samples, read as the data is"},
        "stratified": {"type": "boolean",
                       "description": "whether every part gets its fraction of each class; false when left out"},
        "shuffle": {"type": "boolean", "default": true,
                    "description": "whether samples are shuffled before the split"}
      },
      "examples": [{"test": 0.2, "validation": 0.1, "stratified": true, "shuffle": true},
                   {"test_path": "test.csv", "validation_path": "validation.csv"}],
      "additionalProperties": false
    },
    "module": {
      "type": "object",
      "description": "a module: its type, and its attributes by name",
      "properties": {
        "type": {"type": "string", "format": "module", "description": "name of the module type"},
        "path": {"type": "string", "format": "input-path",
                 "description": "the file that the module is made of, for types that take one"},
        "layers": {"type": "array", "items": {"$ref": "#/definitions/module"},
                   "description": "modules inside it, in order"},
        "init": {"description": "init ops by the names of parameters, in which '*' stands for any text: {\"*.weight\": \"nn.init.xavier_uniform_\", \"bias\": {\"type\": \"nn.init.constant_\", \"val\": 0}}"},
        "load": {"$ref": "#/definitions/load",
                 "description": "a stored state for this module and those in it"},
        "dtype": {"type": "string",
                  "description": "dtype of its floating point parameters and buffers"},
        "frozen": {"anyOf": [{"type": "boolean"}, {"type": "string"},
                             {"type": "array", "minItems": 1, "items": {"type": "string"}}],
                   "description": "whether training leaves its parameters as they are, or the names of those that it does, in which '*' stands for any text"},
        "recompute": {"type": "boolean",
                      "description": "whether its activations are computed again in backward, which takes less memory and more time; they are kept when left out"}
      },
      "required": ["type"],
      "examples": [{"type": "onnx.Model", "path": "encoder.onnx"}, {"type": "Sequential", "layers": [{"type": "Linear", "in_features": 64, "out_features": 10}],
                    "init": {"*.weight": "nn.init.xavier_uniform_"}, "load": "encoder.safetensors",
                    "dtype": "float32", "frozen": true, "recompute": true}],
      "shorthand": "type"
    },
    "load": {
      "type": "object",
      "description": "a stored state",
      "properties": {
        "file": {"type": "string", "format": "input-path", "description": "a safetensors file"},
        "prefix": {"type": "string", "description": "what begins the names of its tensors in the file"},
        "strict": {"type": "boolean",
                   "description": "whether missing and unexpected names are errors; they are when left out"}
      },
      "required": ["file"],
      "examples": [{"file": "encoder.safetensors", "prefix": "encoder.", "strict": false}],
      "additionalProperties": false,
      "shorthand": "file"
    },
    "input": {
      "type": "object",
      "description": "one input of the model",
      "properties": {
        "shape": {"type": "array", "maxItems": 15, "items": {"type": "integer", "minimum": 1},
                  "description": "its shape, without the dimension of the batch"},
        "dtype": {"type": "string", "default": "float32", "description": "its dtype"}
      },
      "required": ["shape"],
      "examples": [{"shape": [3, 224, 224], "dtype": "float32"}],
      "additionalProperties": false
    },
    "loss": {
      "type": "object",
      "description": "an op called with output and target, and its further arguments by name",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'mse_loss' for nn.functional.mse_loss"}
      },
      "examples": [{"type": "cross_entropy", "label_smoothing": 0.1}],
      "required": ["type"],
      "shorthand": "type"
    },
    "metric": {
      "type": "object",
      "description": "an op called with all outputs and targets, and its further arguments by name",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'accuracy' for metric.accuracy"},
        "name": {"type": "string", "description": "what the result is called; the op's name when left out"}
      },
      "examples": [{"type": "top_k", "name": "top 3", "k": 3}],
      "required": ["type"],
      "shorthand": "type"
    },
    "optimizer": {
      "type": "object",
      "description": "an op that changes a parameter by its gradient, and its keywords",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'adam' for optim.adam_step_"}
      },
      "examples": [{"type": "sgd", "learning_rate": 0.1, "momentum": 0.9}],
      "required": ["type"],
      "shorthand": "type"
    },
    "training": {
      "type": "object",
      "description": "how long and in which steps to train",
      "properties": {
        "epochs": {"type": "integer", "minimum": 1,
                   "description": "passes over the training samples"},
        "batch_size": {"type": "integer", "minimum": 1, "default": 64,
                       "description": "samples in one step"},
        "device": {"type": "string",
                   "description": "where the model is trained and evaluated: a device of a plugin, 'opencl:0'; 'cpu' when left out"},
        "drop_last": {"type": "boolean",
                      "description": "whether an epoch leaves out its last batch where that has fewer samples than the others; false when left out"},
        "sampler": {"$ref": "#/definitions/sampler",
                    "description": "the order of the training samples in each epoch; shuffled again for each when left out"},
        "schedule": {"anyOf": [{"$ref": "#/definitions/schedule"},
                               {"type": "array", "items": {"$ref": "#/definitions/schedule"}}],
                     "description": "learning-rate schedule, or several, whose factors are multiplied; constant when left out"},
        "clip": {"anyOf": [{"$ref": "#/definitions/clip"},
                           {"type": "array", "items": {"$ref": "#/definitions/clip"}}],
                 "description": "how gradients are clipped before each step; not when left out"},
        "transforms": {"type": "array", "items": {"$ref": "#/definitions/transform"},
                       "description": "what changes the inputs of each training batch at random, one after the other; evaluations see them as they are"},
        "monitor": {"$ref": "#/definitions/monitor",
                    "description": "a number of the validation samples, or test samples without those, that says which epoch is the best"},
        "checkpoint": {"$ref": "#/definitions/checkpoint", "default": {},
                       "description": "how often output.checkpoint is written"},
        "detect_anomaly": {"type": "boolean",
                           "description": "whether a training that meets a nan stops at the op that made the first one, forward or backward; takes two to three times as long; false when left out"}
      },
      "required": ["epochs"],
      "examples": [{"epochs": 20, "batch_size": 32, "device": "cpu", "drop_last": true, "sampler": "balanced",
                    "schedule": ["cosine", {"type": "warmup", "warmup_steps": 100}],
                    "clip": {"type": "norm", "maximum": 1}, "transforms": [{"type": "noise", "std": 0.1}],
                    "monitor": {"goal": "minimize"}, "checkpoint": {"minutes": 10},
                    "detect_anomaly": true}],
      "additionalProperties": false
    },
    "schedule": {
      "type": "object",
      "description": "an op that gives the factor of the learning rate, and its keywords",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'cosine' for schedule.cosine"}
      },
      "examples": [{"type": "warmup", "warmup_steps": 100}],
      "required": ["type"],
      "shorthand": "type"
    },
    "clip": {
      "type": "object",
      "description": "an op that changes the gradients in place, and its keywords",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'norm' for optim.clip_norm_"}
      },
      "examples": [{"type": "norm", "maximum": 1}],
      "required": ["type"],
      "shorthand": "type"
    },
    "sampler": {
      "type": "object",
      "description": "an op that orders the samples of an epoch by their labels, and its keywords; a \"seed\" among them repeats one order in every epoch",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'balanced' for data.sample_balanced"}
      },
      "examples": [{"type": "balanced", "seed": 7}],
      "required": ["type"],
      "shorthand": "type"
    },
    "transform": {
      "type": "object",
      "description": "an op that changes the inputs of a batch, and its keywords",
      "properties": {
        "type": {"type": "string", "format": "name",
                 "description": "the op, 'flip' for data.random_flip"}
      },
      "examples": [{"type": "flip", "probability": 0.5}],
      "required": ["type"],
      "shorthand": "type"
    },
    "monitor": {
      "type": "object",
      "description": "which epoch is the best, and when to stop",
      "properties": {
        "metric": {"type": "string", "default": "loss",
                   "description": "the loss, or a metric by its name"},
        "goal": {"type": "string", "enum": ["minimize", "maximize"],
                 "description": "which values are better"},
        "patience": {"type": "integer", "minimum": 0, "default": 0,
                     "description": "epochs without improvement after which the training stops; 0: it does not"},
        "minimum_change": {"type": "number", "minimum": 0, "default": 0.0,
                           "description": "what is not an improvement yet"},
        "keep_best": {"type": "boolean", "default": true,
                      "description": "whether the weights of the best epoch are the result"}
      },
      "required": ["goal"],
      "examples": [{"metric": "accuracy", "goal": "maximize", "patience": 5, "minimum_change": 0.001,
                    "keep_best": true}],
      "additionalProperties": false
    },
    "checkpoint": {
      "type": "object",
      "description": "how often a checkpoint is written",
      "properties": {
        "epochs": {"type": "integer", "minimum": 1,
                   "description": "after so many epochs; 1 when neither is given"},
        "minutes": {"type": "number", "exclusiveMinimum": 0,
                    "description": "after so many minutes, within an epoch as well"}
      },
      "examples": [{"epochs": 5, "minutes": 10}],
      "additionalProperties": false
    },
    "distributed": {
      "type": "object",
      "description": "how several processes train one model: mpirun -n 4 tenon run CONFIG",
      "properties": {
        "engine": {"type": "string", "default": "mpi",
                   "description": "the plugin whose ops distributed.* connect the processes"},
        "bucket_bytes": {"type": "integer", "minimum": 1, "default": 4194304,
                         "description": "gradients are reduced together up to this size"},
        "timeout": {"type": "number", "exclusiveMinimum": 0, "default": 600.0,
                    "description": "seconds after which a rank that others wait for is named, and the job ends"},
        "check": {"type": "string", "enum": ["first", "always", "never"], "default": "first",
                  "description": "when ranks compare what they call: the first time of each kind, each time, or never"},
        "deterministic": {"type": "boolean", "default": false,
                          "description": "whether the weights are the same bits for any number of ranks that divides \"parts\"; slower"},
        "parts": {"type": "integer", "minimum": 1, "default": 12,
                  "description": "into how many parts each batch is divided when deterministic"},
        "shard_optimizer": {"type": "boolean", "default": false,
                            "description": "whether each rank keeps its share of the optimizer's states: it gets that share of the gradients, and sends the parameters that it changes"}
      },
      "examples": [{"engine": "mpi", "bucket_bytes": 4194304, "timeout": 600, "check": "first", "shard_optimizer": true,
                    "deterministic": true, "parts": 12}],
      "additionalProperties": false
    },
    "output": {
      "type": "object",
      "description": "files that a run writes",
      "properties": {
        "weights": {"type": "string", "format": "output-path",
                    "description": "safetensors file of the trained weights"},
        "plot": {"type": "string", "format": "output-path",
                 "description": "image of the learning curves, .svg or .png"},
        "history": {"type": "string", "format": "output-path",
                    "description": "JSON lines, one for each epoch when it is done"},
        "log": {"type": "string", "format": "output-path",
                "description": "what each run prints, with times; runs are appended"},
        "checkpoint": {"type": "string", "format": "output-path",
                       "description": "what --resume continues from; also written on Ctrl-C"}
      },
      "examples": [{"weights": "digits.safetensors", "plot": "curves.svg", "history": "history.jsonl",
                    "log": "run.log", "checkpoint": "run.checkpoint"}],
      "additionalProperties": false
    }
  }
})";

}  // namespace training

TENON_NAMESPACE_END
