#!/usr/bin/env python3
"""Draws the first table of docs/performance.md, or of another Markdown file: how many times as long the peer takes, beside the target.

    python benches/chart.py                  writes docs/pictures/performance.svg
"""

import argparse
import math
import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Left edge of the bars, width of all, height of a row and of the axis.
LABELS, WIDTH, ROW, TOP = 660, 1100, 22, 46
TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
FASTER, SLOWER, INK, FAINT = "#1b6ca8", "#b5651d", "#222", "#ccc"


def rows(text):
    """(work, peer, ratio, target) of each row of the first table that has ratios."""
    found, work = [], ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 7 and re.fullmatch(r"[\d.]+", cells[4]):
            # «The same by …» goes on from the row before.
            work = re.sub(r" \(\d{4}-\d\d-\d\d\)", "", cells[0])
            target = re.fullmatch(r"≥ ([\d.]+)", cells[6])
            found.append((work, cells[1].replace("`", ""), float(cells[4]), float(target[1]) if target else None))
        elif found and not line.startswith("|"):
            break
    return found


def place(ratio):
    least, most = math.log(TICKS[0]), math.log(TICKS[-1])
    share = (math.log(min(max(ratio, TICKS[0]), TICKS[-1])) - least) / (most - least)
    return LABELS + share * (WIDTH - LABELS - 60)


def shortened(text, letters):
    return text if len(text) <= letters else text[: letters - 1].rstrip(" ,") + "…"


def bar(number, row):
    work, peer, ratio, target = row
    y = TOP + number * ROW
    start, end = sorted((place(1), place(ratio)))
    # The number stands behind the bar, and behind the mark of the target where that would cross it.
    number_at = end + 6
    if target and number_at - 4 < place(target) < number_at + 30:
        number_at = place(target) + 6
    colour = FASTER if ratio >= 1 else SLOWER
    parts = [
        f'<text x="{LABELS - 10}" y="{y + 15}" text-anchor="end">{escape(shortened(work, 70))}'
        f'<tspan fill="#666"> · {escape(shortened(peer, 32))}</tspan></text>',
        f'<rect x="{start:.1f}" y="{y + 4}" width="{max(end - start, 1):.1f}" height="{ROW - 8}" fill="{colour}"/>',
        f'<text x="{number_at:.1f}" y="{y + 15}">{ratio:.2f}</text>',
    ]
    if target:
        x = place(target)
        parts.append(f'<path d="M{x:.1f} {y + 1}v{ROW - 2}" stroke="{INK}" stroke-width="2"/>')
    return "".join(parts)


def draw(table):
    height = TOP + len(table) * ROW + 12
    ticks = "".join(
        f'<path d="M{place(tick):.1f} {TOP}V{height - 12}" stroke="{INK if tick == 1 else FAINT}"/>'
        f'<text x="{place(tick):.1f}" y="{TOP - 8}" text-anchor="middle">{tick:g}×</text>'
        for tick in TICKS
    )
    title = "The peer's time over ours, by a logarithmic scale; black marks are targets"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="11" fill="{INK}"><title>{title}</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/><text x="{LABELS - 10}" y="18" font-size="13" text-anchor="end">{title}</text>'
        f"{ticks}{''.join(bar(number, row) for number, row in enumerate(table))}</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, nargs="?", default=ROOT / "docs/performance.md")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs/pictures/performance.svg")
    options = parser.parse_args()
    table = rows(options.table.read_text())
    options.output.write_text(draw(table))
    print(f"{len(table)} rows in {options.output}")


if __name__ == "__main__":
    main()
