"""Runs in a guest: sends bytes to addresses, all at once, and prints what came back from each as JSON.

Standard argument: a JSON list of [address, port, [base64, ...]]; each piece is sent when the one before it was
answered up to a "]" or the end. With a second argument the first of them is sent
again and again, and each answer is added to that file as a line.
"""
import base64, json, socket, sys, threading, time


def converse(address, port, pieces):
    said = b""
    try:
        one = socket.create_connection((address, port), 20)
        one.settimeout(20)
        for piece in pieces:
            one.sendall(base64.b64decode(piece))
            answer = more = one.recv(65536)
            while more and b"]" not in answer:
                more = one.recv(65536)
                answer += more
            said += answer
            if not more:
                break
        one.close()
    except OSError as error:
        said += type(error).__name__.encode()
    return said.decode("latin-1")


def keep(index, wanted):
    said[index] = converse(*wanted)


wanted = json.loads(sys.argv[1])
if len(sys.argv) > 2:
    while True:
        line = json.dumps(converse(*wanted[0]))
        with open(sys.argv[2], "a") as file:
            file.write(line + "\n")
        time.sleep(0.1)
said = [""] * len(wanted)
threads = [threading.Thread(target=keep, args=each) for each in enumerate(wanted)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(said))
