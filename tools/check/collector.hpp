// Collects the answers of one child after the other into the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "child.hpp"
#include "report.hpp"
#include "worker.hpp"

namespace cli {

// A line on a terminal that says what is checked now.
class CheckProgress {
 public:
  CheckProgress(size_t count, bool shown) : count_(count), live_(shown) {}
  ~CheckProgress() { clear(); }
  CheckProgress(const CheckProgress&) = delete;
  CheckProgress& operator=(const CheckProgress&) = delete;
  void at(size_t index, const std::string& name);
  void clear();

 private:
  size_t count_;
  bool live_;
  bool drawn_ = false;
};

class Collector {
 public:
  // Prints each item when it is done, unless `quiet`.
  Collector(const std::vector<CheckTarget>& targets, CheckReport& report, double timeout,
            bool quiet);

  // True when the time limit begins again: an item begins, or is done, behind the last of which the
  // plugin is unloaded.
  bool receive(const std::string& line);
  // Something else than the worker wrote to the channel of its answers.
  void intrude();
  // Interprets the end of a child; true when another one must continue after the item.
  bool conclude(const ChildEnd& end);
  int64_t next() const { return next_; }
  void finish() { progress_.clear(); }

 private:
  CheckedItem& current() { return running_ ? report_.items.back() : report_.items.front(); }
  void begin();
  void add(const tenon::Json& answer);
  void find_protocol(const std::string& what);
  void finish_item();

  const std::vector<CheckTarget>& targets_;
  CheckReport& report_;
  const double timeout_;
  const bool quiet_;
  CheckProgress progress_;
  std::string stage_ = "open", sample_;
  int64_t next_ = 0;
  bool running_ = false;
  bool ended_ = false;
};

}  // namespace cli
