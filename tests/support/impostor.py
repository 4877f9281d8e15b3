"""Runs in a guest as root: stops the agent (PID 1) with ptrace and answers the host in its stead.

It says that nothing lives in the guest, answers a hello, and never answers what a host asks of a guest that it adopts.
"""
import ctypes, json, os, select, struct

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
HELLO, OPEN, CLOSE, HELLO_BYTES, LONGEST = 1, 2, 7, 24, 64 * 1024

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
port = next(fd for fd in os.listdir("/proc/1/fd") if "vport" in os.readlink("/proc/1/fd/" + fd))
fd = libc.syscall(438, libc.syscall(434, 1, 0), int(port), 0)
assert fd >= 0 and libc.ptrace(PTRACE_SEIZE, 1, 0, 0) == 0 and libc.ptrace(PTRACE_INTERRUPT, 1, 0, 0) == 0
open("/tmp/ready", "w").close()


def send(kind, stream, payload):
    os.write(fd, struct.pack("<BII", kind, len(payload), stream) + payload)


buffered = b""
while True:
    select.select([fd], [], [])
    try:
        buffered += os.read(fd, LONGEST)
    except BlockingIOError:
        continue
    while True:
        buffered = buffered.lstrip(b"\0")
        if len(buffered) < 9:
            break
        kind, length, stream = struct.unpack("<BII", buffered[:9])
        if len(buffered) < 9 + length:
            break
        payload, buffered = buffered[9 : 9 + length], buffered[9 + length :]
        if kind == HELLO and length == HELLO_BYTES:
            send(HELLO, stream, payload)
        elif kind == OPEN and json.loads(payload)["op"] == "idle":
            send(CLOSE, stream, b'{"idle":true}')
