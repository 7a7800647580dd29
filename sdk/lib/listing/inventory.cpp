#include "inventory.hpp"

#include <algorithm>
#include <initializer_list>

#include <tenon/listing/listing.hpp>

TENON_NAMESPACE_BEGIN

namespace listing {

std::vector<Declared> Inventory::all(const char* kind) const {
  const bool ops = std::string_view(kind) == "ops";
  std::vector<Declared> declared;
  for (int64_t i = 0; i < plugins_.size(); ++i) {
    const Json plugin = plugins_[i], items = plugin["facts"][kind];
    if (items.size() == 0 || !detail::is_usable(plugin)) continue;
    const std::string id = plugin["id"].text();
    for (int64_t k = 0; k < items.size(); ++k) {
      Json item = items[k];
      if (ops && item["fault"].defined()) continue;
      std::string name = item["name"].text();
      declared.push_back({std::move(name), id, std::move(item)});
    }
  }
  std::sort(declared.begin(), declared.end(), [](const Declared& a, const Declared& b) {
    return a.name != b.name ? a.name < b.name : a.plugin < b.plugin;
  });
  return declared;
}

std::vector<Declared> Inventory::provided_ops() const {
  std::vector<Declared> list;
  for (Declared& op : all("ops")) {
    if (list.empty() || list.back().name != op.name)
      list.push_back(std::move(op));
    else if (provider_of(op.name) == op.plugin)
      list.back() = std::move(op);
  }
  return list;
}

const Declared& find_one(const std::vector<Declared>& list, const std::string& name,
                         const std::string& what) {
  std::vector<std::string> names, shared;
  std::vector<size_t> places, shared_places;
  const bool ops = what == "op";
  bool ends = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const Declared& item = list[i];
    if (item.name == name) return item;
    if (ops && is_internal(item.name)) continue;
    names.push_back(item.name);
    places.push_back(i);
    if (namespace_of(item.name) == item.plugin) continue;
    const size_t dot = item.name.size() - std::min(item.name.size(), name.size() + 1);
    ends = ends || item.name.substr(dot) == "." + name;
    shared.push_back(item.name);
    shared_places.push_back(i);
  }
  if (ends) return list[shared_places[detail::find_name(shared, name, what)]];
  return list[places[detail::find_name(names, name, what)]];
}

std::string namespace_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

void put_members(Writer& document, const Json& source, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (Json member = source[key]; member.defined()) document.set(key, std::move(member));
  }
}

void put_schema(Writer& document, const std::string& schema) {
  try {
    put_members(document, parse_schema(schema),
                {"parameters", "returns_tuple", "returns", "method"});
  } catch (const ValueError& error) {
    document.set("fault", error.what());
  }
}

}  // namespace listing

TENON_NAMESPACE_END
