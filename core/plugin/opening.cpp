// Each judgement before the file is mapped is of the bytes that are mapped.
#include "core/plugin/opening.hpp"

#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

class Steps {
 public:
  Steps(const Opening& opening, const tenon_host& host, OpenedPlugin& opened)
      : opening_(opening),
        terms_(opening.terms),
        path_(opening.found.path),
        host_(host),
        guarded_(terms_.guard, opening.plugin, path_, opening.asked_by),
        opened_(opened) {
    opened_.facts = opening.found.facts;
    opened_.stamp = opening.found.stamp;
  }

  void run() {
    std::unique_ptr<const SealedFile> copy;
    if (guarded_.wants_bytes()) {
      copy = std::make_unique<const SealedFile>(path_);
      read(*copy, true);
    } else if (is_reload() || is_mapped(path_)) {
      copy = std::make_unique<const SealedFile>(path_);
      read(*copy, false);
    } else {
      const FileSource file(path_);
      read(file, false);
    }
    if (is_reload()) refuse_abi();
    require_trusted(terms_.trust, path_, opened_.stamp);
    if (auto failure = guarded_.judge(TENON_GUARD_LOAD, *opened_.facts, opened_.stamp, copy.get()))
      throw PluginError(std::move(*failure));
    GuardedPlugin::Phase phase(guarded_);
    load_plugin(*opened_.facts, opening_.generation, path_, std::move(copy), guarded_, phase, host_,
                terms_.pinned.options.get(), opened_.loaded);
    if (is_reload()) take_over(*opened_.facts, path_, host_, opening_.before, opened_.loaded);
    phase.loaded();
  }

 private:
  bool is_reload() const { return opening_.before.code != nullptr; }

  // Reads the declarations of a file that was built again since it was indexed.
  void read(const DescriptorSource& file, bool again) {
    if (again || !(file.stamp() == opened_.stamp)) use(read_facts(file, path_));
    opened_.stamp = file.stamp();
    opened_.verdict = judge_unmapping(file, path_);
  }

  void use(PluginFacts found) {
    const PluginFacts& known = *opening_.found.facts;
    if (found.id != known.id || (opening_.found.is_side() && found.version != known.version)) {
      PluginFailure failure =
          make_failure(PluginStage::Read, opening_.plugin, path_,
                       "the file holds another plugin by now", "load that one by its own id");
      failure.expected = quote(opening_.plugin);
      failure.found =
          quote(found.id == known.id ? format_text("{}@{}", found.id, found.version) : found.id);
      throw PluginError(std::move(failure));
    }
    opened_.facts = std::make_shared<const PluginFacts>(std::move(found));
  }

  // Refuses a file that a scan would refuse.
  void refuse_abi() const {
    const PluginFacts& facts = *opened_.facts;
    auto failure = judge_abi(host_, facts.id, path_, facts.abi_major, facts.abi_minor);
    if (!failure && !terms_.pinned.name.empty())
      failure = check_version(facts, path_, terms_.pinned.version);
    if (failure) throw PluginError(std::move(*failure));
  }

  const Opening& opening_;
  const LoadTerms& terms_;
  const std::string& path_;
  const tenon_host& host_;
  GuardedPlugin guarded_;
  OpenedPlugin& opened_;
};

}  // namespace

void open_plugin(const Opening& opening, const tenon_host& host, OpenedPlugin& opened) {
  Steps(opening, host, opened).run();
}

}  // namespace tenon::core
