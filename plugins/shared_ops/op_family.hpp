// Families of ops that differ in a number, of spatial dimensions for example: Conv<2> is conv2d.
//
//   template <int d>
//   struct Conv : ConvRules<Conv<d>> {
//     static constexpr auto schema = family_text<d>("conv{d}d(Tensor input, int[{d}] stride)");
//     static constexpr auto doc = family_text<d>("Slides over {rows|images|volumes}.");
//   };
//   TENON_OPS_1D_TO_3D(Conv)   // conv1d, conv2d, conv3d
#pragma once

#include <tenon/plugin.hpp>

namespace shared_ops {

// A text for member `d` of a family: "{d}" is the number, "{a|b|c}" the alternative at its place.
template <size_t size>
class FamilyText {
 public:
  constexpr FamilyText(const char (&pattern)[size], int d) {
    size_t end = 0;
    for (const char* at = pattern; *at != '\0'; ++at) {
      if (*at != '{') {
        text_[end++] = *at;
      } else if (at[1] == 'd' && at[2] == '}') {
        text_[end++] = static_cast<char>('0' + d);
        at += 2;
      } else {
        for (int alternative = 1; *++at != '}';) {
          if (*at == '|') {
            ++alternative;
          } else if (alternative == d) {
            text_[end++] = *at;
          }
        }
      }
    }
  }
  constexpr operator const char*() const { return text_; }
  constexpr operator std::string_view() const { return text_; }

 private:
  char text_[size]{};
};
template <int d, size_t size>
constexpr FamilyText<size> family_text(const char (&pattern)[size]) {
  return {pattern, d};
}
// One of three texts for JSON, which has braces.
template <int d>
constexpr const char* family_choice(const char* one, const char* two, const char* three) {
  return d == 1 ? one : d == 2 ? two : three;
}

}  // namespace shared_ops

// Registers Name<1>, Name<2> and Name<3> as Name1d, Name2d and Name3d: at global scope, once.
#define TENON_OPS_1D_TO_3D(Name) \
  using Name##1d = Name<1>;      \
  using Name##2d = Name<2>;      \
  using Name##3d = Name<3>;      \
  TENON_OPS(Name##1d, Name##2d, Name##3d)
