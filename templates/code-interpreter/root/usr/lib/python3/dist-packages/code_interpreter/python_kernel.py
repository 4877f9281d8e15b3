"""Python: IPython's kernel, with `in_kernel` loaded in it."""

from .jupyter_kernel import JupyterKernel

# By name, because each module is the user's to import: nothing of ours appears among the variables.
IN_KERNEL = "__import__('code_interpreter.in_kernel').in_kernel."


class PythonKernel(JupyterKernel):
    def argv(self, connection_file):
        return [
            *("python3", "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", connection_file),
            *("--HistoryManager.enabled=False", "--InteractiveShellApp.extra_extensions=code_interpreter.in_kernel"),
        ]

    async def change_environment(self, changes):
        await self.run_quietly(f"{IN_KERNEL}change_environment({changes!r})")

    async def reseed(self):
        await self.run_quietly(f"{IN_KERNEL}reseed()")

    async def warm_up(self):
        await self.run_quietly(f"{IN_KERNEL}warm_up()")
