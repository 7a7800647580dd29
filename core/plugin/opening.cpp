// Each judgement before the file is mapped is of the bytes that are mapped.
#include "core/plugin/opening.hpp"

#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

class Steps {
 public:
  Steps(const Opening& opening, const tenon_host& host, Quarantine& quarantine,
        OpenedPlugin& opened)
      : opening_(opening),
        terms_(opening.terms),
        path_(opening.found.path),
        host_(host),
        quarantine_(quarantine),
        opened_(opened) {
    opened_.facts = opening.found.facts;
    opened_.stamp = opening.found.stamp;
  }

  void run() {
    PluginCopy copy;
    if (is_reload() || is_mapped(path_) || terms_.judge_bytes()) {
      copy.file = std::make_unique<const SealedFile>(path_);
      judge(copy);
    } else {
      const FileSource file(path_);
      read(file, false);
    }
    if (is_reload()) refuse_abi();
    require_trusted(terms_.approval.trust(), path_, opened_.stamp);
    refuse_quarantined();
    const LoadMarker marker =
        terms_.trial ? quarantine_.mark(opened_.facts->id, path_, opened_.stamp, opening_.asked_by)
                     : LoadMarker();
    load_plugin(*opened_.facts, opening_.generation, path_, std::move(copy), host_,
                terms_.pinned.options.get(), opened_.loaded);
    if (is_reload()) take_over(*opened_.facts, path_, host_, opening_.before, opened_.loaded);
  }

 private:
  bool is_reload() const { return opening_.before.code != nullptr; }

  void judge(PluginCopy& copy) {
    const SealedFile& sealed = *copy.file;
    if (auto failure = check_hash(opening_.plugin, sealed, path_, terms_.pinned.sha256))
      throw PluginError(std::move(*failure));
    for (const auto& lock : terms_.locks) {
      const LockedPlugin& locked = check_locked(*lock, sealed);
      if (copy.locked != nullptr && copy.locked->libraries != locked.libraries) {
        throw PluginError(
            make_failure(PluginStage::Read, opening_.plugin, path_,
                         format_text("lock file {} pins other libraries than the active lock file",
                                     quote(lock->file)),
                         "lock again with one of the configs, and use that lock file in all"));
      }
      copy.locked = &locked;
    }
    read(sealed, terms_.approval.judges_bytes());
    terms_.approval.require_signature(*opened_.facts, path_, sealed);
  }

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

  const LockedPlugin& check_locked(const PluginLock& lock, const SealedFile& sealed) const {
    const LockedPlugin* locked = lock.find(opening_.plugin);
    if (locked != nullptr && locked->sha256 == sealed.sha256()) return *locked;
    PluginFailure failure = make_failure(
        PluginStage::Read, opening_.plugin, path_,
        locked == nullptr
            ? format_text("it is not in the lock file {}", quote(lock.file))
            : format_text("its bytes are not those in the lock file {}", quote(lock.file)),
        "look at the plugin and lock again, or restore what was locked");
    if (locked != nullptr) {
      failure.expected = format_text("sha256 {}", locked->sha256);
      failure.found = format_text("sha256 {}", sealed.sha256());
    }
    throw PluginError(std::move(failure));
  }

  // Refuses a file that a scan would refuse.
  void refuse_abi() const {
    const PluginFacts& facts = *opened_.facts;
    auto failure = judge_abi(host_, facts.id, path_, facts.abi_major, facts.abi_minor);
    if (!failure && !terms_.pinned.name.empty())
      failure = check_version(facts, path_, terms_.pinned.version);
    if (failure) throw PluginError(std::move(*failure));
  }

  void refuse_quarantined() {
    if (!terms_.trial) return;
    if (quarantine_.is_suspect(path_, opened_.stamp))
      quarantine_.settle(path_, opened_.stamp, *terms_.trial);
    if (auto kept = quarantine_.find(path_, opened_.stamp)) throw PluginError(std::move(*kept));
  }

  const Opening& opening_;
  const LoadTerms& terms_;
  const std::string& path_;
  const tenon_host& host_;
  Quarantine& quarantine_;
  OpenedPlugin& opened_;
};

}  // namespace

void open_plugin(const Opening& opening, const tenon_host& host, Quarantine& quarantine,
                 OpenedPlugin& opened) {
  Steps(opening, host, quarantine, opened).run();
}

}  // namespace tenon::core
