// The processes that train one model together, as "distributed" of a config describes them:
//
//   "distributed": {"engine": "mpi", "bucket_bytes": 4194304, "timeout": 600, "check": "first"}
//
// The engine is any plugin with the ops distributed.rank, size, configure, all_gather, broadcast_,
// begin_all_reduce_ and wait, as plugins/mpi/README.md describes them, begin_reduce_scatter where
// the optimizer is sharded, and all_reduce for modules that make calls. Without the section there
// is one rank and no engine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.hpp"
#include "tenon/training/training_config.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class Ranks {  // processes of a training; alone by default
 public:
  Ranks() = default;
  // Loads the engine. ConfigError at its place when it does not provide the ops.
  explicit Ranks(const DistributedConfig& config);

  int64_t rank() const { return rank_; }     // from 0
  int64_t size() const { return size_; }     // number of ranks
  bool first() const { return rank_ == 0; }  // rank 0, which writes files
  bool alone() const { return size_ == 1; }  // one rank
  // Bytes of gradients that are reduced together.
  int64_t bucket_bytes() const { return bucket_bytes_; }
  // Into how many parts each batch is divided, whatever the number of ranks; 0: into one for each
  // rank. With parts the weights are the same bits for each number of ranks that divides them.
  int64_t parts() const { return parts_; }

  // Whether each rank keeps its share of the optimizer's states.
  bool shards_optimizer() const { return shards_optimizer_ && !alone(); }

  // The following are called by all ranks alike.

  // DistributedError unless all ranks have the same text; names the ranks that differ.
  void require_same(const std::string& what, const std::string& text) const;
  // Gives the tensors of all ranks the elements of the first.
  void share(const std::vector<std::pair<std::string, Tensor>>& tensors) const;
  // The rows of all ranks in their order, from each rank's; numbers of rows may differ.
  Tensor gather(const Tensor& rows) const;
  // Gathers rows when all ranks have as many.
  Tensor gather_equal(const Tensor& rows) const;
  // One number of each rank.
  std::vector<double> gather(double value) const;

 private:
  int64_t rank_ = 0, size_ = 1, bucket_bytes_ = 0, parts_ = 0;
  bool shards_optimizer_ = false;
};

}  // namespace training

TENON_NAMESPACE_END
