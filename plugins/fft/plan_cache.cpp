// FFTW's plans. Planning and destroying plans is not safe in several threads at once; executing them is.
#include "plan_cache.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include <tenon/plugin.hpp>

namespace fft {

namespace {

// FFTW describes a dimension alike in both precisions.
static_assert(sizeof(fftw_iodim64) == sizeof(fftwf_iodim64));

// The planner is one for the process, which generations of this plugin and other libraries share: the lock
// is FFTW's own. It stays mapped, since FFTW keeps its address.
void lock_planner() {
  static const bool once = [] {
    for (void (*const lock)() : {fftw_make_planner_thread_safe, fftwf_make_planner_thread_safe}) {
      Dl_info library;
      if (::dladdr(reinterpret_cast<void*>(lock), &library) == 0 ||
          ::dlopen(library.dli_fname, RTLD_NOW | RTLD_NODELETE) == nullptr)
        throw tenon::RuntimeError("FFTW's lock for several threads cannot be kept in memory");
      lock();
    }
    return true;
  }();
  static_cast<void>(once);
}

// Recently used plans first.
class Cache {
 public:
  // Plans alone: fftw_cleanup would take those of a next generation as well.
  void clear() {
    const std::lock_guard lock(mutex_);
    plans_.clear();
    order_.clear();
  }
  std::shared_ptr<const Plan> find(const Problem& problem) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = plans_.find(problem);
      if (found != plans_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return order_.front().second;
      }
    }
    auto plan = std::make_shared<const Plan>(problem);
    std::shared_ptr<const Plan> oldest;  // destroyed after the lock
    const std::lock_guard lock(mutex_);
    if (plans_.count(problem) != 0) return plan;  // another thread was faster
    order_.emplace_front(problem, plan);
    plans_.emplace(problem, order_.begin());
    if (order_.size() > kKeptPlans) {
      plans_.erase(order_.back().first);
      oldest = std::move(order_.back().second);
      order_.pop_back();
    }
    return plan;
  }

 private:
  using Entry = std::pair<Problem, std::shared_ptr<const Plan>>;
  std::mutex mutex_;
  std::list<Entry> order_;
  std::map<Problem, std::list<Entry>::iterator> plans_;
};

auto key(const fftw_iodim64& dimension) {
  return std::make_tuple(dimension.n, dimension.is, dimension.os);
}
bool less(const std::vector<fftw_iodim64>& a, const std::vector<fftw_iodim64>& b) {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const fftw_iodim64& x, const fftw_iodim64& y) { return key(x) < key(y); });
}

// Planning reads neither side, only where they are; memory of the right alignment stands for them.
alignas(64) char kSomewhere[128];

void* make_single(const Problem& p, void* in, void* out, unsigned flags) {
  const auto rank = static_cast<int>(p.transformed.size()),
             repeats = static_cast<int>(p.repeated.size());
  const auto* dims = reinterpret_cast<const fftwf_iodim64*>(p.transformed.data());
  const auto* many = reinterpret_cast<const fftwf_iodim64*>(p.repeated.data());
  switch (p.kind) {
    case Kind::complex_to_complex:
      return fftwf_plan_guru64_dft(rank, dims, repeats, many, static_cast<fftwf_complex*>(in),
                                   static_cast<fftwf_complex*>(out),
                                   p.forward ? FFTW_FORWARD : FFTW_BACKWARD, flags);
    case Kind::real_to_complex:
      return fftwf_plan_guru64_dft_r2c(rank, dims, repeats, many, static_cast<float*>(in),
                                       static_cast<fftwf_complex*>(out), flags);
    default:
      return fftwf_plan_guru64_dft_c2r(rank, dims, repeats, many, static_cast<fftwf_complex*>(in),
                                       static_cast<float*>(out), flags);
  }
}
void* make_double(const Problem& p, void* in, void* out, unsigned flags) {
  const auto rank = static_cast<int>(p.transformed.size()),
             repeats = static_cast<int>(p.repeated.size());
  const fftw_iodim64* dims = p.transformed.data();
  const fftw_iodim64* many = p.repeated.data();
  switch (p.kind) {
    case Kind::complex_to_complex:
      return fftw_plan_guru64_dft(rank, dims, repeats, many, static_cast<fftw_complex*>(in),
                                  static_cast<fftw_complex*>(out),
                                  p.forward ? FFTW_FORWARD : FFTW_BACKWARD, flags);
    case Kind::real_to_complex:
      return fftw_plan_guru64_dft_r2c(rank, dims, repeats, many, static_cast<double*>(in),
                                      static_cast<fftw_complex*>(out), flags);
    default:
      return fftw_plan_guru64_dft_c2r(rank, dims, repeats, many, static_cast<fftw_complex*>(in),
                                      static_cast<double*>(out), flags);
  }
}

}  // namespace

bool operator<(const Problem& a, const Problem& b) {
  const auto head = [](const Problem& p) {
    return std::make_tuple(p.kind, p.single, p.forward, p.in_place, p.aligned);
  };
  if (head(a) != head(b)) return head(a) < head(b);
  if (less(a.transformed, b.transformed)) return true;
  if (less(b.transformed, a.transformed)) return false;
  return less(a.repeated, b.repeated);
}

Plan::Plan(const Problem& problem) : kind_(problem.kind), single_(problem.single) {
  unsigned flags = FFTW_ESTIMATE;
  if (!problem.in_place) flags |= FFTW_PRESERVE_INPUT;
  if (!problem.aligned) flags |= FFTW_UNALIGNED;
  void* const in = kSomewhere;
  void* const out = problem.in_place ? kSomewhere : kSomewhere + 64;
  lock_planner();
  plan_ =
      problem.single ? make_single(problem, in, out, flags) : make_double(problem, in, out, flags);
  if (plan_ == nullptr)
    throw tenon::RuntimeError("FFTW has no plan for a transform of this shape and layout");
}
Plan::~Plan() {
  if (single_)
    fftwf_destroy_plan(static_cast<fftwf_plan>(plan_));
  else
    fftw_destroy_plan(static_cast<fftw_plan>(plan_));
}

void Plan::run(const void* from, void* out) const {
  void* const in = const_cast<void*>(from);  // preserved, unless it is `out`
  if (single_) {
    auto* const plan = static_cast<fftwf_plan>(plan_);
    if (kind_ == Kind::complex_to_complex)
      fftwf_execute_dft(plan, static_cast<fftwf_complex*>(in), static_cast<fftwf_complex*>(out));
    else if (kind_ == Kind::real_to_complex)
      fftwf_execute_dft_r2c(plan, static_cast<float*>(in), static_cast<fftwf_complex*>(out));
    else
      fftwf_execute_dft_c2r(plan, static_cast<fftwf_complex*>(in), static_cast<float*>(out));
    return;
  }
  auto* const plan = static_cast<fftw_plan>(plan_);
  if (kind_ == Kind::complex_to_complex)
    fftw_execute_dft(plan, static_cast<fftw_complex*>(in), static_cast<fftw_complex*>(out));
  else if (kind_ == Kind::real_to_complex)
    fftw_execute_dft_r2c(plan, static_cast<double*>(in), static_cast<fftw_complex*>(out));
  else
    fftw_execute_dft_c2r(plan, static_cast<fftw_complex*>(in), static_cast<double*>(out));
}

namespace {

// Never destroyed: threads may still compute when the process ends.
Cache& cache() {
  static auto* const all = new Cache;
  return *all;
}

}  // namespace

std::shared_ptr<const Plan> find_plan(const Problem& problem) { return cache().find(problem); }
void forget_plans() { cache().clear(); }

bool is_aligned(const void* data) {
  return fftw_alignment_of(static_cast<double*>(const_cast<void*>(data))) == 0;
}

}  // namespace fft
