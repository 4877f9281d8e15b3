"""Runs in a guest: uses what its kernel has to load first, as VPNs, sshfs and container engines do. Prints each that works."""
import ctypes, fcntl, os, socket, struct, subprocess

fd = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH14x", b"try-tun", 0x1001))  # TUNSETIFF: a TUN without packet information
print("tun", os.path.exists("/sys/class/net/try-tun"))

print("fuse", os.open("/dev/fuse", os.O_RDWR) > 0)


def attribute(kind, value):
    return struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def message(kind, flags, sequence, content, subsystem=10 << 8, family=2, resource=0):
    head = struct.pack("=IHHII", 20 + len(content), subsystem | kind, 1 | flags, sequence, 0)
    return head + struct.pack("!BBH", family, 0, resource) + content


def masquerade():
    """nft add table, chain of type nat and rule `masquerade`, in one batch. Returns the errors of the three."""
    table, chain = attribute(1, b"try\0"), b"out\0"
    hook = attribute(0x8004, attribute(1, struct.pack("!I", 4)) + attribute(2, struct.pack("!I", 100)))
    rule = attribute(0x8004, attribute(0x8001, attribute(1, b"masq\0")))
    create, answer = 0x400, 4
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as link:
        link.sendall(
            message(16, 0, 1, b"", subsystem=0, family=0, resource=10)
            + message(0, create | answer, 2, table)
            + message(3, create | answer, 3, table + attribute(3, chain) + hook + attribute(7, b"nat\0"))
            + message(6, create | answer, 4, table + attribute(2, chain) + rule)
            + message(17, 0, 5, b"", subsystem=0, family=0, resource=10)
        )
        errors = {}
        while len(errors) < 3:
            answers = link.recv(65536)
            while answers:
                length, _, _, sequence, _, error = struct.unpack_from("=IHHIIi", answers)
                errors[sequence] = error
                answers = answers[(length + 3) & ~3 :]
    return list(errors.values())


print("nft", masquerade())

# As iptables does it: it asks for ip_tables itself, and the kernel for the table.
helper = open("/proc/sys/kernel/modprobe").read().strip()
subprocess.run([helper, "-q", "ip_tables"], check=True)
info, length = ctypes.create_string_buffer(b"nat", 84), ctypes.c_uint(84)
with socket.socket(socket.AF_INET, socket.SOCK_RAW, 255) as raw:
    print("iptables", ctypes.CDLL(None).getsockopt(raw.fileno(), 0, 64, info, ctypes.byref(length)))
