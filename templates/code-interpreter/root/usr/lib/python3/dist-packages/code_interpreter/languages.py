"""The languages, their other names, and the kernel of each."""

from .bash_kernel import BashKernel
from .java_kernel import JavaKernel
from .javascript_kernel import JavaScriptKernel, TypeScriptKernel
from .python_kernel import PythonKernel
from .r_kernel import RKernel

KERNELS = {
    "python": PythonKernel,
    "javascript": JavaScriptKernel,
    "typescript": TypeScriptKernel,
    "r": RKernel,
    "bash": BashKernel,
    "java": JavaKernel,
}
ALIASES = {"python3": "python", "py": "python", "js": "javascript", "ts": "typescript"}

# The contexts of these are there from the start, and their kernels are started before the freeze.
STARTED = ("python", "javascript")


def language_of(asked):
    """None for one that there is no kernel for."""
    name = (asked or "python").strip().lower()
    name = ALIASES.get(name, name)
    return name if name in KERNELS else None
