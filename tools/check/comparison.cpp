// Comparison of two providers of an op by the same calls.
#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/text.hpp>

#include "format.hpp"
#include "tensors.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;

namespace {

constexpr int64_t kBeyond = std::numeric_limits<int64_t>::max();  // one is nan or infinite

// Numbers of a format in order, without a gap from -inf to inf.
template <class Float, class Bits>
int64_t place_of(double number) {
  const auto narrow = static_cast<Float>(number);
  Bits bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return bits < 0 ? std::numeric_limits<Bits>::min() - static_cast<int64_t>(bits) : bits;
}

// The place of a half among its numbers, by its bits of fraction and the exponent of its smallest
// normal number.
int64_t half_place(double number, int fraction, int lowest) {
  const int exponent = number == 0 ? lowest : std::max(std::ilogb(number), lowest);
  const auto place = static_cast<int64_t>(std::ldexp(std::abs(number), fraction - exponent)) +
                     (static_cast<int64_t>(exponent - lowest) << fraction);
  return number < 0 ? -place : place;
}

int64_t ulp_distance(tenon::DType dtype, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return kBeyond;
  if (dtype == tenon::f32)
    return std::abs(place_of<float, int32_t>(a) - place_of<float, int32_t>(b));
  if (dtype == tenon::f16) return std::abs(half_place(a, 10, -14) - half_place(b, 10, -14));
  if (dtype == tenon::bf16) return std::abs(half_place(a, 7, -126) - half_place(b, 7, -126));
  const int64_t x = place_of<double, int64_t>(a), y = place_of<double, int64_t>(b);
  int64_t distance = 0;
  return __builtin_sub_overflow(std::max(x, y), std::min(x, y), &distance) ? kBeyond : distance;
}
// The class of a distance: the power of two that is not below it.
int64_t class_of(int64_t distance) {
  int64_t most = 1;
  while (most < distance && most < int64_t{1} << 40) most *= 2;
  return distance == 0 ? 0 : distance > most ? kBeyond : most;
}

double largest_of(tenon::DType dtype) {
  return dtype == tenon::f64   ? std::numeric_limits<double>::max()
         : dtype == tenon::f16 ? 65504
                               : std::numeric_limits<float>::max();
}

// How far two different numbers of a dtype are apart, as a share of the bound. One that is infinite
// or nan is where both must be; but where the number itself is near the end of the dtype, which
// sums on the way may go beyond, inf and a large number are both right.
double share_of(tenon::DType dtype, double a, double b, double right, double bound) {
  const double half = largest_of(dtype) / 2;
  if (!std::isfinite(right) || std::isnan(a) || std::isnan(b)) return HUGE_VAL;
  if (std::isinf(a) || std::isinf(b)) {
    const bool both_large = std::min(std::abs(a), std::abs(b)) >= half && (a < 0) == (b < 0);
    return both_large && std::abs(right) >= half ? 0 : HUGE_VAL;
  }
  return std::abs(a - b) / bound;
}

Json number_json(double number) {
  tenon::JsonArray list;
  if (std::isfinite(number))
    list.add(number);
  else
    list.add(std::string(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"));
  return list.json()[0];
}

}  // namespace

double unit_of(tenon::DType dtype) {
  return dtype == tenon::f64   ? 0x1p-53
         : dtype == tenon::f32 ? 0x1p-24
         : dtype == tenon::f16 ? 0x1p-11
                               : 0x1p-8;
}
double smallest_of(tenon::DType dtype) {
  return dtype == tenon::f64   ? std::numeric_limits<double>::min()
         : dtype == tenon::f16 ? 0x1p-14
                               : std::numeric_limits<float>::min();
}

double Bound::of(double reference, double spread) const {
  constexpr double factor = 8;
  const double share = factor * std::sqrt(std::max(1.0, terms)) * unit;
  return share * std::abs(reference) + share * spread;  // their sum may be infinite
}

void Comparison::add_declined(const std::string& op, const std::string& provider,
                              const std::string& reason, bool backward) {
  ++declined_[{backward, {op, provider, reason}}];
}

std::string Comparison::text_of(const Number& number, double terms) const {
  if (!std::isfinite(number.share)) {
    return format_text("has {} at element {}, from {} {}; in f64 {} gives {}",
                       short_number(number.found), number.element, provider_,
                       short_number(number.other), provider_, short_number(number.reference));
  }
  return format_text(
      "has {} at element {}, from {} {}, {} ULP apart; in f64 {} gives {}, and {} times the bound "
      "of "
      "{} is between them, for sums of {}",
      short_number(number.found), number.element, provider_, short_number(number.other),
      number.ulp == kBeyond ? std::string("infinitely many") : grouped(number.ulp), provider_,
      short_number(number.reference), fixed(number.share, 2), short_number(number.bound),
      counted(static_cast<int64_t>(std::max(1.0, terms)), "term"));
}

void Comparison::note_worst(const std::string& what, const Number& number, const Json& call) {
  if (number.share <= worst_share_) return;
  worst_share_ = number.share;
  worst_ = tenon::JsonObject()
               .set("of", what)
               .set("element", static_cast<int64_t>(number.element))
               .set("found", number_json(number.found))
               .set("other", number_json(number.other))
               .set("reference", number_json(number.reference))
               .set("bound", number_json(number.bound))
               .set("share", number_json(number.share))
               .set("ulp", number.ulp == kBeyond ? number_json(INFINITY)
                                                 : number_json(static_cast<double>(number.ulp)))
               .set("call", call)
               .json();
}

std::string Comparison::compare(const std::string& what, bool gradient, const Tensor& found,
                                const Tensor& other, const ReferenceNumbers& reference,
                                double terms, const Json& call) {
  if (found.defined() != other.defined())
    return format_text("is missing {} {}", found.defined() ? "from" : "from the plugin, not from",
                       provider_);
  if (!found.defined()) return "";
  if (found.sizes() != other.sizes() || found.dtype() != other.dtype())
    return format_text("is {}, from {} {}", shape_dtype_text(found), provider_,
                       shape_dtype_text(other));
  if (!tenon::is_differentiable(found.dtype())) {
    const std::string what_differs = difference(found, other, kExact);
    return what_differs.empty() ? "" : format_text("{} ({} is the other)", what_differs, provider_);
  }
  const tenon::DType dtype = tenon::real_dtype(found.dtype());
  const std::vector<double> a = numbers_of(found), b = numbers_of(other);
  const size_t parts = tenon::is_complex(found.dtype()) ? 2 : 1;
  const bool known = reference.numbers.size() == a.size();
  // Without a reference the largest number stands for the sums that each is made of.
  double largest = 0;
  for (const double number : b) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  const Bound bound{terms, unit_of(dtype)};
  std::map<int64_t, int64_t>& histogram =
      histograms_[{std::string(tenon::dtype_text(dtype)), gradient}];
  Number worst{0, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t ulp = ulp_distance(dtype, a[i], b[i]);
    ++histogram[class_of(ulp)];
    if (ulp == 0) continue;
    const double right = known ? reference.numbers[i] : std::isfinite(b[i]) ? b[i] : a[i];
    const double room = bound.of(right, known ? reference.spread[i] : largest) + smallest_of(dtype);
    const double share = share_of(dtype, a[i], b[i], right, room);
    if (share > worst.share) worst = {a[i], b[i], right, room, share, ulp, i / parts};
  }
  note_worst(what, worst, call);
  return worst.share > 1 ? text_of(worst, terms) : "";
}

Json Comparison::json() const {
  tenon::JsonArray declined, histograms;
  for (const auto& [key, count] : declined_) {
    declined.add(tenon::JsonObject()
                     .set("op", key.second[0])
                     .set("provider", key.second[1])
                     .set("reason", key.second[2])
                     .set("backward", key.first)
                     .set("calls", count)
                     .json());
  }
  for (const auto& [key, classes] : histograms_) {
    tenon::JsonArray counts;
    for (const auto& [most, count] : classes) {
      counts.add(
          tenon::JsonObject()
              .set("up_to", most == kBeyond ? Json() : number_json(static_cast<double>(most)))
              .set("numbers", count)
              .json());
    }
    histograms.add(tenon::JsonObject()
                       .set("dtype", key.first)
                       .set("of", std::string(key.second ? "gradients" : "results"))
                       .set("ulp", counts.json())
                       .json());
  }
  return tenon::JsonObject()
      .set("plugin", plugin_)
      .set("provider", provider_)
      .set("calls", calls_)
      .set("compared", compared_)
      .set("refused", refused_)
      .set("declined", declined.json())
      .set("histograms", histograms.json())
      .set("worst", worst_)
      .json();
}

std::string comparison_text(const std::string& op, const Json& comparison) {
  const auto text = [](const Json& json) { return tenon::printable(json.text()); };
  std::string out = format_text("  against {}: {} of {} compared", text(comparison["provider"]),
                                grouped(comparison["compared"].integer()),
                                counted(comparison["calls"].integer(), "call"));
  if (const int64_t refused = comparison["refused"].integer(); refused > 0)
    out += format_text(", {} refused by both", grouped(refused));
  out += "\n";
  const Json declined = comparison["declined"];
  int64_t inside = 0;
  for (int64_t i = 0; i < declined.size(); ++i) {
    const Json one = declined[i];
    if (one["backward"].as_bool() || one["op"].text() != op) {
      inside += one["calls"].integer();
      continue;
    }
    out += format_text("    {} declined {}: {}\n", text(one["provider"]),
                       counted(one["calls"].integer(), "call"), text(one["reason"]));
  }
  if (inside > 0)
    out += format_text("    {} of other ops, or in a backward, declined: --json lists them\n",
                       counted(inside, "call"));
  const Json histograms = comparison["histograms"];
  for (int64_t i = 0; i < histograms.size(); ++i) {
    out +=
        format_text("    {} {} by ULP:", text(histograms[i]["dtype"]), text(histograms[i]["of"]));
    const Json counts = histograms[i]["ulp"];
    for (int64_t k = 0; k < counts.size(); ++k) {
      const std::string most =
          counts[k]["up_to"].is_null()
              ? "more"
              : format_text("{}{}", counts[k]["up_to"].integer() > 2 ? "to " : "",
                            grouped(counts[k]["up_to"].integer()));
      out += format_text("{} {}: {}", k == 0 ? "" : ",", most,
                         grouped(counts[k]["numbers"].integer()));
    }
    out += "\n";
  }
  if (const Json worst = comparison["worst"]; worst.is_object()) {
    out += format_text(
        "    worst: {} of the bound, {} at element {}; {}\n",
        worst["share"].is_text() ? worst["share"].text() : fixed(worst["share"].number(), 3),
        text(worst["of"]), worst["element"].integer(), tenon::printable(worst["call"].dump()));
  }
  return out;
}

}  // namespace cli
