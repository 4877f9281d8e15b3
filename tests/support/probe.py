"""Runs in a guest: tries destinations all at once and prints which of them answered.

Standard argument: a JSON list of [protocol, address, port, expected]; protocol is tcp, udp or icmp. Prints a JSON list of booleans. An answer
that is expected is waited for, however busy the machine is; for one that is not there is some silence after the last of those.
"""
import json, os, select, socket, struct, sys, time

PATIENCE_S = 30.0
SILENCE_S = 1.5


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def start(protocol, address, port):
    if protocol == "tcp":
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((address, port))
    elif protocol == "udp":
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setblocking(False)
        one.connect((address, port))
        one.send(b"probe!")
    else:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        one.setblocking(False)
        one.connect((address, 0))
        body = struct.pack("!BBHHH", 8, 0, 0, 0, 1) + b"probe!!!"
        one.send(body[:2] + struct.pack("!H", checksum(body)) + body[4:])
    return one


open("/proc/sys/net/ipv4/ping_group_range", "w").write("0 0")
wanted = json.loads(sys.argv[1])
answered = [False] * len(wanted)
waiting = {}
for index, (protocol, address, port, _) in enumerate(wanted):
    try:
        waiting[start(protocol, address, port)] = index
    except OSError:
        pass
end, patient = time.monotonic() + PATIENCE_S, True
while waiting and time.monotonic() < end:
    if patient and not any(wanted[index][3] for index in waiting.values()):
        end, patient = time.monotonic() + SILENCE_S, False
    ready, _, _ = select.select(list(waiting), [], [], max(0, end - time.monotonic()))
    for one in ready:
        index = waiting.pop(one)
        try:
            answered[index] = len(one.recv(200)) > 0
        except OSError:
            pass
        one.close()
print(json.dumps(answered))
