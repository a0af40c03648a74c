// SVG charts: a canvas for simple shapes, and a frame with axes that maps data to the canvas.
// Threads: one at a time for each drawing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace subak::sim {

// A position on the canvas, in pixels from the upper left corner.
struct Point {
  double x = 0, y = 0;
};

// One drawing. Calls append to it, so later shapes are in front. Texts are escaped.
class Svg {
 public:
  // Makes an empty white canvas of this size in pixels.
  Svg(double width, double height);
  // Makes a canvas with a style sheet. `css` must define each class that open() uses, and `ground`
  // for the background.
  Svg(double width, double height, std::string_view css);
  // Begins a group. All shapes until close() have this class, and show `title` when the pointer is
  // over them. Pass kInherit as a fill or colour to use that of the class.
  void open(std::string_view css_class, std::string_view title = "");
  // Ends the group that was begun last.
  void close();
  // Draws a filled rectangle; (x, y) is its upper left corner.
  void rect(double x, double y, double w, double h, std::string_view fill);
  // Draws a straight line. `width` is in pixels.
  void line(Point a, Point b, std::string_view colour, double width, bool dashed = false);
  // Draws an open line through the points.
  void path(const std::vector<Point>& points, std::string_view colour, double width,
            bool dashed = false);
  // Fills the area inside the closed outline.
  void area(const std::vector<Point>& outline, std::string_view fill);
  // Draws a text. `anchor` is start, middle or end.
  void text(Point at, std::string_view text, double size, std::string_view anchor = "start",
            std::string_view colour = "#333333", bool bold = false);
  // Returns the complete file.
  std::string finish() const;

 private:
  // Appends the points of `list` as an attribute.
  void points(const std::vector<Point>& list);
  // Appends text with XML escapes. The text may have any bytes; printable() replaces bytes that are
  // not text.
  void characters(std::string_view text);
  // All shapes so far.
  std::string body_;
  double width_, height_;
};

// One tick of an axis: its position and its label.
struct Tick {
  // The position, in the unit of the data.
  double at = 0;
  std::string label;
};
// Returns about `most` ticks at round steps (1, 2 or 5 times a power of ten). The labels end with
// `suffix`.
std::vector<Tick> linear_ticks(double from, double to, int most, std::string_view suffix = "");

// The rectangle of a chart on the canvas, and the data that it spans.
struct Frame {
  // The rectangle in pixels, and the values of the data at its edges.
  double left = 0, top = 0, width = 0, height = 0;
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  // Returns the position on the canvas of a point of the data.
  Point map(double x, double y) const {
    return {left + (x - x0) / (x1 - x0) * width, top + height - (y - y0) / (y1 - y0) * height};
  }
  // Draws grid lines, tick labels and axis titles.
  void draw(Svg& svg, const std::vector<Tick>& x_ticks, const std::vector<Tick>& y_ticks,
            std::string_view x_title, std::string_view y_title) const;
};

// The number of colours. The colours also suit most colour-blind readers. The last colour (grey) is
// for "all others".
inline constexpr std::size_t kColours = 12;
std::string_view colour(std::size_t i);
inline constexpr std::string_view kGrey = "#b8b8b8";
// Stands for the colour of the group's class.
inline constexpr std::string_view kInherit = "inherit";

}  // namespace subak::sim
