// Options of `tenon check` and of its workers. As words they start the program tenon-check: `tenon`
// writes them for the check, and the check for each of its workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"

namespace cli {

struct CheckOptions {
  std::string plugin;  // id or path
  std::string item;    // only the item of this name
  SessionOptions session;
  double timeout = 30;    // seconds for each item
  int64_t memory = 4096;  // MiB
  uint64_t seed = 0;
  std::string options;               // JSON as in a sample's "check"
  std::string samples;               // JSON, in place of those that a module declares
  std::string page;                  // HTML file to write
  std::vector<std::string> against;  // providers to compare with, by id or path
  bool in_process = false;
  bool json = false;
};

struct WorkerOptions {
  std::string plugin;
  std::string item;  // only the item of this name
  SessionOptions session;
  int64_t first = 0;   // target to begin with
  int64_t memory = 0;  // MiB of address space; 0: no limit
  uint64_t seed = 0;
  std::string options;  // JSON, see CheckSettings
  std::string samples;  // JSON, in place of those that a module declares
  std::string folder;   // for files of samples and modules; the starter removes it
  // Providers to compare with. Either the plugin's calls are recorded, or theirs compared with it.
  std::vector<std::string> against;
  bool record = false;
  bool own_output = false;  // stdout is a file that nothing else uses; not one of the words
};

// The words are "name=value", for each value that is not the default.
std::vector<std::string> words_of(const CheckOptions& options);
std::vector<std::string> words_of(const WorkerOptions& options);

// Throw UsageError where a word is not one of these.
CheckOptions read_check_options(const std::vector<std::string>& words);
WorkerOptions read_worker_options(const std::vector<std::string>& words);

}  // namespace cli
