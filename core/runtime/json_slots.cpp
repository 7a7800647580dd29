// The host's slots on JSON documents.
#include <cstring>
#include <limits>

#include "core/base/json.hpp"
#include "core/dispatch/value.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

tenon_status json_parse(const char* text, int64_t length, tenon_json** document,
                        tenon_error** error) {
  return guarded(error, [&] {
    *document = parse_json({text, static_cast<size_t>(length)}).give();
  });
}
tenon_status json_dump(const tenon_json* document, int32_t indent, tenon_value* text,
                       tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the document");
    *text = make_string(dump(*document, indent));
  });
}
void json_retain(tenon_json* document) { document->retain(); }
void json_release(tenon_json* document) {
  if (document != nullptr) document->release();
}
tenon_value json_value(const tenon_json* document) { return document->value(); }
int32_t json_is_object(const tenon_json* document) { return document->is_object() ? 1 : 0; }
int64_t json_size(const tenon_json* document) { return document->size(); }
const tenon_json* json_at(const tenon_json* document, int64_t index) { return document->at(index); }
const tenon_json* json_find(const tenon_json* document, const char* key, int64_t length) {
  return document->find({key, static_cast<size_t>(length)});
}
tenon_string json_key(const tenon_json* document, int64_t index) {
  const tenon_json* child = document->at(index);
  const std::string_view key = child == nullptr ? std::string_view() : child->key();
  return {key.data(), static_cast<int64_t>(key.size())};
}

tenon_status json_place(const tenon_json* document, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the document");
    *text = make_string(place_of(*document));
  });
}
tenon_status json_create(const tenon_string* keys, const tenon_value* values, int64_t count,
                         tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    const auto of = [&](auto* list) { return std::span(list, static_cast<size_t>(count)); };
    *document =
        (keys == nullptr ? make_array(of(values)) : make_object(of(keys), of(values))).give();
  });
}

tenon_string json_source(const tenon_json* document) {
  const std::string_view source = document->source();
  return {source.data(), static_cast<int64_t>(source.size())};
}

// Events of a text as the boundary has them.
class BoundaryEvents final : public JsonEvents {
 public:
  explicit BoundaryEvents(const tenon_json_events& events) : events_(events) {}
  void begin(bool object, JsonPlace) override { call(events_.begin, object ? 1 : 0); }
  void end() override { call(events_.end); }
  void key(std::string_view text, JsonPlace) override {
    call(events_.key, text.data(), static_cast<int64_t>(text.size()));
  }
  void scalar(const tenon_value& value, JsonPlace) override { call(events_.value, &value); }

 private:
  template <class Event, class... Arguments>
  void call(Event event, Arguments... arguments) {
    tenon_error* error = nullptr;
    const tenon_status status = event(events_.self, arguments..., &error);
    if (status != TENON_OK) throw_status(status, error);
  }

  const tenon_json_events& events_;
};

tenon_status json_scan(const char* json, int64_t length, int64_t max_depth,
                       const tenon_json_events* given, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(given, "the events");
    JsonOptions options;
    options.max_bytes = std::numeric_limits<uint32_t>::max();
    options.max_depth = static_cast<size_t>(max_depth);
    BoundaryEvents events(*given);
    scan_json({json, static_cast<size_t>(length)}, options, events);
  });
}

}  // namespace

void add_json_slots(tenon_host& host) {
  host.json_parse = json_parse;
  host.json_dump = json_dump;
  host.json_retain = json_retain;
  host.json_release = json_release;
  host.json_value = json_value;
  host.json_is_object = json_is_object;
  host.json_size = json_size;
  host.json_at = json_at;
  host.json_find = json_find;
  host.json_key = json_key;
  host.json_place = json_place;
  host.json_create = json_create;
  host.json_scan = json_scan;
  host.json_source = json_source;
}

}  // namespace tenon::core
