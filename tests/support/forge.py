"""Runs in a guest: sends forged frames straight out of its network card, past its own IP stack.

Argument: a JSON list of {"to", "port", "text"} with optional "mac" (source), "from" (source address), "fragments": true, "ipv6": true.
"""
import json, socket, struct, sys, time

MAC = open("/sys/class/net/eth0/address").read().strip()


def gateway_mac():
    """The gateway's, from the neighbour table; asking for it first fills the table."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(50):
        probe.sendto(b"?", ("169.254.0.22", 9))
        for line in open("/proc/net/arp").read().splitlines()[1:]:
            fields = line.split()
            if fields[0] == "169.254.0.22" and fields[3] != "00:00:00:00:00:00":
                return fields[3]
        time.sleep(0.1)
    sys.exit("the gateway has no MAC")


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def ip_packet(source, to, payload, identity, offset, more):
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), identity, (0x2000 if more else 0) | offset // 8, 64, 17, 0,
        socket.inet_aton(source), socket.inet_aton(to),
    )
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def frames(forged):
    text = forged["text"].encode()
    datagram = struct.pack("!HHHH", 4000, forged["port"], 8 + len(text), 0) + text
    source = forged.get("from", "169.254.0.21")
    link = GATEWAY + mac_bytes(forged.get("mac", MAC))
    if forged.get("ipv6"):
        address = socket.inet_pton(socket.AF_INET6, "::ffff:" + forged["to"])
        mine = socket.inet_pton(socket.AF_INET6, "fe80::1")
        return [link + b"\x86\xdd" + struct.pack("!IHBB", 0x60000000, len(datagram), 17, 64) + mine + address + datagram]
    if not forged.get("fragments"):
        return [link + b"\x08\0" + ip_packet(source, forged["to"], datagram, 1, 0, False)]
    parts = [datagram[at : at + 8] for at in range(0, len(datagram), 8)]
    return [
        link + b"\x08\0" + ip_packet(source, forged["to"], part, forged["port"], 8 * n, n < len(parts) - 1)
        for n, part in enumerate(parts)
    ]


GATEWAY = mac_bytes(gateway_mac())
card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
card.bind(("eth0", 0))
for one in json.loads(sys.argv[1]):
    for frame in frames(one):
        card.send(frame)
