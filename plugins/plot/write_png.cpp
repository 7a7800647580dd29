// plot.write_png: an SVG document as a PNG file.
#include <cmath>
#include <memory>

#include <librsvg/rsvg.h>

#include <tenon/plugin.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>

namespace {

struct Release {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;

// The error that a function of librsvg reports.
class Report {
 public:
  ~Report() { g_clear_error(&error_); }
  GError** slot() { return &error_; }
  [[noreturn]] void refuse() const {
    throw tenon::ValueError(std::string("the SVG cannot be drawn: ") +
                            (error_ == nullptr ? "librsvg gives no reason" : error_->message));
  }

 private:
  GError* error_ = nullptr;
};

void check(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS)
    throw tenon::ValueError(std::string("the image cannot be made: ") +
                            cairo_status_to_string(status));
}

cairo_status_t append(void* bytes, const unsigned char* block, unsigned int length) {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(block), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

struct WritePng {
  static constexpr auto schema = "plot.write_png(str path, str svg, *, float scale=2.0) -> ()";
  static constexpr auto doc =
      "Draws an SVG document of a size in pixels, times `scale`, on white into a PNG file, "
      "replaced "
      "as a whole.";
  static constexpr auto samples = R"([
      {"path": {"file": "drawn/curve/1.png"},
       "svg": "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='4'><rect width='3' height='2'/></svg>",
       "then": {"op": "data.images", "path": {"file": "drawn"}}}])";

  static void forward(std::string_view path, std::string_view svg, double scale) {
    constexpr double most = 16384;  // pixels of a side: an image of 1 GiB
    Report report;
    const Owned<RsvgHandle> handle(rsvg_handle_new_from_data(
        reinterpret_cast<const guint8*>(svg.data()), svg.size(), report.slot()));
    if (handle == nullptr) report.refuse();
    double width = 0, height = 0;
    if (!rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height))
      throw tenon::ValueError("the SVG has no size in pixels; give it width and height");
    width = std::ceil(width * scale);
    height = std::ceil(height * scale);
    if (!(width >= 1 && width <= most && height >= 1 && height <= most))
      throw tenon::ValueError("an image has 1 to 16384 pixels in each direction, got " +
                              std::to_string(width) + " by " + std::to_string(height));
    const Owned<cairo_surface_t> surface(cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)));
    check(cairo_surface_status(surface.get()));
    const Owned<cairo_t> context(cairo_create(surface.get()));
    cairo_set_source_rgb(context.get(), 1, 1, 1);
    cairo_paint(context.get());
    const RsvgRectangle whole{0, 0, width, height};
    if (!rsvg_handle_render_document(handle.get(), context.get(), &whole, report.slot()))
      report.refuse();
    check(cairo_status(context.get()));
    std::string bytes;
    check(cairo_surface_write_to_png_stream(surface.get(), append, &bytes));
    if (path.find('\0') != path.npos) throw tenon::IOError("the path holds a NUL byte; remove it");
    tenon::state::write_file(std::string(path), bytes);
  }
};

}  // namespace
TENON_OP(WritePng)
