"""Charts as SVG, by the standard library: bars with spread, and curves. Readable on light and dark ground.

Colours are variables of the file's own style sheet, which follows the reader's preference. Curves also differ by their marks,
so that colours are not needed to tell them apart.
"""

import math
from html import escape

STYLE = """
svg { --ground: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --ours: #0b62c4; --other: #8c959f;
      --c0: #0b62c4; --c1: #c2410c; --c2: #2b7a3e; --c3: #8b3fb8; --c4: #8a6500; --c5: #b3216b; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #f0f6fc; --faint: #9aa4af; --line: #3d444d; --ours: #58a6ff; --other: #6e7681;
        --c0: #58a6ff; --c1: #f0883e; --c2: #56d364; --c3: #d2a8ff; --c4: #e3b341; --c5: #ff7bbf; } }
text { font: 13px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: var(--ink); }
.title { font-size: 16px; font-weight: 600; } .faint { fill: var(--faint); font-size: 12px; }
.grid { stroke: var(--line); stroke-width: 1; } .spread { stroke: var(--ink); stroke-width: 1.5; }
.value { paint-order: stroke; stroke: var(--ground); stroke-width: 5px; stroke-linejoin: round; }
.target { stroke: var(--c1); stroke-width: 2; stroke-dasharray: 5 3; }
""".strip()

MARKS = ["circle", "square", "diamond", "up", "down", "cross"]


def text(x, y, words, anchor="start", kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{f" class={kind!r}" if kind else ""}>{escape(str(words))}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def document(width, height, title, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}"'
        f' role="img" aria-label="{escape(title, quote=True)}">',
        f"<style>{STYLE}</style>", f'<rect width="{width}" height="{height:.0f}" fill="var(--ground)"/>',
        *parts, "</svg>", ""])


def short(value):
    """A number for an axis."""
    for limit, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{sign}"
    return f"{value:g}"


class Axis:
    """From values to places. `log`: each step is ten times the one before."""

    def __init__(self, values, begin, end, log=False, from_zero=True):
        self.begin, self.end, self.log = begin, end, log
        values = [one for one in values if one is not None and (not log or one > 0)]
        least, most = (min(values), max(values)) if values else (1, 10)
        if log:
            self.low, self.high = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
            self.high = max(self.high, self.low + 1)
        else:
            self.low = 0 if from_zero else least
            self.high = most * 1.05 if most > self.low else self.low + 1

    def at(self, value):
        if self.log:
            value = math.log10(max(value, 10 ** self.low))
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self):
        if self.log:
            return [10.0 ** one for one in range(self.low, self.high + 1)]
        raw = (self.high - self.low) / 5
        step = 10 ** math.floor(math.log10(raw))
        step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= raw)
        first = math.ceil(self.low / step)
        return [one * step for one in range(first, int(self.high / step + 1e-9) + 1)]


def bars(title, unit, rows, log=False, note="", target=None):
    """Horizontal bars. `rows`: (label, Figure or None, is it ours, words behind the bar)."""
    width, left, right, row_height, top = 860, 285, 150, 26, 62
    height = top + row_height * len(rows) + 58
    values = [one for _, figure, _, _ in rows if figure for one in (figure.least, figure.most)]
    axis = Axis(values + ([target] if target else []), left, width - right, log)
    base = axis.begin
    parts = [text(16, 26, title, kind="title"), text(16, 45, f"{unit}{', logarithmic scale' if log else ''}", kind="faint")]
    bottom = top + row_height * len(rows)
    for tick in axis.ticks():
        parts.append(line(axis.at(tick), top - 4, axis.at(tick), bottom, "grid"))
        parts.append(text(axis.at(tick), bottom + 18, short(tick), "middle", "faint"))
    if target:
        parts.append(line(axis.at(target), top - 4, axis.at(target), bottom, "target"))
    for index, (label, figure, ours, words) in enumerate(rows):
        y = top + index * row_height
        parts.append(text(left - 10, y + 17, label, "end"))
        if figure is None:
            parts.append(text(base + 6, y + 17, words, kind="faint"))
            continue
        end = max(axis.at(figure.median), base + 1)
        parts.append(f'<rect x="{base:.1f}" y="{y + 4:.1f}" width="{end - base:.1f}" height="{row_height - 8}" rx="2"'
                     f' fill="var(--{"ours" if ours else "other"})"/>')
        least, most = max(axis.at(figure.least), base), max(axis.at(figure.most), base)
        if most > least:
            middle = y + row_height / 2
            parts += [line(least, middle, most, middle, "spread"), line(least, middle - 5, least, middle + 5, "spread"),
                      line(most, middle - 5, most, middle + 5, "spread")]
        parts.append(text(max(end, most) + 8, y + 17, words, kind="value"))
    if note:
        parts.append(text(16, height - 12, note, kind="faint"))
    return document(width, height, title, parts)


def mark(kind, x, y, colour):
    size = 4.5
    paint = f'fill="{colour}"'
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {paint}/>'
    shapes = {"square": [(-1, -1), (1, -1), (1, 1), (-1, 1)], "diamond": [(0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)],
              "up": [(0, -1.3), (1.2, 1), (-1.2, 1)], "down": [(0, 1.3), (1.2, -1), (-1.2, -1)],
              "cross": [(-1.3, -.5), (-.5, -.5), (-.5, -1.3), (.5, -1.3), (.5, -.5), (1.3, -.5), (1.3, .5), (.5, .5),
                        (.5, 1.3), (-.5, 1.3), (-.5, .5), (-1.3, .5)]}
    points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in shapes[kind])
    return f'<polygon points="{points}" {paint}/>'


def curves(title, x_title, y_title, series, log_x=False, log_y=False, names_of_x=None, note=""):
    """Lines with spread. `series`: (name, [(x, Figure)]). `names_of_x`: x are places 0, 1, ... with these names."""
    width, left, right, top, plot = 860, 74, 24, 62, 300
    rows = (len(series) + 1) // 2
    height = top + plot + 56 + 22 * rows + (20 if note else 0)
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, one in points for y in (one.least, one.most)]
    across = Axis(xs, left, width - right, log_x, from_zero=False)
    if not log_x and xs:
        across.low, across.high = min(xs), max(max(xs), min(xs) + 1)
    up = Axis(ys, top + plot, top, log_y)
    parts = [text(16, 26, title, kind="title"),
             text(16, 45, f"{y_title}{', logarithmic scale' if log_y else ''}", kind="faint")]
    for tick in up.ticks():
        parts += [line(left, up.at(tick), width - right, up.at(tick), "grid"),
                  text(left - 8, up.at(tick) + 4, short(tick), "end", "faint")]
    ticks = enumerate(names_of_x) if names_of_x else ((one, short(one)) for one in (across.ticks() if log_x else sorted(set(xs))))
    for x, name in ticks:
        parts.append(text(across.at(x), top + plot + 18, name, "middle", "faint"))
    parts.append(text((left + width - right) / 2, top + plot + 38, x_title, "middle", "faint"))
    for index, (name, points) in enumerate(series):
        colour, kind = f"var(--c{index % 6})", MARKS[index % len(MARKS)]
        places = [(across.at(x), up.at(one.median), up.at(one.least), up.at(one.most)) for x, one in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y, least, most in places:
            parts.append(f'<line x1="{x:.1f}" y1="{least:.1f}" x2="{x:.1f}" y2="{most:.1f}" stroke="{colour}"'
                         ' stroke-width="1.5"/>')
            parts.append(mark(kind, x, y, colour))
        row, column = divmod(index, 2)
        x, y = left + column * (width - left - right) / 2, top + plot + 62 + 22 * row
        parts += [mark(kind, x + 6, y - 4, colour), text(x + 20, y, name)]
    if note:
        parts.append(text(16, height - 10, note, kind="faint"))
    return document(width, height, title, parts)
