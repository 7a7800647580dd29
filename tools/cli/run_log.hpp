// The log file of runs: what a run prints, each line with its time.
#pragma once

#include <fstream>
#include <string>

namespace cli {

class RunLog {
 public:
  // Appends to the file; empty: writes nothing. IOError when it cannot be opened.
  explicit RunLog(const std::string& path);
  // Every line of the text, behind the time in UTC: "2026-01-31T12:00:00Z ". A full disk does not
  // end the run.
  void add(const std::string& text);

 private:
  std::ofstream file_;
};

}  // namespace cli
