"""Java: the program in `java/`, on JShell. The environment's variables are its properties, as in E2B's code interpreter."""

import base64
import os

from .pipe_kernel import PipeKernel

FOLDER = os.path.join(os.path.dirname(__file__), "java")
SOURCE = os.path.join(FOLDER, "Kernel.java")
# The program is compiled when the template's image is made; from its source it starts too, and slower.
CLASSES = "/var/lib/code-interpreter/java"
# It starts sooner so, and leaves the sandbox's memory to what else runs in it.
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss1m", "-Xmx192m")


class JavaKernel(PipeKernel):
    def argv(self, requests_fd, messages_fd):
        is_compiled = os.path.isdir(CLASSES)
        program = ("-cp", CLASSES, "Kernel") if is_compiled else (SOURCE,)
        return ["java", *OPTIONS, *program, *(f"/proc/self/fd/{fd}" for fd in (requests_fd, messages_fd))]

    def cell_request(self, code):
        return line_of("R", code)

    def environment_request(self, changes):
        lines = [line_of("U", name) if value is None else line_of("S", name, value) for name, value in changes.items()]
        return b"".join([*lines, line_of("E")])


def line_of(kind, *texts):
    encoded = (base64.b64encode(text.encode(errors="surrogateescape")).decode() for text in texts)
    return f"{' '.join([kind, *encoded])}\n".encode()
