"""R: IRkernel."""

from .jupyter_kernel import JupyterKernel

START = "IRkernel::main()"


class RKernel(JupyterKernel):
    def argv(self, connection_file):
        return ["R", "--slave", "--no-save", "--no-restore", "-e", START, "--args", connection_file]

    async def change_environment(self, changes):
        kept = [f"{quoted(name)}={quoted(value)}" for name, value in changes.items() if value is not None]
        gone = [quoted(name) for name, value in changes.items() if value is None]
        if kept:
            await self.run_quietly(f"invisible(Sys.setenv({', '.join(kept)}))")
        if gone:
            await self.run_quietly(f"invisible(Sys.unsetenv(c({', '.join(gone)})))")

    async def reseed(self):
        await self.run_quietly("set.seed(NULL)")


def quoted(text):
    """A string of R."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
