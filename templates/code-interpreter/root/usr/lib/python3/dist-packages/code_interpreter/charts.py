"""What a figure of matplotlib shows, as E2B's clients are told of it: its kind, its texts and its values."""

import re

import matplotlib.dates
from matplotlib.category import StrCategoryConverter
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer
from matplotlib.patches import PathPatch, Wedge

POINTS_MAX = 100_000


class TooMany(Exception):
    """More than is worth telling beside the picture."""


def describe(figure):
    axes = [one for one in figure.axes if one.get_label() != "<colorbar>"]
    if not axes:
        return None
    charts = [describe_axes(one) for one in axes]
    if len(charts) == 1:
        return charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return {"type": "superchart", "title": title or None, "elements": charts}


def describe_axes(axes):
    title = {"title": axes.get_title() or None}
    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    if wedges:
        return {"type": "pie", **title, "elements": [slice_of(wedge) for wedge in wedges]}
    plane = {**title, **axis_of("x", axes.get_xlabel()), **axis_of("y", axes.get_ylabel())}
    boxes = boxes_of(axes)
    if boxes:
        return {"type": "box_and_whisker", **plane, "elements": boxes}
    bars = [container for container in axes.containers if isinstance(container, BarContainer)]
    if bars:
        # Of bars that lie, the labels of the axes are told as if they stood.
        if all(is_horizontal(one) for one in bars):
            plane = {**title, **axis_of("x", axes.get_ylabel()), **axis_of("y", axes.get_xlabel())}
        return {"type": "bar", **plane, "elements": [bar for one in bars for bar in bars_of(axes, one)]}
    dots = [one for one in axes.collections if isinstance(one, PathCollection)]
    drawn = (axes.lines, axes.patches, axes.collections, axes.images, axes.tables, axes.artists)
    if not axes.lines and not dots and any(drawn):
        return {"type": "unknown", **plane, "elements": []}
    # Axes with nothing in them are lines of which there are none.
    kind = "scatter" if dots and not axes.lines else "line"
    series = (
        [(one.get_label(), one.get_offsets()) for one in dots]
        if kind == "scatter"
        else [(name_of(line.get_label(), "_child", "Line"), line.get_xydata()) for line in axes.lines]
    )
    return {
        "type": kind,
        **plane,
        **scale_of("x", axes.xaxis, axes.get_xticklabels()),
        **scale_of("y", axes.yaxis, axes.get_yticklabels()),
        "elements": [
            {"label": label, "points": points_of(axes, points)} for label, points in series
        ],
    }


def name_of(label, given, noun):
    """Of one without a label of its own, which matplotlib has given a number."""
    number = label.removeprefix(given)
    return f"{noun} {number}" if number != label and number.isdigit() else label


def axis_of(name, label):
    """`Time (s)` and `Time [s]` are in seconds."""
    unit = re.search(r"\s\(([^()]*)\)|\[([^\[\]]*)\]", label)
    return {f"{name}_label": label or None, f"{name}_unit": unit.group(1) or unit.group(2) if unit else None}


def value_on(axis, value):
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        return None
    converter = axis.converter
    if isinstance(converter, StrCategoryConverter):
        names = {place: name for name, place in axis.units._mapping.items()}
        return names.get(round(value), value)
    if is_date(converter):
        return matplotlib.dates.num2date(value).isoformat()
    return value


def is_date(converter):
    kinds = (
        matplotlib.dates.DateConverter,
        matplotlib.dates.ConciseDateConverter,
        matplotlib.dates._SwitchableDateConverter,
    )
    return isinstance(converter, kinds)


def scale_of(name, axis, labels):
    scale = axis.get_scale()
    if isinstance(axis.converter, StrCategoryConverter):
        scale = "categorical"
    elif is_date(axis.converter):
        scale = "datetime"
    return {
        f"{name}_scale": scale,
        f"{name}_ticks": [value_on(axis, tick) for tick in axis.get_majorticklocs()],
        f"{name}_tick_labels": [label.get_text() for label in labels],
    }


def points_of(axes, points):
    if len(points) > POINTS_MAX:
        raise TooMany()
    return [[value_on(axes.xaxis, x), value_on(axes.yaxis, y)] for x, y in points]


def slice_of(wedge):
    # Of single precision in matplotlib.
    return {
        "label": wedge.get_label(),
        "angle": round(abs(wedge.theta2 - wedge.theta1), 4),
        "radius": float(wedge.r),
    }


def is_horizontal(container):
    return container.orientation == "horizontal"


def bars_of(axes, container):
    is_vertical = not is_horizontal(container)
    group = name_of(container.get_label(), "_container", "Group")
    axis = axes.xaxis if is_vertical else axes.yaxis
    labels = axes.get_xticklabels() if is_vertical else axes.get_yticklabels()
    names = {round(float(place), 6): label.get_text() for place, label in zip(axis.get_majorticklocs(), labels)}
    for bar in container.patches:
        center = bar.get_x() + bar.get_width() / 2 if is_vertical else bar.get_y() + bar.get_height() / 2
        # Beside each other in a group, bars are not exactly at its tick.
        nearest = min(names, key=lambda place: abs(place - center), default=center)
        name = names[nearest] if names and abs(nearest - center) < 0.5 else str(value_on(axis, center))
        value = bar.get_height() if is_vertical else bar.get_width()
        yield {"label": name, "group": group, "value": float(value)}


def boxes_of(axes):
    """A box is a patch, or a line of five points; two whiskers, two caps, the median and the outliers follow it as lines."""
    patches = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    lines = list(axes.lines)
    per_box = 6 if patches else 7
    if not lines or len(lines) % per_box != 0:
        return []
    groups = [lines[at : at + per_box] for at in range(0, len(lines), per_box)]
    if patches and len(patches) != len(groups):
        return []
    if not patches and any(len(group[0].get_xdata()) != 5 for group in groups):
        return []
    boxes = [group[-6:] for group in groups]
    if any(len(line.get_xdata()) != 2 for box in boxes for line in box[:5]):
        return []
    x = boxes[0][4].get_xdata()
    is_vertical = x[0] != x[1]
    labels = axes.get_xticklabels() if is_vertical else axes.get_yticklabels()
    names = [label.get_text() for label in labels]
    return [box_of(box, is_vertical, names[at] if at < len(names) else "") for at, box in enumerate(boxes)]


def box_of(lines, is_vertical, label):
    low, high, _, _, median, outliers = (
        [float(value) for value in (line.get_ydata() if is_vertical else line.get_xdata())] for line in lines
    )
    return {
        **{"label": label, "min": low[1], "first_quartile": low[0], "median": median[0]},
        **{"third_quartile": high[0], "max": high[1], "outliers": outliers},
    }
