// Trees: nodes of a document in one array, the builder, the strict parser over Boost.JSON, the
// writer.
#include "core/base/tree.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include <boost/json/basic_parser_impl.hpp>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

// Children of a node are side by side in `nodes`, after the children of their siblings; the root is
// last.
struct TreeDocument {
  std::atomic<int64_t> references{1};
  std::vector<tenon_tree> nodes;
  std::string text;              // keys and strings
  std::vector<uint32_t> sorted;  // for large objects: child positions in the order of their keys
  std::string source;

  std::string_view view(uint32_t offset, uint32_t length) const {
    return std::string_view(text).substr(offset, length);
  }
};

namespace {

// Objects with more members than this get an order by key; smaller ones are searched from the
// front.
constexpr uint32_t kLargeObject = 16;

[[noreturn]] void misuse(const char* what) {
  throw Error(TENON_ERROR_INTERNAL, std::string("tree builder: ") + what);
}

[[noreturn]] void wrong_kind(const tenon_tree& node, std::string_view expected) {
  const std::string place = place_of(node);
  throw Error(TENON_ERROR_VALUE, (place.empty() ? "" : place + ": ") + "found " +
                                     std::string(kind_text(node.kind())) + ", expected " +
                                     std::string(expected));
}

}  // namespace

std::string_view kind_text(TreeKind kind) {
  switch (kind) {
    case TreeKind::Null:
      return "null";
    case TreeKind::Bool:
      return "a boolean";
    case TreeKind::Int:
      return "an integer";
    case TreeKind::Double:
      return "a number";
    case TreeKind::String:
      return "a string";
    case TreeKind::Array:
      return "an array";
    case TreeKind::Object:
      return "an object";
  }
  return "nothing";
}

std::string place_text(std::string_view source, TreePlace place) {
  if (place.line == 0) return escaped(source);
  const std::string line = std::to_string(place.line);
  const std::string column = std::to_string(place.column);
  if (source.empty()) return "line " + line + ", column " + column;
  return escaped(source) + ":" + line + ":" + column;
}

std::string pointer_step(std::string_view pointer, std::string_view key) {
  std::string text = std::string(pointer) + "/";
  for (const char letter : key) {
    if (letter == '~') {
      text += "~0";
    } else if (letter == '/') {
      text += "~1";
    } else {
      text += letter;
    }
  }
  return text;
}

std::string pointer_of(const tenon_tree& node) {
  const tenon_tree* parent = node.parent();
  if (parent == nullptr) return {};
  if (parent->is_object()) return pointer_step(pointer_of(*parent), node.key());
  return pointer_of(*parent) + "/" + std::to_string(&node - parent->children().data());
}

std::string place_of(const tenon_tree& node) {
  const std::string place = place_text(node.source(), node.place());
  const std::string pointer = escaped(pointer_of(node));
  return place + (place.empty() || pointer.empty() ? "" : ": ") + pointer;
}

const tenon_tree* tree_at_pointer(const tenon_tree& tree, std::string_view pointer) {
  const tenon_tree* node = &tree;
  while (node != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::string_view step = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(step.size());
    if (node->is_array()) {
      int64_t index = -1;
      const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
      const bool whole = error == std::errc() && end == step.data() + step.size();
      const bool plain = step.size() == 1 || (!step.empty() && step.front() != '0');
      node = whole && plain ? node->at(index) : nullptr;
      continue;
    }
    std::string key;
    for (size_t i = 0; i < step.size(); ++i) {
      const bool escape = step[i] == '~' && i + 1 < step.size();
      key += escape ? (step[++i] == '1' ? '/' : '~') : step[i];
    }
    node = node->find(key);
  }
  return node;
}

TreeBuilder::TreeBuilder(std::string_view source) : document_(new TreeDocument) {
  document_->source = source;
}

TreeBuilder::~TreeBuilder() { delete document_; }

void TreeBuilder::reserve(size_t nodes, size_t text) {
  document_->nodes.reserve(nodes);
  document_->text.reserve(text);
  pending_.reserve(std::min<size_t>(nodes, 64));
}

uint32_t TreeBuilder::store(std::string_view text) {
  const size_t offset = document_->text.size();
  if (text.size() > std::numeric_limits<uint32_t>::max() - offset) {
    throw Error(TENON_ERROR_VALUE, "a tree holds at most 4 GiB of text");
  }
  document_->text += text;
  return static_cast<uint32_t>(offset);
}

tenon_tree& TreeBuilder::push(TreeKind kind) {
  if (document_ == nullptr) misuse("used after finish");
  if (frames_.empty() ? !pending_.empty() || !document_->nodes.empty()
                      : frames_.back().object != has_key_) {
    misuse(frames_.empty() ? "a second root"
           : has_key_      ? "a key in an array"
                           : "a member without a key");
  }
  tenon_tree& node = pending_.emplace_back();
  node.kind_ = kind;
  node.place_ = std::exchange(place_, TreePlace{});
  if (has_key_) {
    node.key_offset_ = key_offset_;
    node.key_length_ = key_length_;
    node.key_place_ = key_place_;
    has_key_ = false;
  }
  return node;
}

TreeBuilder& TreeBuilder::key(std::string_view name, TreePlace place) {
  if (frames_.empty() || !frames_.back().object || has_key_) misuse("a key where none belongs");
  key_offset_ = store(name);
  key_length_ = static_cast<uint32_t>(name.size());
  key_place_ = place;
  has_key_ = true;
  return *this;
}

TreeBuilder& TreeBuilder::at(TreePlace place) {
  place_ = place;
  return *this;
}

TreeBuilder& TreeBuilder::value(std::nullptr_t) {
  push(TreeKind::Null);
  return *this;
}

TreeBuilder& TreeBuilder::add_bool(bool boolean) {
  push(TreeKind::Bool).as_.integer = boolean ? 1 : 0;
  return *this;
}

TreeBuilder& TreeBuilder::add_int(int64_t number) {
  push(TreeKind::Int).as_.integer = number;
  return *this;
}

TreeBuilder& TreeBuilder::add_double(double number) {
  push(TreeKind::Double).as_.number = number;
  return *this;
}

TreeBuilder& TreeBuilder::value(std::string_view text) {
  const uint32_t offset = store(text);
  push(TreeKind::String).as_.string = {offset, static_cast<uint32_t>(text.size())};
  return *this;
}

TreeBuilder& TreeBuilder::begin_object() {
  push(TreeKind::Object);
  frames_.push_back({pending_.size() - 1, true});
  return *this;
}

TreeBuilder& TreeBuilder::begin_array() {
  push(TreeKind::Array);
  frames_.push_back({pending_.size() - 1, false});
  return *this;
}

TreeBuilder& TreeBuilder::end_object() { return end(true); }
TreeBuilder& TreeBuilder::end_array() { return end(false); }

std::string_view TreeBuilder::key_text(const tenon_tree& node) const {
  return document_->view(node.key_offset_, node.key_length_);
}

std::string TreeBuilder::open_pointer() const {
  std::string pointer;
  for (size_t depth = 1; depth < frames_.size(); ++depth) {
    const Frame& outer = frames_[depth - 1];
    const size_t container = frames_[depth].container;
    if (outer.object) {
      pointer = pointer_step(pointer, key_text(pending_[container]));
    } else {
      pointer += "/" + std::to_string(container - outer.container - 1);
    }
  }
  return pointer;
}

// Finds duplicate keys among the members from `first` on, and gives large objects their order by
// key.
void TreeBuilder::settle_keys(size_t first) {
  const size_t count = pending_.size() - first;
  std::vector<uint32_t> order;
  std::vector<std::pair<size_t, size_t>> repeats;  // (later, first), as positions in pending_
  if (count <= kLargeObject) {
    for (size_t i = 1; i < count; ++i) {
      const std::string_view name = key_text(pending_[first + i]);
      for (size_t j = 0; j < i; ++j) {
        if (key_text(pending_[first + j]) != name) continue;
        repeats.emplace_back(first + i, first + j);
        break;
      }
    }
  } else {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0u);
    const auto name = [&](uint32_t position) { return key_text(pending_[first + position]); };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
    size_t original = 0;
    for (size_t i = 1; i < count; ++i) {
      if (name(order[i]) == name(order[original])) {
        repeats.emplace_back(first + order[i], first + order[original]);
      } else {
        original = i;
      }
    }
    std::sort(repeats.begin(), repeats.end());
  }
  if (!repeats.empty()) {
    if (duplicates_ == nullptr) misuse("a duplicate key");
    const std::string pointer = open_pointer();
    for (const auto& [later, original] : repeats) {
      const std::string_view name = key_text(pending_[later]);
      duplicates_->push_back({std::string(name), pointer_step(pointer, name),
                              pending_[later].key_place_, pending_[original].key_place_});
    }
    size_t kept = repeats.front().first;
    size_t next = 0;
    for (size_t i = kept; i < pending_.size(); ++i) {
      if (next < repeats.size() && repeats[next].first == i) {
        ++next;
      } else {
        pending_[kept++] = pending_[i];
      }
    }
    pending_.resize(kept);
    settle_keys(first);
    return;
  }
  if (!order.empty()) {
    pending_[first - 1].sorted_ = static_cast<uint32_t>(document_->sorted.size());
    document_->sorted.insert(document_->sorted.end(), order.begin(), order.end());
  }
}

TreeBuilder& TreeBuilder::end(bool object) {
  if (frames_.empty() || frames_.back().object != object || has_key_)
    misuse("an end where none belongs");
  const size_t container = frames_.back().container;
  if (object) settle_keys(container + 1);
  frames_.pop_back();
  std::vector<tenon_tree>& nodes = document_->nodes;
  const auto first = static_cast<uint32_t>(nodes.size());
  const size_t count = pending_.size() - container - 1;
  if (nodes.size() + count >= std::numeric_limits<uint32_t>::max()) misuse("too many nodes");
  for (size_t i = 0; i < count; ++i) {
    const tenon_tree& node = nodes.emplace_back(pending_[container + 1 + i]);
    for (uint32_t child = 0; child < node.count_; ++child) {
      nodes[node.as_.first + child].parent_ = first + static_cast<uint32_t>(i);
    }
  }
  pending_.resize(container + 1);
  pending_[container].as_.first = first;
  pending_[container].count_ = static_cast<uint32_t>(count);
  return *this;
}

TreeBuilder& TreeBuilder::copy(const tenon_tree& node, bool places) {
  if (places) at(node.place());
  switch (node.kind()) {
    case TreeKind::Null:
      return value(nullptr);
    case TreeKind::Bool:
      return add_bool(node.as_bool());
    case TreeKind::Int:
      return add_int(node.as_int());
    case TreeKind::Double:
      return add_double(node.as_double());
    case TreeKind::String:
      return value(node.as_string());
    case TreeKind::Array:
      begin_array();
      for (const tenon_tree& child : node.children()) copy(child, places);
      return end_array();
    case TreeKind::Object:
      begin_object();
      for (const tenon_tree& child : node.children()) {
        key(child.key(), places ? child.key_place() : TreePlace{}).copy(child, places);
      }
      return end_object();
  }
  return *this;
}

Tree TreeBuilder::finish() {
  if (document_ == nullptr || !frames_.empty() || pending_.size() != 1)
    misuse("finish before the end");
  std::vector<tenon_tree>& nodes = document_->nodes;
  const auto root = static_cast<uint32_t>(nodes.size());
  nodes.push_back(pending_.front());
  for (uint32_t child = 0; child < nodes[root].count_; ++child) {
    nodes[nodes[root].as_.first + child].parent_ = root;
  }
  for (tenon_tree& node : nodes) node.document_ = document_;
  pending_.clear();
  document_ = nullptr;
  return Tree::take(&nodes[root]);
}

namespace {

void add_value(TreeBuilder& builder, const tenon_value& value) {
  switch (value.tag) {
    case TENON_VALUE_NONE:
      builder.value(nullptr);
      return;
    case TENON_VALUE_BOOL:
      builder.value(value.as.integer != 0);
      return;
    case TENON_VALUE_INT:
      builder.value(value.as.integer);
      return;
    case TENON_VALUE_FLOAT:
      builder.value(value.as.number);
      return;
    case TENON_VALUE_STRING:
      builder.value(std::string_view(value.as.string, value.length));
      return;
    case TENON_VALUE_TREE:
      if (value.as.tree == nullptr) break;
      builder.copy(*value.as.tree, false);
      return;
    default:
      break;
  }
  throw Error(TENON_ERROR_TYPE,
              "a tree holds numbers, strings, none and trees, found a value of tag " +
                  std::to_string(value.tag));
}

}  // namespace

Tree make_array(std::span<const tenon_value> values) {
  TreeBuilder builder;
  builder.begin_array();
  for (const tenon_value& value : values) add_value(builder, value);
  return builder.end_array().finish();
}

Tree make_object(std::span<const tenon_string> keys, std::span<const tenon_value> values) {
  TreeBuilder builder;
  std::vector<DuplicateKey> repeated;
  builder.collect_duplicates(&repeated);
  builder.begin_object();
  for (size_t i = 0; i < values.size(); ++i) {
    builder.key({keys[i].data, static_cast<size_t>(keys[i].length)});
    add_value(builder, values[i]);
  }
  builder.end_object();
  if (!repeated.empty())
    throw Error(TENON_ERROR_VALUE, "duplicate key " + quote(repeated.front().key));
  return builder.finish();
}

namespace {

namespace json_parser = boost::json;

// Receives the parser's events. Boost gives no positions: a cursor of our own follows through the
// text, which the parser has already found to be right up to the event.
class Handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<uint32_t>::max();

  Handler(std::string_view source, TreeBuilder& builder) : source_(source), builder_(builder) {}

  using Code = json_parser::error_code;
  using Part = json_parser::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    builder_.at(seek()).begin_object();
    ++cursor_;
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    seek();
    ++cursor_;
    builder_.end_object();
    return true;
  }
  bool on_array_begin(Code&) {
    builder_.at(seek()).begin_array();
    ++cursor_;
    return true;
  }
  bool on_array_end(std::size_t, Code&) {
    seek();
    ++cursor_;
    builder_.end_array();
    return true;
  }
  bool on_key_part(Part part, std::size_t, Code&) { return keep(part); }
  bool on_key(Part part, std::size_t, Code&) {
    const TreePlace place = seek();
    skip_string();
    builder_.key(whole(part), place);
    parts_.clear();
    return true;
  }
  bool on_string_part(Part part, std::size_t, Code&) { return keep(part); }
  bool on_string(Part part, std::size_t, Code&) {
    const TreePlace place = seek();
    skip_string();
    builder_.at(place).value(whole(part));
    parts_.clear();
    return true;
  }
  bool on_number_part(Part, Code&) { return true; }
  bool on_int64(int64_t number, Part, Code&) {
    builder_.at(seek()).value(number);
    skip_word();
    return true;
  }
  bool on_uint64(uint64_t, Part, Code&) {
    return out_of_range("the integer does not fit in 64 bits");
  }
  // The parser's own conversion may be off in the last place, and large integers arrive here too.
  bool on_double(double, Part, Code&) {
    const TreePlace place = seek();
    const size_t begin = cursor_;
    skip_word();
    const std::string_view text = source_.substr(begin, cursor_ - begin);
    cursor_ = begin;
    if (text.find_first_of(".eE") == std::string_view::npos) {
      return out_of_range("the integer does not fit in 64 bits");
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) {
      // Too small is zero; too large has no value.
      if (too_large(text)) return out_of_range("the number is too large for a double");
      number = text.front() == '-' ? -0.0 : 0.0;
    }
    builder_.at(place).value(number);
    skip_word();
    return true;
  }
  bool on_bool(bool boolean, Code&) {
    builder_.at(seek()).value(boolean);
    skip_word();
    return true;
  }
  bool on_null(Code&) {
    builder_.at(seek()).value(nullptr);
    skip_word();
    return true;
  }
  bool on_comment_part(Part, Code&) { return true; }
  bool on_comment(Part, Code&) { return true; }

  // What the handler itself found wrong, at the cursor.
  const char* fault() const { return fault_; }
  size_t cursor() const { return cursor_; }

 private:
  bool keep(Part part) {
    parts_.append(part.data(), part.size());
    return true;
  }
  std::string_view whole(Part part) {
    const std::string_view last(part.data(), part.size());
    if (parts_.empty()) return last;
    parts_ += last;
    return parts_;
  }
  bool out_of_range(const char* what) {
    seek();
    fault_ = what;
    return false;
  }
  static bool too_large(std::string_view text) {
    const size_t exponent = text.find_first_of("eE");
    const std::string_view digits = text.substr(0, exponent);
    const size_t point = digits.find('.');
    // "0.000...": only a negative power or leading zeros can be too small.
    if (exponent != std::string_view::npos && exponent + 1 < text.size())
      return text[exponent + 1] != '-';
    return point == std::string_view::npos || point > 300;
  }

  // Moves to the next token and gives its place.
  TreePlace seek() {
    for (; cursor_ < source_.size(); ++cursor_) {
      const char letter = source_[cursor_];
      if (letter == '\n') {
        ++line_;
        line_start_ = cursor_ + 1;
        continued_ = 0;
      } else if (letter == '/') {
        skip_comment();
      } else if (letter != ' ' && letter != '\t' && letter != '\r' && letter != ',' &&
                 letter != ':') {
        break;
      }
    }
    return {line_, static_cast<uint32_t>(cursor_ - line_start_ - continued_ + 1),
            static_cast<uint32_t>(cursor_)};
  }
  // Ends on the comment's last character, or before the newline that ends it.
  void skip_comment() {
    const bool block = cursor_ + 1 < source_.size() && source_[cursor_ + 1] == '*';
    const size_t found = block ? source_.find("*/", cursor_ + 2) : source_.find('\n', cursor_);
    const size_t end = found == std::string_view::npos ? source_.size() : found + (block ? 2 : 0);
    for (; cursor_ + 1 < end; ++cursor_) count(source_[cursor_]);
  }
  void count(char letter) {
    if (letter == '\n') {
      ++line_;
      line_start_ = cursor_ + 1;
      continued_ = 0;
    } else if ((static_cast<unsigned char>(letter) & 0xC0u) == 0x80u) {
      ++continued_;
    }
  }
  void skip_string() {
    for (++cursor_; cursor_ < source_.size() && source_[cursor_] != '"'; ++cursor_) {
      if (source_[cursor_] == '\\') {
        ++cursor_;
      } else {
        count(source_[cursor_]);
      }
    }
    ++cursor_;
  }
  void skip_word() {
    while (cursor_ < source_.size()) {
      const char letter = source_[cursor_];
      const bool part = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                        letter == '+' || letter == '-' || letter == '.' || letter == 'E';
      if (!part) break;
      ++cursor_;
    }
  }

  std::string_view source_;
  TreeBuilder& builder_;
  std::string parts_;
  const char* fault_ = nullptr;
  size_t cursor_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  size_t continued_ = 0;  // bytes of this line that continue a character
};

TreePlace place_at(std::string_view source, size_t offset) {
  const std::string_view before = source.substr(0, offset);
  const size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  return {static_cast<uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<uint32_t>(1 + character_count(line)), static_cast<uint32_t>(offset)};
}

[[noreturn]] void fail(std::string_view source, size_t offset, const std::string& what,
                       const TreeOptions& options) {
  throw Error(options.kind, place_text(options.source, place_at(source, offset)) + ": " + what +
                                caret_lines(source, offset));
}

constexpr const char* kHalfSurrogate =
    "half of a surrogate pair; \\uXXXX escapes above U+FFFF come in pairs";

std::string_view character_at(std::string_view source, size_t offset) {
  size_t end = offset + 1;
  if (static_cast<unsigned char>(source[offset]) >= 0x80) {
    while (end < source.size() && (static_cast<unsigned char>(source[end]) & 0xC0u) == 0x80u) ++end;
  }
  return source.substr(offset, end - offset);
}

size_t last_visible(std::string_view source, size_t offset) {
  return source.substr(0, offset).find_last_not_of(" \t\r\n");
}

// Says in words what is at `offset`, where the parser gave up.
std::string syntax_fault(std::string_view source, size_t offset, bool inside_string) {
  if (offset >= source.size()) {
    return inside_string ? "the text ends inside a string" : "the text ends before the value does";
  }
  const char letter = source[offset];
  const auto byte = static_cast<unsigned char>(letter);
  if (offset == 0 && source.substr(0, 3) == "\xEF\xBB\xBF") {
    return "the text begins with a byte order mark; save it as plain UTF-8";
  }
  if (byte >= 0x80 && !is_utf8(source.substr(offset, 4)) && !is_utf8(source.substr(offset, 3)) &&
      !is_utf8(source.substr(offset, 2))) {
    return "the text is not UTF-8";
  }
  if (inside_string && (letter == '\n' || letter == '\r')) {
    return "the line ends inside a string; write \\n for a line break";
  }
  if (inside_string && byte < 0x20)
    return "a control character inside a string; write it as \\u00..";
  const std::string_view escape = offset < 6 ? "" : source.substr(offset - 6, 4);
  const bool half = escape.starts_with("\\u") && (escape[2] == 'd' || escape[2] == 'D') &&
                    escape.find_first_of("89abAB", 3) == 3;
  if (inside_string && half) return kHalfSurrogate;
  if (inside_string) return "no such escape; \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX exist";
  const size_t previous = last_visible(source, offset);
  const char before = previous == std::string_view::npos ? '\0' : source[previous];
  if ((letter == '}' || letter == ']') && before == ',') {
    return std::string("a comma before '") + letter + "'; JSON allows none after the last entry";
  }
  if (letter == '/' || letter == '#') return "JSON has no comments";
  if (letter == '\'') return "strings are written in double quotes";
  std::string text = "unexpected " + quote(character_at(source, offset));
  if (before == '"' || (before >= '0' && before <= '9') || before == '}' || before == ']') {
    if (letter == '"' || letter == '{' || letter == '[')
      text += "; is a comma or colon missing before it?";
  }
  return text;
}

// Whether `offset` is inside a string that starts at or after the handler's last token.
bool is_inside_string(std::string_view source, size_t begin, size_t offset) {
  bool inside = false;
  for (size_t i = begin; i < offset && i < source.size(); ++i) {
    if (source[i] == '\\' && inside) {
      ++i;
    } else if (source[i] == '"') {
      inside = !inside;
    }
  }
  return inside;
}

}  // namespace

Tree parse_tree(std::string_view source, const TreeOptions& options) {
  if (source.size() > std::min<size_t>(options.max_bytes, std::numeric_limits<uint32_t>::max())) {
    throw Error(options.kind, (options.source.empty() ? "" : options.source + ": ") +
                                  "the text has " + std::to_string(source.size()) +
                                  " bytes; at most " + std::to_string(options.max_bytes) +
                                  " are read");
  }
  if (source.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error(options.kind, (options.source.empty() ? "" : options.source + ": ") +
                                  "the text is empty, expected JSON");
  }
  std::vector<DuplicateKey> repeated;
  TreeBuilder builder(options.source);
  builder.reserve(source.size() / 16 + 4, source.size() / 2);
  builder.collect_duplicates(options.duplicates != nullptr ? options.duplicates : &repeated);

  json_parser::parse_options parse_options;
  parse_options.max_depth = options.max_depth;
  parse_options.allow_comments = options.relaxed;
  parse_options.allow_trailing_commas = options.relaxed;
  json_parser::basic_parser<Handler> parser(parse_options, source, builder);
  json_parser::error_code code;
  const size_t read = parser.write_some(false, source.data(), source.size(), code);
  const Handler& handler = parser.handler();
  if (handler.fault() != nullptr) fail(source, handler.cursor(), handler.fault(), options);
  if (code) {
    using Kind = json_parser::error;
    if (code == Kind::too_deep) {
      fail(source, read, "nested deeper than " + std::to_string(options.max_depth) + " levels",
           options);
    }
    if (code == Kind::exponent_overflow) fail(source, read, "the exponent is too large", options);
    if (code == Kind::illegal_leading_surrogate || code == Kind::illegal_trailing_surrogate ||
        code == Kind::expected_utf16_escape) {
      fail(source, read, kHalfSurrogate, options);
    }
    if (code == Kind::expected_hex_digit) {
      fail(source, read, "\\u wants four hexadecimal digits", options);
    }
    const size_t offset = code == Kind::incomplete ? source.size() : read;
    fail(source, offset,
         syntax_fault(source, offset, is_inside_string(source, handler.cursor(), offset)), options);
  }
  if (read < source.size()) {
    fail(source, read,
         "unexpected " + quote(character_at(source, read)) + " after the end of the value",
         options);
  }
  if (!repeated.empty()) {
    const auto first = std::min_element(repeated.begin(), repeated.end(),
                                        [](const DuplicateKey& a, const DuplicateKey& b) {
                                          return a.place.offset < b.place.offset;
                                        });
    fail(source, first->place.offset,
         "duplicate key " + quote(first->key) + " (first at " + place_text("", first->first) + ")",
         options);
  }
  return builder.finish();
}

namespace {

constexpr size_t kLineWidth = 100;

void write_string(std::string_view text, std::string& out) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const char letter = text[i];
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x80) {
      size_t length = 1;
      while (length < 4 && i + length < text.size() &&
             (static_cast<unsigned char>(text[i + length]) & 0xC0u) == 0x80u) {
        ++length;
      }
      const std::string_view character = text.substr(i, length);
      if (!is_utf8(character)) {
        out += "\xEF\xBF\xBD";
      } else if (needs_escape(character)) {
        out += escaped(character);  // \u202e, as JSON writes it
      } else {
        out += character;
      }
      i += length;
      continue;
    }
    ++i;
    switch (letter) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (byte < 0x20 || byte == 0x7F) {
          out += "\\u00";
          out += digits[byte >> 4];
          out += digits[byte & 15];
        } else {
          out += letter;
        }
    }
  }
  out += '"';
}

void write_scalar(const tenon_tree& node, std::string& out) {
  switch (node.kind()) {
    case TreeKind::Bool:
      out += node.as_bool() ? "true" : "false";
      break;
    case TreeKind::Int:
      out += std::to_string(node.as_int());
      break;
    case TreeKind::Double:
      out += std::isfinite(node.as_double()) ? float_text(node.as_double()) : "null";
      break;
    case TreeKind::String:
      write_string(node.as_string(), out);
      break;
    default:
      out += "null";
  }
}

void write(const tenon_tree& node, int32_t indent, size_t margin, std::string& out) {
  const bool object = node.is_object();
  if (!object && !node.is_array()) return write_scalar(node, out);
  const auto children = node.children();
  const bool scalars = std::none_of(children.begin(), children.end(),
                                    [](const tenon_tree& child) { return child.size() > 0; });
  // Arrays of plain values are on one line where they fit.
  if (indent > 0 && !object && scalars) {
    std::string line;
    for (const tenon_tree& child : children) {
      if (!line.empty()) line += ", ";
      write(child, 0, 0, line);
      if (line.size() > kLineWidth) break;
    }
    if (margin + line.size() + 2 <= kLineWidth) {
      out += "[" + line + "]";
      return;
    }
  }
  out += object ? '{' : '[';
  const size_t inner = margin + static_cast<size_t>(indent);
  for (const tenon_tree& child : children) {
    if (&child != children.data()) out += ',';
    if (indent > 0) out.append(1, '\n').append(inner, ' ');
    if (object) {
      write_string(child.key(), out);
      out += indent > 0 ? ": " : ":";
    }
    write(child, indent, inner, out);
  }
  if (indent > 0 && !children.empty()) out.append(1, '\n').append(margin, ' ');
  out += object ? '}' : ']';
}

}  // namespace

std::string json(const tenon_tree& tree, int32_t indent) {
  std::string out;
  write(tree, std::clamp(indent, 0, 16), 0, out);
  return out;
}

}  // namespace tenon::core

using tenon::core::TreeKind;

void tenon_tree::retain() const noexcept {
  document_->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_tree::release() const noexcept {
  // Kept aside: this node dies with its document.
  tenon::core::TreeDocument* const document = document_;
  if (document->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete document;
}

bool tenon_tree::as_bool() const {
  if (kind_ != TreeKind::Bool) tenon::core::wrong_kind(*this, "a boolean");
  return as_.integer != 0;
}

int64_t tenon_tree::as_int() const {
  if (kind_ != TreeKind::Int) tenon::core::wrong_kind(*this, "an integer");
  return as_.integer;
}

double tenon_tree::as_double() const {
  if (kind_ == TreeKind::Int) return static_cast<double>(as_.integer);
  if (kind_ != TreeKind::Double) tenon::core::wrong_kind(*this, "a number");
  return as_.number;
}

std::string_view tenon_tree::as_string() const {
  if (kind_ != TreeKind::String) tenon::core::wrong_kind(*this, "a string");
  return document_->view(as_.string.offset, as_.string.length);
}

std::span<const tenon_tree> tenon_tree::children() const noexcept {
  if (count_ == 0) return {};
  return {document_->nodes.data() + as_.first, count_};
}

const tenon_tree* tenon_tree::at(int64_t index) const noexcept {
  if (index < 0 || index >= count_) return nullptr;
  return document_->nodes.data() + as_.first + index;
}

const tenon_tree* tenon_tree::find(std::string_view key) const noexcept {
  if (kind_ != TreeKind::Object || count_ == 0) return nullptr;
  const std::span<const tenon_tree> members = children();
  if (sorted_ == UINT32_MAX) {
    for (const tenon_tree& member : members) {
      if (member.key() == key) return &member;
    }
    return nullptr;
  }
  const auto begin = document_->sorted.begin() + sorted_;
  const auto end = begin + count_;
  const auto found =
      std::lower_bound(begin, end, key, [&](uint32_t position, std::string_view expected) {
        return members[position].key() < expected;
      });
  return found != end && members[*found].key() == key ? &members[*found] : nullptr;
}

const tenon_tree& tenon_tree::get(std::string_view key) const {
  const tenon_tree* member = find(key);
  if (member != nullptr) return *member;
  if (kind_ != TreeKind::Object) tenon::core::wrong_kind(*this, "an object");
  std::string where = tenon::core::place_text(source(), place_);
  if (!where.empty()) where += ": ";
  throw tenon::core::Error(
      TENON_ERROR_VALUE,
      where + tenon::core::escaped(tenon::core::pointer_step(tenon::core::pointer_of(*this), key)) +
          ": there is no such member");
}

std::string_view tenon_tree::key() const noexcept {
  return document_->view(key_offset_, key_length_);
}

const tenon_tree* tenon_tree::parent() const noexcept {
  return parent_ == UINT32_MAX ? nullptr : document_->nodes.data() + parent_;
}

std::string_view tenon_tree::source() const noexcept { return document_->source; }

tenon_value tenon_tree::value() const noexcept {
  tenon_value value{};
  switch (kind_) {
    case TreeKind::Null:
      break;
    case TreeKind::Bool:
      value.tag = TENON_VALUE_BOOL;
      value.as.integer = as_.integer;
      break;
    case TreeKind::Int:
      value.tag = TENON_VALUE_INT;
      value.as.integer = as_.integer;
      break;
    case TreeKind::Double:
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = as_.number;
      break;
    case TreeKind::String:
      value.tag = TENON_VALUE_STRING;
      value.length = as_.string.length;
      value.as.string = document_->text.data() + as_.string.offset;
      break;
    case TreeKind::Array:
    case TreeKind::Object:
      value.tag = TENON_VALUE_TREE;
      value.as.tree = const_cast<tenon_tree*>(this);
      break;
  }
  return value;
}
