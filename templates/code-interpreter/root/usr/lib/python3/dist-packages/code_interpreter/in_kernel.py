"""What is loaded in the kernels: how tables, charts and lists are told to the client, and what makes a frozen kernel one of its sandbox."""

import json
import os
import random
import sys

from IPython.core.formatters import BaseFormatter, JSONFormatter
from traitlets import ObjectName, Unicode

from . import images

CELLS_MAX = 100_000
JSON_MAX_CHARS = 1024 * 1024


def load_ipython_extension(shell):
    images.install()
    kernel = shell.kernel
    # What it publishes faster than it is read is kept, up to its memory, and not dropped.
    kernel.iopub_thread.socket.sndhwm = 0
    formatters = shell.display_formatter.formatters
    for kind in (DataFormatter, ChartFormatter, ValueFormatter):
        formatter = kind(parent=shell.display_formatter)
        formatters[formatter.format_type] = formatter
    formatters["e2b/data"].for_type_by_name("pandas.core.frame", "DataFrame", data_of)


class DataFormatter(BaseFormatter):
    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = dict


class ChartFormatter(BaseFormatter):
    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = dict

    def __call__(self, value):
        # Not by a table of types: matplotlib takes figures out of those of all formatters.
        figures = sys.modules.get("matplotlib.figure")
        return chart_of(value) if figures is not None and isinstance(value, figures.Figure) else None


class ValueFormatter(JSONFormatter):
    def __call__(self, value):
        plain = plain_of(value) if isinstance(value, (list, dict)) else None
        return super().__call__(value) if plain is None else plain


def plain_of(value):
    """What JSON has for it; None where it has nothing, or where it is large: no more than that is written."""
    chunks, length = [], 0
    try:
        for chunk in json.JSONEncoder(default=list_of, allow_nan=False).iterencode(value):
            chunks.append(chunk)
            length += len(chunk)
            if length > JSON_MAX_CHARS:
                return None
    except (TypeError, ValueError, RecursionError):
        return None
    return json.loads("".join(chunks))


def list_of(value):
    """Of numpy's numbers, and of its arrays that are not large."""
    if hasattr(value, "tolist") and getattr(value, "size", 1) <= CELLS_MAX:
        return value.tolist()
    raise TypeError()


def data_of(frame):
    """A DataFrame as lists by column; None where it is large."""
    if frame.size > CELLS_MAX:
        return None
    columns = json.loads(frame.to_json(orient="split", date_format="iso", default_handler=str))
    rows = columns["data"]
    return {str(name): [row[at] for row in rows] for at, name in enumerate(columns["columns"])}


def chart_of(figure):
    from .charts import describe

    try:
        return describe(figure)
    except Exception:
        # A figure is shown all the same.
        return None


def warm_up():
    """Loads what most code begins with, and draws once."""
    import matplotlib.pyplot as plt
    import numpy
    import pandas
    from IPython.core.pylabtools import print_figure

    from .charts import describe

    figure = plt.figure()
    figure.add_subplot().plot([1, 2], [1, 2])
    print_figure(figure)
    describe(figure)
    plt.close(figure)
    pandas.DataFrame({"a": numpy.arange(2)})._repr_html_()


def reseed():
    """Clones of one template would have the same random numbers."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def change_environment(changes):
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
