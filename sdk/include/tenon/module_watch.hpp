// Watches of modules: what a scope hears of each module that its thread calls, without hooks on any of
// them. Hooks of one module, which may change what it gets and gives: module_hooks.hpp.
//
//   struct Printer : ModuleWatch {
//     void begins(const Module& module, const HookValues&) override { puts(module.type().c_str()); }
//   } printer;
//   const ModuleWatchScope scope(printer);
//   model(input);  // prints Sequential, Linear, ...
#pragma once

#include "tenon/module_hooks.hpp"

TENON_NAMESPACE_BEGIN

// Derive from it. Each call of `begins` that returns is followed by one of the others, those of modules inside
// between them, unless the scope ends meanwhile. An exception makes the call of the module fail, but for one in
// `failed`: that call has an error. Modules that they call are heard of, too: calling one each time does not end.
class ModuleWatch {
 public:
  virtual ~ModuleWatch() = default;
  virtual void begins(const Module& module, const HookValues& arguments);  // before its hooks
  virtual void ended(const Module& module, const HookValues& results);     // behind them
  virtual void failed(const Module& module);                               // instead
};
inline void ModuleWatch::begins(const Module& /*module*/, const HookValues& /*arguments*/) {}
inline void ModuleWatch::ended(const Module& /*module*/, const HookValues& /*results*/) {}
inline void ModuleWatch::failed(const Module& /*module*/) {}

// Watches this thread as long as the scope lives, not what parallel loops call on others: for that the slot
// watch_enter has a flag. Scopes end in any order, where they began, not within a parallel loop. Modules that
// compute in one step what several of their children would call them one by one meanwhile, see is_watched, and
// prepared models run as they are, but for those of a file, which have no modules.
class ModuleWatchScope {
 public:
  explicit ModuleWatchScope(ModuleWatch& watch) {  // enters it
    detail::check(service::modes().watch_enter, &ModuleWatchScope::hear, static_cast<void*>(&watch),
                  uint32_t{0}, &watch_);
  }
  ~ModuleWatchScope() { service::modes().watch_leave(watch_, nullptr); }
  ModuleWatchScope(const ModuleWatchScope&) = delete;
  ModuleWatchScope& operator=(const ModuleWatchScope&) = delete;

 private:
  static tenon_status TENON_CALL hear(void* self, const tenon_module_event* event,
                                      tenon_error** error) {
    return detail::guarded(error, [&] {
      auto& watch = *static_cast<ModuleWatch*>(self);
      const Module module = Module::borrow(event->module);
      const HookValues values({event->values, event->value_count}, event->names, nullptr);
      if (event->kind == TENON_WATCH_BEGINS) watch.begins(module, values);
      if (event->kind == TENON_WATCH_ENDED) watch.ended(module, values);
      if (event->kind == TENON_WATCH_FAILED) watch.failed(module);
    });
  }
  tenon_watch* watch_ = nullptr;
};

TENON_NAMESPACE_END
