// How calls are written, for handlers and modes.
#include "core/dispatch/binding/call_frame.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <string>

namespace tenon::core {

bool same_content(const tenon_value& a, const tenon_value& b) {
  switch (a.tag) {
    case TENON_VALUE_NONE:
      return true;
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_FLOAT_LIST:
      return a.length == 0 || std::memcmp(a.as.pointer, b.as.pointer, a.length * size_t{8}) == 0;
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      return a.length == 0 || std::memcmp(a.as.pointer, b.as.pointer, a.length) == 0;
    default:
      return a.as.integer == b.as.integer;
  }
}

void fill_view(tenon_call& view, const Call& call, WrittenCall& room) {
  const Implementation& implementation = call.implementation;
  const Schema& schema = implementation.schema;
  const AsWritten written = call.written.of({call.arguments, implementation.parameter_count});
  const auto most = static_cast<size_t>(schema.positional_count);
  const auto given = [&](size_t i) {
    return !written.filled() || !is_default(schema.parameters[i], call.arguments[i]);
  };
  view.size = sizeof(tenon_call);
  view.op = implementation.op;
  view.arguments = call.arguments;
  view.argument_count = implementation.parameter_count;
  view.positional = written.positional.data();
  size_t positional = std::min(written.positional.size(), most);
  while (positional > 0 && !given(positional - 1)) --positional;
  view.positional_count = static_cast<int64_t>(positional);
  view.keywords = written.keywords.data();
  view.keyword_values = written.keyword_values.data();
  view.keyword_count = static_cast<int64_t>(written.keywords.size());
  view.spelling = static_cast<uint32_t>(written.spelling);
  if (!written.filled() && written.positional.size() <= most) return;
  view.keywords = room.names;
  view.keyword_values = room.values;
  size_t count = 0;
  const auto put = [&](const tenon_string& name, const tenon_value& value) {
    room.names[count] = name;
    room.values[count++] = value;
  };
  for (size_t i = most; i < written.positional.size(); ++i) {
    const std::string& name = schema.parameters[i].name;
    if (given(i)) put({name.data(), static_cast<int64_t>(name.size())}, written.positional[i]);
  }
  for (size_t k = 0; k < written.keywords.size(); ++k) {
    const tenon_string& name = written.keywords[k];
    const int64_t i = schema.find({name.data, static_cast<size_t>(name.length)});
    if (given(static_cast<size_t>(i))) put(name, written.keyword_values[k]);
  }
  view.keyword_count = static_cast<int64_t>(count);
}

Rewritten::Rewritten(const Call& call, const tenon_value* arguments) {
  const Implementation& implementation = call.implementation;
  const Schema& schema = implementation.schema;
  written_ = call.written.of({arguments, implementation.parameter_count});
  if (call.written.in_order() || arguments == call.arguments) return;
  const auto kept = [&](size_t i) {
    const tenon_value &now = arguments[i], &before = call.arguments[i];
    return now.tag == before.tag && now.length == before.length &&
           now.as.integer == before.as.integer;
  };
  std::bitset<kMaxParameters> given;
  for (size_t i = 0; i < written_.positional.size(); ++i) {
    positional_[i] = kept(i) ? written_.positional[i] : arguments[i];
    given.set(i);
  }
  size_t named = 0;
  for (; named < written_.keywords.size(); ++named) {
    const tenon_string& name = written_.keywords[named];
    const auto i = static_cast<size_t>(schema.find({name.data, static_cast<size_t>(name.length)}));
    room_.names[named] = name;
    room_.values[named] = kept(i) ? written_.keyword_values[named] : arguments[i];
    given.set(i);
  }
  for (size_t i = 0; i < implementation.parameter_count; ++i) {
    if (given[i] || kept(i)) continue;
    const std::string& name = schema.parameters[i].name;
    room_.names[named] = {name.data(), static_cast<int64_t>(name.size())};
    room_.values[named++] = arguments[i];
  }
  written_.positional = {positional_, written_.positional.size()};
  written_.keywords = {room_.names, named};
  written_.keyword_values = {room_.values, named};
}

}  // namespace tenon::core
