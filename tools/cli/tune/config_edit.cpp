// Places in the text of a config, and new members at them.
#include "config_edit.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <tenon/json.hpp>

namespace cli {

namespace {

constexpr auto npos = std::string_view::npos;

// Reads JSON with comments and trailing commas, of which a reader has found that it is sound.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Behind white space and comments.
  size_t skip(size_t at) const {
    while (at < text_.size()) {
      if (text_.compare(at, 2, "//") == 0) {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (text_.compare(at, 2, "/*") == 0) {
        at = past(text_.find("*/", at + 2), 2);
      } else if (text_.compare(at, 3, "\xef\xbb\xbf") == 0) {
        at += 3;
      } else if (std::string_view(" \t\r\n").find(text_[at]) != npos) {
        ++at;
      } else {
        break;
      }
    }
    return at;
  }
  size_t end_of_string(size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at) {
      if (text_[at] == '\\') ++at;
    }
    return past(at, 1);
  }
  size_t end_of_value(size_t at) const {
    int depth = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '"') {
        at = end_of_string(at);
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at;
      } else {
        at = std::max(at + 1, std::min(text_.find_first_of("{}[],:\" \t\r\n/", at), text_.size()));
      }
      if (depth == 0) return at;
      at = skip(at);
    }
    return text_.size();
  }

  struct Member {
    std::string key;
    size_t begin, value, end;  // offsets of the key, the value and its end
  };
  struct Object {
    size_t begin = 0, end = 0;  // offsets of the brackets
    std::vector<Member> members;
    bool comma_behind = false;  // the last member has one

    const Member* find(std::string_view key) const {
      const auto found = std::find_if(members.begin(), members.end(),
                                      [&](const Member& member) { return member.key == key; });
      return found == members.end() ? nullptr : &*found;
    }
  };
  Object object(size_t at) const {
    Object object;
    object.begin = at;
    at = skip(past(at, 1));
    while (at < text_.size() && text_[at] != '}') {
      if (text_[at] == ',') {
        object.comma_behind = true;
        at = skip(at + 1);
        continue;
      }
      object.comma_behind = false;
      Member member;
      member.begin = at;
      const size_t key_end = end_of_string(at);
      member.key = tenon::Json::parse(text_.substr(at, key_end - at)).text();
      member.value = skip(past(skip(key_end), 1));
      member.end = end_of_value(member.value);
      at = skip(member.end);
      object.members.push_back(std::move(member));
    }
    object.end = past(at, 0);
    return object;
  }

 private:
  size_t past(size_t at, size_t count) const {
    if (at >= text_.size() || at + count > text_.size())
      throw std::runtime_error("the config ends within a value");
    return at + count;
  }
  const std::string_view text_;
};

// The indent of the line that has the place.
std::string indent_at(std::string_view text, size_t at) {
  const size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t first = begin == npos ? 0 : begin + 1;
  const size_t end = std::min(text.find_first_not_of(" \t", first), text.size());
  return std::string(text.substr(first, end - first));
}

class Editor {
 public:
  explicit Editor(std::string text)
      : text_(std::move(text)), line_(text_.find("\r\n") == std::string::npos ? "\n" : "\r\n") {
    const Scanner::Object root = root_object();
    if (!root.members.empty()) {
      const std::string found = indent_at(text_, root.members.front().begin);
      if (!found.empty()) unit_ = found;
    }
  }

  void set(const NewPreference& preference) {
    const Scanner::Object prefer = object_at({"ops", "prefer"}, !preference.second.empty());
    if (prefer.end == 0) return;
    const Scanner::Member* member = prefer.find(preference.first);
    if (preference.second.empty()) {
      if (member != nullptr) remove(prefer, *member);
      return;
    }
    const std::string indent = indent_at(text_, prefer.begin) + unit_;
    if (member != nullptr) {
      const std::string at = indent_at(text_, member->begin);
      text_.replace(member->value, member->end - member->value,
                    list_text(preference.second, at.empty() ? indent : at));
    } else {
      insert_first(prefer, quoted(preference.first) + ": " + list_text(preference.second, indent));
    }
  }
  const std::string& text() const { return text_; }

 private:
  Scanner::Object root_object() const {
    const Scanner scanner(text_);
    return scanner.object(scanner.skip(0));
  }

  // The object at the path, made where it is not there; else one that ends at 0.
  Scanner::Object object_at(const std::vector<std::string>& path, bool make) {
    for (;;) {
      Scanner::Object object = root_object();
      size_t depth = 0;
      for (; depth < path.size(); ++depth) {
        const Scanner::Member* member = object.find(path[depth]);
        if (member == nullptr) break;
        object = Scanner(text_).object(member->value);
      }
      if (depth == path.size()) return object;
      if (!make) return {};
      insert_first(object, quoted(path[depth]) + ": {}");
    }
  }

  void insert_first(const Scanner::Object& object, const std::string& member) {
    const std::string outer = indent_at(text_, object.begin), inner = outer + unit_;
    std::string inserted = line_ + inner + member;
    if (!object.members.empty()) inserted += ",";
    // Text after the bracket moves to a new line; a comment, which is about this line, stays.
    const size_t next = text_.find_first_not_of(" \t", object.begin + 1);
    const bool rest = next != std::string::npos && text_[next] != '\n' && text_[next] != '\r' &&
                      text_[next] != '/';
    size_t at = object.begin + 1;
    if (rest) {
      text_.erase(at, next - at);
      inserted += line_ + (text_[at] == '}' ? outer : inner);
    } else if (next != std::string::npos && text_[next] == '/') {
      // Behind the comment where it ends with the line.
      const size_t end = std::min(text_.find_first_of("\r\n", next), text_.size());
      if (Scanner(text_).skip(at) >= end)
        at = end;
      else
        inserted += line_ + inner;
    }
    text_.insert(at, inserted);
  }

  // With the comma behind it, or the one before it.
  void remove(const Scanner::Object& object, const Scanner::Member& member) {
    size_t begin = member.begin, end = member.end;
    const size_t behind = Scanner(text_).skip(end);
    const auto index = static_cast<size_t>(&member - object.members.data());
    if (text_[behind] == ',') {
      end = behind + 1;
    } else if (index > 0) {
      const size_t comma = Scanner(text_).skip(object.members[index - 1].end);
      text_.erase(comma, 1);
      --begin, --end;
    }
    const size_t line_begin = text_.find_last_not_of(" \t", begin - 1);
    const size_t line_end = text_.find_first_not_of(" \t\r", end);
    if (line_begin != std::string::npos && text_[line_begin] == '\n' &&
        line_end != std::string::npos && text_[line_end] == '\n') {
      begin = line_begin;
      end = line_end;
      if (begin > 0 && text_[begin - 1] == '\r' && text_[end - 1] == '\r') --begin, --end;
    }
    text_.erase(begin, end - begin);
  }

  std::string list_text(const std::vector<std::string>& entries, const std::string& indent) const {
    std::string text = "[";
    for (size_t i = 0; i < entries.size(); ++i)
      text += (i == 0 ? "" : ",") + line_ + indent + unit_ + entries[i];
    return text + line_ + indent + "]";
  }
  static std::string quoted(const std::string& text) { return "\"" + text + "\""; }

  std::string text_;
  const std::string line_;
  std::string unit_ = "  ";
};

}  // namespace

std::string with_preferences(const std::string& config,
                             const std::vector<NewPreference>& preferences) {
  Editor editor(config);
  // Each is put before the others: the first comes last.
  for (auto preference = preferences.rbegin(); preference != preferences.rend(); ++preference)
    editor.set(*preference);
  return editor.text();
}

// ---- what changes ----

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string diff_line(char sign, std::string_view line) {
  std::string text = sign + std::string(line);
  if (!line.empty() && line.back() == '\n') return text;
  return text + "\n\\ No newline at end of file\n";
}

std::string range_text(size_t begin, size_t count) {
  return std::to_string(count == 0 ? begin : begin + 1) + "," + std::to_string(count);
}

}  // namespace

std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& name) {
  constexpr size_t kContext = 3;
  if (before == after) return "";
  const std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
  const size_t shorter = std::min(old_lines.size(), new_lines.size());
  size_t head = 0, tail = 0;
  while (head < shorter && old_lines[head] == new_lines[head]) ++head;
  while (tail < shorter - head &&
         old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail])
    ++tail;
  const size_t first = head - std::min(head, kContext), behind = std::min(tail, kContext);
  const size_t old_end = old_lines.size() - tail, new_end = new_lines.size() - tail;
  std::string text = "--- " + name + "\n+++ " + name + "\n@@ -" +
                     range_text(first, old_end + behind - first) + " +" +
                     range_text(first, new_end + behind - first) + " @@\n";
  for (size_t i = first; i < head; ++i) text += diff_line(' ', old_lines[i]);
  for (size_t i = head; i < old_end; ++i) text += diff_line('-', old_lines[i]);
  for (size_t i = head; i < new_end; ++i) text += diff_line('+', new_lines[i]);
  for (size_t i = old_end; i < old_end + behind; ++i) text += diff_line(' ', old_lines[i]);
  return text;
}

}  // namespace cli
