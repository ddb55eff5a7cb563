"""Plots of results by matplotlib, which is imported only where a plot is asked for. Each function draws onto axes and returns them."""

from __future__ import annotations

import math


def _axes(ax, **size):
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots are drawn by matplotlib, which is not installed: pip install matplotlib") from error
    return pyplot.subplots(layout="constrained", **size)[1]


def _positions(ax, count):
    ax.set_xlabel("position")
    step = max(1, math.ceil(count / 20))
    ax.set_xticks(range(1, count + 1, step))


def counts(found, ax=None):
    """Clicks per impression by position, over bars of impressions."""
    import numpy

    cells = found.cells
    sums = [numpy.bincount(cells["position"], weights=cells[name])[1:] for name in ("impressions", "clicks")]
    ax = _axes(ax)
    _rates(ax, *sums)
    ax.set_title(f"{found.session_count:,} sessions")
    return ax


def _rates(ax, impressions, clicks):
    import numpy

    places = numpy.arange(1, len(impressions) + 1)
    with numpy.errstate(invalid="ignore"):
        ax.plot(places, clicks / impressions, marker="o", label="clicks per impression")
    ax.set_ylabel("clicks per impression")
    ax.set_ylim(bottom=0)
    shown = ax.twinx()
    shown.bar(places, impressions, color="0.9", zorder=0)
    shown.set_ylabel("impressions")
    # The curve is drawn over the bars.
    ax.set_zorder(shown.get_zorder() + 1)
    ax.patch.set_visible(False)
    _positions(ax, len(impressions))


# More curves than this cannot be told apart; of more users a spread of depths is drawn.
_MOST_USERS = 20


def propensities(found, ax=None):
    """Examination by position: of all users, with standard errors, and of clusters or users."""
    import numpy

    ax = _axes(ax)
    places = numpy.arange(1, found.positions + 1)
    clusters, users = found.clusters, found.by_user
    if clusters is not None:
        for number, cluster in enumerate(clusters, 1):
            ax.plot(places, cluster, linewidth=1, label=f"cluster {number}")
    elif users is not None:
        order = numpy.argsort(found.depths, kind="stable")
        chosen = order[numpy.unique(numpy.linspace(0, len(order) - 1, _MOST_USERS).astype(int))]
        few = f"users ({len(chosen)} of {len(order):,}, by depth)" if len(chosen) < len(order) else "users"
        for number, user in enumerate(chosen):
            ax.plot(places, users[user], color="0.75", linewidth=1, label=few if number == 0 else None)
    ax.plot(places, found.population, marker="o", color="black", label="all users")
    if found.standard_errors is not None:
        half = 1.96 * found.standard_errors
        ax.fill_between(places, found.population - half, found.population + half, color="black", alpha=0.15)
    ax.set_ylabel("examination")
    ax.set_ylim(bottom=0)
    ax.set_title(found.method)
    _positions(ax, found.positions)
    ax.legend()
    return ax


def relevance(found, ax=None):
    """How many documents have which weight."""
    ax = _axes(ax)
    ax.hist(found.weights, bins=50)
    ax.set_xlabel("relevance weight")
    ax.set_ylabel("documents")
    ax.set_title(f"{found.estimator}: {len(found):,} documents")
    return ax


def diagnosis(found, ax=None):
    """Clicks per impression by position, with the verdicts as title."""
    ax = _axes(ax)
    import numpy

    rows = found.to_dict()["diagnosis"]["positions"]
    _rates(ax, *(numpy.array([row[name] for row in rows], float) for name in ("impressions", "clicks")))
    verdicts = {True: "yes", False: "no", None: "open"}
    bias = verdicts[found.personalized_bias]
    ax.set_title(f"fit to learn from: {verdicts[found.is_fit]}; personalized bias: {bias}")
    return ax


def evaluation(found, ax=None):
    """The mean of each measure with its 95 % interval over queries; differences where there is another to compare with."""
    ax = _axes(ax)
    other = found.against
    values = [found.per_query(name) - (other.per_query(name) if other is not None else 0) for name in found]
    means, halves = zip(*(_interval(of_queries) for of_queries in values))
    _dots(ax, list(found), means, halves, "mean over queries" if other is None else "difference of means over queries")
    if other is not None:
        ax.axvline(0, color="0.5", linewidth=1)
    return ax


def _interval(values):
    """The mean of what is a number, and half the width of its 95 % interval: the normal one, as there are many queries."""
    import numpy

    known = values[~numpy.isnan(values)]
    if len(known) < 2:
        return (known.mean() if len(known) else math.nan), math.nan
    return known.mean(), 1.96 * known.std(ddof=1) / math.sqrt(len(known))


def _dots(ax, names, values, halves, title):
    rows = range(len(names))
    ax.errorbar(values, rows, xerr=halves, fmt="o", capsize=3)
    ax.set_yticks(rows, names)
    ax.invert_yaxis()
    ax.set_xlabel(f"{title}, with 95 % interval")


def click_evaluation(found, ax=None):
    """Each measure with its 95 % interval over queries, and the pages as they were shown."""
    ax = _axes(ax)
    names = list(found)
    ends = [found.interval(name) for name in names]
    values = [found[name] for name in names]
    below = [value - low for value, (low, _) in zip(values, ends)]
    above = [high - value for value, (_, high) in zip(values, ends)]
    _dots(ax, names, values, [below, above], "value by clicks")
    ax.plot([found.as_shown[name] for name in names], range(len(names)), "x", color="0.4", label="as shown")
    ax.legend()
    return ax


def fit(found, ax=None):
    """How far the ranker is above the pages as they were shown, by held-out clicks; without a ranker, examination."""
    judged = found.to_dict()["judged_by_clicks"]
    if judged is None:
        return propensities(found.propensities, ax)
    ax = _axes(ax)
    rows = judged["difference"].values()
    values = [row["value"] for row in rows]
    below = [row["value"] - row["low"] for row in rows]
    above = [row["high"] - row["value"] for row in rows]
    _dots(ax, list(judged["difference"]), values, [below, above], "ranker above the pages as shown, by held-out clicks")
    ax.axvline(0, color="0.5", linewidth=1)
    return ax
