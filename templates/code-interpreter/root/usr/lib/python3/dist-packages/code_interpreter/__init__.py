"""Runs code in Jupyter kernels for E2B's code interpreter, which calls port 49999 of a sandbox.

    server    HTTP: /execute, /contexts, /health
    contexts  the contexts, each with a kernel and the variables of its sandbox
    kernel    one kernel: its process, and the messages to and from it
    results   what a kernel publishes, as events of the client
    in_kernel what is loaded in the kernels themselves; charts belongs to it

The server is frozen with its first kernel loaded, so that clones of the template wake with both.
"""
