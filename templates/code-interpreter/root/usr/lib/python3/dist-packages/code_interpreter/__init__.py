"""Runs code in kernels for E2B's code interpreter, which calls port 49999 of a sandbox.

    serve.sh        starts the server, and again when it has ended
    server          HTTP: /execute, /contexts, /health
    contexts        the contexts, each with a kernel and the variables of its sandbox
    languages       the kernel of each language
    kernel          what all kernels have in common
    jupyter_kernel  kernels that speak Jupyter's messages: python_kernel, r_kernel
    pipe_kernel     kernels that are programs on pipes: javascript_kernel with javascript/, java_kernel with java/, bash_kernel
    account         programs of the sandbox's user
    environment     what makes a sandbox one of its own
    output          events on their way from a kernel to the client
    results         what is told the client, as its events
    in_kernel       what is loaded in Python's kernels; charts and images belong to it

The server is frozen with its first kernels loaded, so that clones of the template wake with them.
"""
