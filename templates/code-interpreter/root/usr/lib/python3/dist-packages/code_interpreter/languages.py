"""The languages, their other names, and the kernel of each."""

from .python_kernel import PythonKernel

KERNELS = {
    "python": PythonKernel,
}
ALIASES = {"python3": "python", "py": "python", "js": "javascript", "ts": "typescript"}

# The contexts of these are there from the start, and their kernels loaded.
STARTED = ("python",)


def language_of(asked):
    """None for one that there is no kernel for."""
    name = (asked or "python").strip().lower()
    name = ALIASES.get(name, name)
    return name if name in KERNELS else None
