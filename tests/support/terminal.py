# A person's terminal: runs a program on a pseudo terminal of 24 x 80. A line of JSON on standard input is what the person does, {"keys": "base64"},
# {"size": [cols, rows]} or {"signal": number}; standard output is what the screen gets. At the end one line of JSON on file 3 tells the exit code, and
# whether the terminal is as it was.

import base64
import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios


def set_size(terminal, cols, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


master, slave = pty.openpty()
set_size(slave, 80, 24)
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.close(3)
    os.close(master)
    os.login_tty(slave) if hasattr(os, "login_tty") else None
    if not hasattr(os, "login_tty"):
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)
    os.execvp(sys.argv[1], sys.argv[1:])

keys, asked, status = b"", b"", None
stdin_open = True
while status is None:
    readers = [master] + ([0] if stdin_open else [])
    ready, writable, _ = select.select(readers, [master] if keys else [], [], 0.05)
    if master in ready:
        sys.stdout.buffer.write(os.read(master, 65536))
        sys.stdout.buffer.flush()
    if master in writable:
        keys = keys[os.write(master, keys[:1024]):]
    if 0 in ready:
        piece = os.read(0, 1 << 20)
        stdin_open = piece != b""
        asked += piece
        *lines, asked = asked.split(b"\n")
        for line in lines:
            what = json.loads(line)
            if "keys" in what:
                keys += base64.b64decode(what["keys"])
            if "size" in what:
                set_size(slave, *what["size"])
            if "signal" in what:
                os.kill(child, what["signal"])
    pid, ended = os.waitpid(child, os.WNOHANG)
    if pid == child:
        status = ended

while select.select([master], [], [], 0.1)[0]:
    sys.stdout.buffer.write(os.read(master, 65536))
sys.stdout.buffer.flush()
code = os.waitstatus_to_exitcode(status)
os.write(3, json.dumps({"code": code, "restored": termios.tcgetattr(slave) == before}).encode())
