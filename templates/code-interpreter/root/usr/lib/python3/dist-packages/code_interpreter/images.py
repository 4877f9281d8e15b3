"""Pictures of PIL as results: what `show` shows, and what is saved to a named file, as E2B's code interpreter displays it too.

PIL is loaded by the user's code, so its modules are changed when they are imported.
"""

import functools
import importlib.abc
import importlib.util
import sys

from IPython.display import display


def install():
    for name in CHANGES:
        if name in sys.modules:
            CHANGES[name](sys.modules[name])
    sys.meta_path.insert(0, Finder())


class Finder(importlib.abc.MetaPathFinder):
    """Finds as the others do, and has the module changed when it has been loaded."""

    def __init__(self):
        self._is_asking = False

    def find_spec(self, name, path, target=None):
        if name not in CHANGES or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (load(module), CHANGES[name](module))
        return spec


def show_as_result(module):
    class ResultViewer(module.Viewer):
        def show(self, image, **options):
            display_picture(image)
            return True

    # Before the viewers that open a window.
    module.register(ResultViewer, 0)


def display_saved(module):
    save = module.Image.save

    @functools.wraps(save)
    def save_and_display(self, fp, format=None, **params):
        save(self, fp, format, **params)
        if isinstance(fp, str):
            display_picture(self)

    module.Image.save = save_and_display


def display_picture(image):
    try:
        png = image._repr_png_()
    except Exception:
        # PNG has no such colours.
        png = None
    shown = {} if png is None else {"image/png": png}
    display({"text/plain": repr(image), **shown}, raw=True)


CHANGES = {"PIL.Image": display_saved, "PIL.ImageShow": show_as_result}
