// Documents: their memory, and the builder that fills it.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <memory_resource>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

// Nodes and texts are in one arena, and go with it. Most documents are facts of an item: small.
struct JsonDocument {
  std::atomic<int64_t> references{1};
  std::string source;
  std::array<std::byte, 896> first;
  std::pmr::monotonic_buffer_resource memory{first.data(), first.size()};

  template <class T>
  std::span<T> allocate(size_t count) {
    return {static_cast<T*>(memory.allocate(count * sizeof(T), alignof(T))), count};
  }
};

namespace {

constexpr size_t kMostDuplicates = 100;  // most duplicates that are listed

[[noreturn]] void misuse(const char* what) {
  throw Error(TENON_ERROR_VALUE, "cannot make a document: {}", what);
}

// The order of by_key_, as compare() returns it. Lengths first: most keys differ in theirs.
int compare_keys(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

JsonKind kind_of(const tenon_value& scalar) {
  switch (scalar.tag) {
    case TENON_VALUE_NONE:
      return JsonKind::Null;
    case TENON_VALUE_BOOL:
      return JsonKind::Bool;
    case TENON_VALUE_INT:
      return JsonKind::Int;
    case TENON_VALUE_FLOAT:
      return JsonKind::Double;
    case TENON_VALUE_STRING:
      return JsonKind::String;
    default:
      throw Error(TENON_ERROR_TYPE,
                  "a document holds numbers, strings, none and documents, found a value of tag {}",
                  scalar.tag);
  }
}

}  // namespace

JsonBuilder::JsonBuilder(std::string_view source) : document_(new JsonDocument) {
  document_->source = source;
  pending_.reserve(8);
}

JsonBuilder::~JsonBuilder() { delete document_; }

std::string_view JsonBuilder::store(std::string_view text) {
  const std::span<char> stored = document_->allocate<char>(text.size());
  std::copy(text.begin(), text.end(), stored.begin());
  return {stored.data(), stored.size()};
}

tenon_json& JsonBuilder::push(JsonKind kind, JsonPlace place) {
  if (document_ == nullptr) misuse("used after finish");
  if (open_.empty() && !pending_.empty()) misuse("a second root");
  if (!open_.empty() && is_in_object() && !has_key_) misuse("a member without a key");
  if (pending_.size() == std::numeric_limits<uint32_t>::max()) misuse("too many nodes");
  tenon_json& node = pending_.emplace_back();
  node.document_ = document_;
  node.kind_ = kind;
  node.place_ = place;
  if (has_key_) {
    node.key_ = key_;
    node.key_place_ = key_place_;
    has_key_ = false;
  }
  return node;
}

void JsonBuilder::on_key(std::string_view text, JsonPlace place) {
  if (!is_in_object() || has_key_) misuse("a key where none belongs");
  key_ = store(text);
  key_place_ = place;
  has_key_ = true;
}

void JsonBuilder::on_scalar(const tenon_value& value, JsonPlace place) {
  tenon_json& node = push(kind_of(value), place);
  node.value_ = value;
  if (node.is_string()) node.value_.as.string = store({value.as.string, value.length}).data();
}

JsonBuilder& JsonBuilder::value(std::string_view text) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) misuse("a text of more than 4 GiB");
  return scalar({TENON_VALUE_STRING, static_cast<uint32_t>(text.size()), {.string = text.data()}});
}

void JsonBuilder::on_begin(bool object, JsonPlace place) {
  push(object ? JsonKind::Object : JsonKind::Array, place).value_.tag = TENON_VALUE_JSON;
  open_.push_back(pending_.size() - 1);
}

void JsonBuilder::on_end() {
  if (open_.empty() || has_key_) misuse("an end where none belongs");
  const size_t container = open_.back();
  const uint32_t* by_key = is_in_object() ? index_members(container + 1) : nullptr;
  open_.pop_back();
  const std::span<const tenon_json> children = std::span(pending_).subspan(container + 1);
  pending_[container].by_key_ = by_key;
  pending_[container].count_ = static_cast<uint32_t>(children.size());
  pending_[container].children_ = settle(children);
  pending_.resize(container + 1);
}

JsonBuilder& JsonBuilder::end(bool object) {
  if (is_in_object() != object) misuse("an end where none belongs");
  on_end();
  return *this;
}

// Moves nodes to where they stay.
tenon_json* JsonBuilder::settle(std::span<const tenon_json> nodes) {
  const std::span<tenon_json> settled = document_->allocate<tenon_json>(nodes.size());
  std::uninitialized_copy(nodes.begin(), nodes.end(), settled.begin());
  for (tenon_json& node : settled) {
    if (node.value_.tag == TENON_VALUE_JSON) node.value_.as.json = &node;
    for (uint32_t i = 0; i < node.count_; ++i) node.children_[i].parent_ = &node;
  }
  return settled.data();
}

// Positions of the members from `first` on, in the order of their keys, equal ones in theirs.
std::span<uint32_t> JsonBuilder::members_by_key(size_t first) {
  const std::span<uint32_t> order = document_->allocate<uint32_t>(pending_.size() - first);
  std::iota(order.begin(), order.end(), 0U);
  const tenon_json* members = pending_.data() + first;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int compared = compare_keys(members[a].key_, members[b].key_);
    return compared != 0 ? compared < 0 : a < b;
  });
  return order;
}

// Orders the members from `first` on by key, and drops those whose key an earlier one has.
const uint32_t* JsonBuilder::index_members(size_t first) {
  const std::span<const uint32_t> order = members_by_key(first);
  const auto member = [&](uint32_t position) -> tenon_json& { return pending_[first + position]; };
  std::vector<std::pair<uint32_t, uint32_t>> repeats;  // a later member, the first with its key
  for (size_t i = 1, original = 0; i < order.size(); ++i) {
    if (member(order[i]).key_ == member(order[original]).key_)
      repeats.emplace_back(order[i], order[original]);
    else
      original = i;
  }
  if (repeats.empty()) return order.data();
  std::sort(repeats.begin(), repeats.end());
  const std::string pointer = open_pointer();
  for (const auto& [later, original] : repeats) {
    tenon_json& dropped = member(later);
    dropped.document_ = nullptr;
    if (duplicates_.size() == kMostDuplicates) continue;
    duplicates_.push_back({std::string(dropped.key_), pointer_step(pointer, dropped.key_),
                           dropped.key_place_, member(original).key_place_});
  }
  pending_.erase(std::remove_if(pending_.begin() + static_cast<ptrdiff_t>(first), pending_.end(),
                                [](const tenon_json& node) { return node.document_ == nullptr; }),
                 pending_.end());
  return members_by_key(first).data();
}

std::string JsonBuilder::open_pointer() const {
  std::string pointer;
  for (size_t depth = 1; depth < open_.size(); ++depth) {
    const size_t outer = open_[depth - 1], inner = open_[depth];
    if (pending_[outer].is_object())
      pointer = pointer_step(pointer, pending_[inner].key_);
    else
      pointer += format_text("/{}", inner - outer - 1);
  }
  return pointer;
}

JsonBuilder& JsonBuilder::copy(const tenon_json& node, bool places) {
  const JsonPlace place = places ? node.place() : JsonPlace{};
  if (node.value_.tag != TENON_VALUE_JSON) {
    on_scalar(node.value_, place);
    return *this;
  }
  on_begin(node.is_object(), place);
  for (const tenon_json& child : node.children()) {
    if (node.is_object()) on_key(child.key(), places ? child.key_place() : JsonPlace{});
    copy(child, places);
  }
  on_end();
  return *this;
}

Json JsonBuilder::finish() {
  if (document_ == nullptr || !open_.empty() || pending_.size() != 1)
    misuse("finish before the end");
  if (!duplicates_.empty())
    throw Error(TENON_ERROR_VALUE, "duplicate key {}", quote(duplicates_.front().key));
  tenon_json* const root = settle(pending_);
  document_ = nullptr;
  return Json::take(root);
}

}  // namespace tenon::core

void tenon_json::retain() const noexcept {
  document_->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_json::release() const noexcept {
  // Kept aside: this node dies with its document.
  tenon::core::JsonDocument* const document = document_;
  if (document->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete document;
}

std::string_view tenon_json::source() const noexcept { return document_->source; }

const tenon_json* tenon_json::find(std::string_view key) const noexcept {
  if (by_key_ == nullptr) return nullptr;
  const std::span<const uint32_t> order(by_key_, count_);
  const auto found =
      std::lower_bound(order.begin(), order.end(), key, [&](uint32_t member, std::string_view one) {
        return tenon::core::compare_keys(children_[member].key_, one) < 0;
      });
  return found != order.end() && children_[*found].key_ == key ? &children_[*found] : nullptr;
}
