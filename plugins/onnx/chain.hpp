// Steps that follow each other and compute element by element on tensors of one shape.
//
// They run on a block of elements after the other: what a step leaves for the next one stays in the
// processor's cache, and has no memory of the whole shape. The calls and their bits are those of the steps
// one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "program.hpp"

namespace onnx {

struct Chain {
  size_t steps = 0;               // 0 or 1: nothing to run in blocks
  tenon::Tensor like;             // a tensor of the shape; undefined without a chain
  std::vector<uint32_t> inputs;   // slots of the frame that have this shape
  std::vector<uint32_t> results;  // slots that the steps fill, of each step in turn
  std::vector<uint32_t> outputs;  // those that are read behind the chain
};

using ValueOf = std::function<tenon_value(const Source&)>;

// The chain that begins with step `first`; the values of what it reads are those of `value_of`.
Chain chain_at(const Body& body, size_t first, const ValueOf& value_of);

// Runs the steps of a chain on blocks of its inputs. `run_step(step)` runs a step and fills its slot of the frame.
// run(): false where a step gives something else than a block of its shape; undo() then puts the inputs back.
class ChainRun {
 public:
  ChainRun(const Body& body, size_t first, const Chain& chain, std::vector<tenon::Value>& frame);
  template <class RunStep>
  bool run(const RunStep& run_step) {
    for (int64_t begin = 0; begin < count_; begin += block_) {
      give_blocks(begin);
      for (size_t i = 0; i < chain_.steps; ++i) {
        run_step(body_.steps[first_ + i]);
        if (!is_block(frame_[chain_.results[i]])) return false;
      }
      if (!keep_blocks(begin)) return false;
    }
    return true;
  }
  // The results go to their slots, and what no later step reads is released.
  void finish();
  // Inputs as they were, without results.
  void undo();

 private:
  void give_blocks(int64_t begin);
  bool is_block(const tenon::Value& value) const;
  bool keep_blocks(int64_t begin);

  const Body& body_;
  const size_t first_;
  const Chain& chain_;
  std::vector<tenon::Value>& frame_;
  std::vector<tenon::Tensor> inputs_, outputs_;
  int64_t count_, block_;
  std::vector<int64_t>
      shape_;  // the present block's: as many dimensions, the last of size_ elements
  int64_t size_ = 0;
};

}  // namespace onnx
