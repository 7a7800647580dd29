// Properties of every key of the table.
#include "core/plugin/config_table.hpp"

#include <functional>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "core/base/json.hpp"

using namespace tenon::core;

namespace {

// Visits every object of the table once.
void each_object(const std::function<void(const ConfigObject&)>& visit) {
  std::set<const ConfigObject*> seen;
  const std::function<void(const ConfigObject&)> enter = [&](const ConfigObject& object) {
    if (!seen.insert(&object).second) return;
    visit(object);
    const std::function<void(const ConfigSchema&)> enter_form = [&](const ConfigSchema& form) {
      if (form.object != nullptr) enter(*form.object);
      for (const ConfigSchema& element : form.elements) enter_form(element);
    };
    for (const ConfigKey& key : object.keys) {
      for (const ConfigSchema& form : key.schemas) enter_form(form);
    }
  };
  enter(config_table());
  CHECK(seen.size() >= 5);
}

bool is_of(const tenon_json& value, ConfigType type) {
  switch (type) {
    case ConfigType::Bool:
      return value.is_bool();
    case ConfigType::Int:
      return value.is_int();
    case ConfigType::Number:
      return value.is_number();
    case ConfigType::Text:
      return value.is_string();
    case ConfigType::Array:
      return value.is_array();
    default:
      return value.is_object();
  }
}

}  // namespace

TEST_SUITE("config table") {
  TEST_CASE("a key is in an object once, has a meaning and a form") {
    each_object([](const ConfigObject& object) {
      CAPTURE(object.name);
      CHECK_FALSE(object.name.empty());
      std::set<std::string_view> names;
      for (const ConfigKey& key : object.keys) {
        CAPTURE(key.name);
        CHECK(names.insert(key.name).second);
        CHECK_FALSE(key.meaning.empty());
        CHECK_FALSE(key.schemas.empty());
      }
    });
  }

  TEST_CASE("a default is JSON that one of the key's schemas takes, and no required key has one") {
    int defaults = 0;
    each_object([&](const ConfigObject& object) {
      for (const ConfigKey& key : object.keys) {
        if (key.fallback.empty()) continue;
        ++defaults;
        CAPTURE(object.name);
        CAPTURE(key.name);
        CHECK_FALSE(key.required);
        const Json value = parse_json(key.fallback);
        bool fits = false;
        for (const ConfigSchema& form : key.schemas) fits |= is_of(*value, form.type);
        CHECK(fits);
      }
    });
    CHECK(defaults > 5);
  }

  TEST_CASE("keys that another one needs, and that short forms stand for, are in the object") {
    each_object([](const ConfigObject& object) {
      CAPTURE(object.name);
      const auto has = [&](std::string_view name) {
        for (const ConfigKey& key : object.keys) {
          if (key.name == name) return true;
        }
        return false;
      };
      for (const ConfigKey& key : object.keys) {
        for (const std::string_view needed : key.needs) CHECK(has(needed));
      }
      for (const std::string_view name : {object.shorthand, object.path_shorthand})
        CHECK((name.empty() || has(name)));
    });
  }

  TEST_CASE("limits of numbers and of lengths are in order") {
    each_object([](const ConfigObject& object) {
      for (const ConfigKey& key : object.keys) {
        for (const ConfigSchema& form : key.schemas) {
          CAPTURE(key.name);
          CHECK(form.low <= form.high);
          CHECK(form.fewest <= form.most);
          CHECK((form.type == ConfigType::Object) == (form.object != nullptr));
        }
      }
    });
  }
}
