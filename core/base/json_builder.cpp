// JSON documents made by code: the builder.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json_document.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

// Objects with more members than this get an order by key; smaller ones are searched from the
// front.
constexpr uint32_t kLargeObject = 16;

constexpr size_t kMostDuplicates = 100;  // most duplicates that are listed

[[noreturn]] void misuse(const char* what) {
  throw Error(TENON_ERROR_VALUE, "cannot make a document: {}", what);
}

}  // namespace

JsonBuilder::JsonBuilder(std::string_view source) : document_(new JsonDocument) {
  document_->source = source;
}

JsonBuilder::~JsonBuilder() { delete document_; }

void JsonBuilder::reserve(size_t nodes, size_t text) {
  document_->nodes.reserve(nodes);
  document_->text.reserve(text);
  pending_.reserve(std::min<size_t>(nodes, 64));
}

uint32_t JsonBuilder::store(std::string_view text) {
  const size_t offset = document_->text.size();
  if (text.size() > std::numeric_limits<uint32_t>::max() - offset) {
    throw Error(TENON_ERROR_VALUE, "a document holds at most 4 GiB of text");
  }
  document_->text += text;
  return static_cast<uint32_t>(offset);
}

tenon_json& JsonBuilder::push(JsonKind kind) {
  if (document_ == nullptr) misuse("used after finish");
  if (frames_.empty() ? !pending_.empty() || !document_->nodes.empty()
                      : frames_.back().object != has_key_) {
    misuse(frames_.empty() ? "a second root"
           : has_key_      ? "a key in an array"
                           : "a member without a key");
  }
  tenon_json& node = pending_.emplace_back();
  node.kind_ = kind;
  node.place_ = std::exchange(place_, JsonPlace{});
  if (has_key_) {
    node.key_offset_ = key_offset_;
    node.key_length_ = key_length_;
    node.key_place_ = key_place_;
    has_key_ = false;
  }
  return node;
}

JsonBuilder& JsonBuilder::key(std::string_view name, JsonPlace place) {
  if (frames_.empty() || !frames_.back().object || has_key_) misuse("a key where none belongs");
  key_offset_ = store(name);
  key_length_ = static_cast<uint32_t>(name.size());
  key_place_ = place;
  has_key_ = true;
  return *this;
}

JsonBuilder& JsonBuilder::at(JsonPlace place) {
  place_ = place;
  return *this;
}

JsonBuilder& JsonBuilder::value(std::nullptr_t) {
  push(JsonKind::Null);
  return *this;
}

JsonBuilder& JsonBuilder::add_bool(bool boolean) {
  push(JsonKind::Bool).as_.integer = boolean ? 1 : 0;
  return *this;
}

JsonBuilder& JsonBuilder::add_int(int64_t number) {
  push(JsonKind::Int).as_.integer = number;
  return *this;
}

JsonBuilder& JsonBuilder::add_double(double number) {
  push(JsonKind::Double).as_.number = number;
  return *this;
}

JsonBuilder& JsonBuilder::value(std::string_view text) {
  const uint32_t offset = store(text);
  push(JsonKind::String).as_.string = {offset, static_cast<uint32_t>(text.size())};
  return *this;
}

JsonBuilder& JsonBuilder::begin_object() {
  push(JsonKind::Object);
  frames_.push_back({pending_.size() - 1, true});
  return *this;
}

JsonBuilder& JsonBuilder::begin_array() {
  push(JsonKind::Array);
  frames_.push_back({pending_.size() - 1, false});
  return *this;
}

JsonBuilder& JsonBuilder::end_object() { return end(true); }
JsonBuilder& JsonBuilder::end_array() { return end(false); }
JsonBuilder& JsonBuilder::end() { return end(is_in_object()); }

std::string_view JsonBuilder::key_text(const tenon_json& node) const {
  return document_->view(node.key_offset_, node.key_length_);
}

std::string JsonBuilder::open_pointer() const {
  std::string pointer;
  for (size_t depth = 1; depth < frames_.size(); ++depth) {
    const Frame& outer = frames_[depth - 1];
    const size_t container = frames_[depth].container;
    if (outer.object) {
      pointer = pointer_step(pointer, key_text(pending_[container]));
    } else {
      pointer += format_text("/{}", container - outer.container - 1);
    }
  }
  return pointer;
}

// Finds duplicate keys among the members from `first` on, and gives large objects their order by
// key.
void JsonBuilder::index_keys(size_t first) {
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
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(name(a), a) < std::pair(name(b), b);
    });
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
      if (duplicates_->size() == kMostDuplicates) break;
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
    index_keys(first);
    return;
  }
  if (!order.empty()) {
    pending_[first - 1].sorted_ = static_cast<uint32_t>(document_->sorted.size());
    document_->sorted.insert(document_->sorted.end(), order.begin(), order.end());
  }
}

JsonBuilder& JsonBuilder::end(bool object) {
  if (frames_.empty() || frames_.back().object != object || has_key_)
    misuse("an end where none belongs");
  const size_t container = frames_.back().container;
  if (object) index_keys(container + 1);
  frames_.pop_back();
  std::vector<tenon_json>& nodes = document_->nodes;
  const auto first = static_cast<uint32_t>(nodes.size());
  const size_t count = pending_.size() - container - 1;
  if (nodes.size() + count >= std::numeric_limits<uint32_t>::max()) misuse("too many nodes");
  for (size_t i = 0; i < count; ++i) {
    const tenon_json& node = nodes.emplace_back(pending_[container + 1 + i]);
    for (uint32_t child = 0; child < node.count_; ++child) {
      nodes[node.as_.first + child].parent_ = first + static_cast<uint32_t>(i);
    }
  }
  pending_.resize(container + 1);
  pending_[container].as_.first = first;
  pending_[container].count_ = static_cast<uint32_t>(count);
  return *this;
}

JsonBuilder& JsonBuilder::copy(const tenon_json& node, bool places) {
  if (places) at(node.place());
  switch (node.kind()) {
    case JsonKind::Null:
      return value(nullptr);
    case JsonKind::Bool:
      return add_bool(node.as_bool());
    case JsonKind::Int:
      return add_int(node.as_int());
    case JsonKind::Double:
      return add_double(node.as_double());
    case JsonKind::String:
      return value(node.as_string());
    case JsonKind::Array:
      begin_array();
      for (const tenon_json& child : node.children()) copy(child, places);
      return end_array();
    case JsonKind::Object:
      begin_object();
      for (const tenon_json& child : node.children()) {
        key(child.key(), places ? child.key_place() : JsonPlace{}).copy(child, places);
      }
      return end_object();
  }
  return *this;
}

Json JsonBuilder::finish() {
  if (document_ == nullptr || !frames_.empty() || pending_.size() != 1)
    misuse("finish before the end");
  std::vector<tenon_json>& nodes = document_->nodes;
  const auto root = static_cast<uint32_t>(nodes.size());
  nodes.push_back(pending_.front());
  for (uint32_t child = 0; child < nodes[root].count_; ++child) {
    nodes[nodes[root].as_.first + child].parent_ = root;
  }
  for (tenon_json& node : nodes) node.document_ = document_;
  pending_.clear();
  document_ = nullptr;
  return Json::take(&nodes[root]);
}

}  // namespace tenon::core
