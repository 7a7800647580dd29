// Calls that fail, kept in files, and called again.
//
//   record::FailureKeeper keeper("failures");   // this thread's calls from here on
//   ...
//   record::KeptCall kept = record::load_failure("failures/mm-1.safetensors");
//   kept.call();
//
// A file is one of safetensors: tensors with the bits that they had, and in its metadata a document with
// op, arguments, error, versions and hashes of plugins. share/tenon/documents.md has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

// Bounds of what is kept.
struct KeeperOptions {
  int64_t most_files = 20;  // in the folder; those that are there count
  int64_t most_bytes =
      256 << 20;  // taken by the tensors of a call; of larger ones all but the elements is kept
};

// Until it is destroyed, each call of this thread that an application makes and that fails, and each that
// a backward makes, is kept in a file of the folder, which is made when it is needed. Arguments that no
// schema takes are refused before a call begins and are not kept, nor are interrupted calls. Files are written as a whole, and never more than
// there may be, also by several processes; one that cannot be written is a warning in the log, the first time, and
// the error of the call is the caller's in any case. Destroyed on the thread that made it.
class FailureKeeper {
 public:
  explicit FailureKeeper(std::string folder, KeeperOptions options = {});  // begins it
  ~FailureKeeper();                                                        // ends it
  FailureKeeper(const FailureKeeper&) = delete;
  FailureKeeper& operator=(const FailureKeeper&) = delete;

  // The files that it has written.
  const std::vector<std::string>& files() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// A plugin whose file is another one than it was.
struct ChangedPlugin {
  std::string id, before, now;  // "version 1.2, sha256 01ab..."; `now` is empty: it is not found
};

// A call as its file has it. Movable.
class KeptCall {
 public:
  // ValueError where the document does not fit the tensors.
  KeptCall(Json document, std::vector<std::pair<std::string, Tensor>> tensors);
  KeptCall(KeptCall&&) noexcept;             // the other one can be destroyed alone
  KeptCall& operator=(KeptCall&&) noexcept;  // as above
  ~KeptCall();

  const Json& document() const;  // as the file has it
  std::string op() const;        // full name
  std::string error() const;     // "ValueError: mm(): ..."
  // "mm(f32[2, 3], f32[4, 5])"
  std::string text() const;
  // Parts that cannot be made again as they were: a type without a conversion, elements that were not kept.
  std::vector<std::string> gaps() const;
  // Plugins that are other files now than when the call failed.
  std::vector<ChangedPlugin> changed_plugins() const;
  // Calls the op. Throws its error; TypeError for an argument that is a module, which a file does not have.
  std::vector<Value> call() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ValueError for a file that is not one of a failing call, or whose document does not fit its tensors; IOError
// for one that cannot be read. Runs no code of plugins.
KeptCall load_failure(const std::string& path);

}  // namespace record

TENON_NAMESPACE_END
