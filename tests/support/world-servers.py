"""Servers of the test world: TCP ports that say which address was reached, a TCP sink, a UDP echo, and a name server for one name.

Prints "ready", then one JSON line for everything that arrives. Usage: world-servers.py TCP_PORT... SINK_PORT UDP_PORT
"""
import json, selectors, socket, struct, sys

IP_PKTINFO = getattr(socket, "IP_PKTINFO", 8)
selector = selectors.DefaultSelector()


def tell(protocol, peer, to, port, text=""):
    print(json.dumps({"protocol": protocol, "from": peer, "to": to, "port": port, "text": text}))


def accept(listener):
    connection, peer = listener.accept()
    address, port = connection.getsockname()
    tell("tcp", peer[0], address, port)
    connection.sendall(f"{address}:{port}\n".encode())
    selector.register(connection, selectors.EVENT_READ, echo)


def discard(listener):
    """Takes what comes, for measuring."""
    connection, _ = listener.accept()
    selector.register(connection, selectors.EVENT_READ, lambda one: one.recv(1 << 20) or (selector.unregister(one), one.close()))


def echo(connection):
    try:
        data = connection.recv(65536)
    except OSError:
        data = b""
    if data:
        connection.sendall(data)
    else:
        selector.unregister(connection)
        connection.close()


def datagram(listener, answer_of, protocol):
    """Receives one datagram, tells it, and answers from the very address that it was sent to."""
    data, ancillary, _, peer = listener.recvmsg(2048, 256)
    to = next(socket.inet_ntoa(info[8:12]) for level, kind, info in ancillary if kind == IP_PKTINFO)
    port = listener.getsockname()[1]
    tell(protocol, peer[0], to, port, data.decode("latin-1"))
    source = struct.pack("=I4s4s", 0, socket.inet_aton(to), bytes(4))
    answer = answer_of(data)
    if answer:
        listener.sendmsg([answer], [(socket.IPPROTO_IP, IP_PKTINFO, source)], 0, peer)


def name_answer(query):
    """192.0.2.77 for every A question; the question is echoed as it came."""
    if len(query) < 17:
        return b""
    end = query.index(b"\0", 12) + 5
    head = query[:2] + b"\x81\x80" + b"\0\1\0\1\0\0\0\0"
    return head + query[12:end] + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + bytes([192, 0, 2, 77])


def udp(port, answer_of, protocol):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
    listener.bind(("", port))
    selector.register(listener, selectors.EVENT_READ, lambda one: datagram(one, answer_of, protocol))


*tcp_ports, sink_port, udp_port = map(int, sys.argv[1:])
for tcp_port in tcp_ports:
    server = socket.create_server(("", tcp_port), backlog=256)
    selector.register(server, selectors.EVENT_READ, accept)
selector.register(socket.create_server(("", sink_port)), selectors.EVENT_READ, discard)
udp(udp_port, lambda data: data, "udp")
udp(53, name_answer, "dns")
print("ready")
while True:
    for key, _ in selector.select():
        key.data(key.fileobj)
