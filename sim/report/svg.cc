#include "sim/report/svg.h"

#include <array>
#include <cmath>

#include "core/printable.h"
#include "sim/report/table.h"

namespace subak::sim {
namespace {

std::string number(double v) { return fixed(v, 1); }

std::string stroke(std::string_view colour, double width, bool dashed) {
  return " fill=\"none\" stroke=\"" + std::string(colour) + "\" stroke-width=\"" + number(width) +
         "\" stroke-linejoin=\"round\"" + (dashed ? " stroke-dasharray=\"5 3\"" : "") + "/>\n";
}

}  // namespace

Svg::Svg(double width, double height) : width_(width), height_(height) {
  rect(0, 0, width, height, "#ffffff");
}

Svg::Svg(double width, double height, std::string_view css) : width_(width), height_(height) {
  body_ += "<style>" + std::string(css) + "</style>\n";
  open("ground");
  rect(0, 0, width, height, kInherit);
  close();
}

void Svg::open(std::string_view css_class, std::string_view title) {
  body_ += "<g class=\"" + std::string(css_class) + "\">";
  if (!title.empty()) {
    body_ += "<title>";
    characters(title);
    body_ += "</title>";
  }
  body_ += '\n';
}

void Svg::close() { body_ += "</g>\n"; }

// Lines and tabs are text. An invisible character becomes an escape, as XML has no control
// characters.
void Svg::characters(std::string_view text) {
  for (Piece piece; !text.empty(); text.remove_prefix(piece.bytes)) {
    piece = first_piece(text);
    const std::string_view bytes = text.substr(0, piece.bytes);
    if (bytes == "\n" || bytes == "\t") {
      body_ += bytes;
    } else if (!piece.printable) {
      body_ += printable(bytes);
    } else {
      body_ += html_text(bytes);
    }
  }
}

void Svg::rect(double x, double y, double w, double h, std::string_view fill) {
  body_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(w) +
           "\" height=\"" + number(h) + "\" fill=\"" + std::string(fill) + "\"/>\n";
}

void Svg::line(Point a, Point b, std::string_view colour, double width, bool dashed) {
  path({a, b}, colour, width, dashed);
}

void Svg::points(const std::vector<Point>& list) {
  body_ += " points=\"";
  for (const Point& p : list) body_ += number(p.x) + "," + number(p.y) + " ";
  body_ += "\"";
}

void Svg::path(const std::vector<Point>& list, std::string_view colour, double width, bool dashed) {
  body_ += "<polyline";
  points(list);
  body_ += stroke(colour, width, dashed);
}

void Svg::area(const std::vector<Point>& outline, std::string_view fill) {
  body_ += "<polygon";
  points(outline);
  body_ += " fill=\"" + std::string(fill) + "\"/>\n";
}

void Svg::text(Point at, std::string_view text, double size, std::string_view anchor,
               std::string_view colour, bool bold) {
  body_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" font-size=\"" +
           number(size) + "\" text-anchor=\"" + std::string(anchor) + "\" fill=\"" +
           std::string(colour) + "\"" + (bold ? " font-weight=\"bold\"" : "") + ">";
  characters(text);
  body_ += "</text>\n";
}

std::string Svg::finish() const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width_) + "\" height=\"" +
         number(height_) + "\" viewBox=\"0 0 " + number(width_) + " " + number(height_) +
         "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n" + body_ + "</svg>\n";
}

std::vector<Tick> linear_ticks(double from, double to, int most, std::string_view suffix) {
  const double rough = (to - from) / most;
  double step = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (step < rough) step *= factor;
  }
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step)));
  std::vector<Tick> ticks;
  for (double at = std::ceil(from / step - 1e-9) * step; at <= to + step * 1e-6; at += step) {
    const double shown = std::abs(at) < step * 1e-6 ? 0 : at;  // never "-0"
    ticks.push_back({shown, fixed(shown, decimals) + std::string(suffix)});
  }
  return ticks;
}

void Frame::draw(Svg& svg, const std::vector<Tick>& x_ticks, const std::vector<Tick>& y_ticks,
                 std::string_view x_title, std::string_view y_title) const {
  for (const Tick& tick : y_ticks) {
    const Point p = map(x0, tick.at);
    svg.line(p, {left + width, p.y}, "#dddddd", 1);
    svg.text({p.x - 8, p.y + 4}, tick.label, 12, "end");
  }
  for (const Tick& tick : x_ticks) {
    const Point p = map(tick.at, y0);
    svg.line(p, {p.x, top}, "#eeeeee", 1);
    svg.line(p, {p.x, p.y + 5}, "#666666", 1);
    svg.text({p.x, p.y + 20}, tick.label, 12, "middle");
  }
  svg.line({left, top + height}, {left + width, top + height}, "#666666", 1);
  svg.line({left, top}, {left, top + height}, "#666666", 1);
  svg.text({left + width / 2, top + height + 40}, x_title, 12, "middle", "#555555");
  svg.text({left, top - 9}, y_title, 12, "start", "#555555");
}

std::string_view colour(std::size_t i) {
  constexpr std::array<std::string_view, kColours> kPalette{
      "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948",
      "#b07aa1", "#9c755f", "#1b6ca8", "#d37295", "#8cd17d", "#6b4c9a"};
  return kPalette[i % kColours];
}

}  // namespace subak::sim
