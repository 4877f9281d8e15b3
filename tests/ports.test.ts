// Requests to what really listens in a microVM: python's own servers, and sockets that do what no server should.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PortList } from "@skerry/contract/vms/ports";
import type { SignedUrl } from "@skerry/contract/vms/signed-urls";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { createSandbox, destroySandbox, execute, outputOf, refusal } from "./support/api.ts";
import { call, until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
let sandbox: Sandbox;

/** Each port does one thing; `port-servers.py` says which. */
const ports = { files: 8000, web: 8001, raw: 8002, six: 8003 } as const;

const SERVERS = `
import hashlib, http.server, os, socket, socketserver, threading, time
BLOCK = bytes(range(256)) * 256

class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self):
        if self.path.startswith("/bytes/"):
            left = int(self.path.split("/")[2])
            self.send_response(200)
            self.send_header("Content-Length", str(left))
            self.end_headers()
            while left > 0:
                piece = BLOCK[:left]
                self.wfile.write(piece)
                left -= len(piece)
        elif self.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number in range(3):
                self.wfile.write(b"data: %d\\n\\n" % number)
                self.wfile.flush()
                while not os.path.exists("/tmp/event-%d" % number): time.sleep(0.02)
        else:
            told = repr(sorted(name.lower() for name in self.headers)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)
    def do_PUT(self):
        digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
        while left > 0:
            piece = self.rfile.read(min(left, 65536))
            digest.update(piece)
            left -= len(piece)
        told = digest.hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

class Raw(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline()
        if b"/websocket" in line:
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: x\\r\\n\\r\\n")
            while self.rfile.readline().strip(): pass
            while True:
                said = self.rfile.readline()
                if not said: return
                self.wfile.write(b"echo " + said)
        if b"/garbage" in line: self.wfile.write(os.urandom(1000))
        if b"/cut" in line: self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nsome")
        if b"/endless" in line:
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\n")
            while True: self.wfile.write(b"a: b\\r\\n")

class Six(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6

socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer.daemon_threads = True
servers = [
    http.server.ThreadingHTTPServer(("0.0.0.0", 8001), Web),
    socketserver.ThreadingTCPServer(("127.0.0.1", 8002), Raw),
    Six(("::1", 8003), Web),
]
for server in servers: threading.Thread(target=server.serve_forever).start()
`;

beforeAll(async () => {
  sandbox = await createSandbox(platform, { template: "base", timeout: "30m" });
  await execute(platform, sandbox.id, { command: `cat > /root/servers.py <<'END'\n${SERVERS}\nEND` });
  const start =
    "mkdir -p /srv/files && echo 'from the guest' > /srv/files/page.txt && (setsid python3 /root/servers.py & setsid python3 -m http.server -d /srv/files 8000 &) > /tmp/servers.log 2>&1 < /dev/null";
  await execute(platform, sandbox.id, { command: start });
  await until("the servers listen", async () => (await listening()).length >= 4);
});

afterAll(() => destroySandbox(platform, sandbox.id));

async function listening(): Promise<readonly number[]> {
  const list = (await (await call(platform, "GET", `/v1/sandboxes/${sandbox.id}/ports`)).json()) as PortList;
  return list.items.filter((port) => port.listening).map(({ port }) => port);
}

const path = (port: number, rest: string): string => `/v1/sandboxes/${sandbox.id}/ports/${port}${rest}`;

function get(port: number, rest: string): Promise<Response> {
  return call(platform, "GET", path(port, rest));
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

test("what listens is told with its address and its program", async () => {
  const list = (await (await call(platform, "GET", `/v1/sandboxes/${sandbox.id}/ports`)).json()) as PortList;
  expect(list.items).toContainEqual({
    port: ports.raw,
    public: false,
    listening: true,
    addresses: ["127.0.0.1"],
    process: "python3",
  });
  expect(list.items.find(({ port }) => port === ports.six)).toMatchObject({ addresses: ["::1"] });
});

test("a file server in the guest is reached with a token", async () => {
  const answer = await get(ports.files, "/page.txt");
  expect([answer.status, await answer.text()]).toEqual([200, "from the guest\n"]);
  expect(answer.headers.get("content-security-policy")).toBe("sandbox allow-scripts allow-forms");
  expect((await get(ports.files, "/none")).status).toBe(404);
  expect(await (await get(ports.six, "/")).text()).toContain("host");
});

test("no token and no cookie reaches the guest", async () => {
  const answer = await fetch(platform.apiUrl + path(ports.web, "/"), {
    headers: { "x-api-key": platform.token, cookie: "a=b", authorization: `Bearer ${platform.token}` },
  });
  const told = await answer.text();
  expect(answer.status).toBe(200);
  expect(told).toContain("'x-forwarded-host'");
  expect(told).not.toMatch(/authorization|cookie|x-api-key|x-org-id/);
});

test("100 MB come out of a guest and 100 MB go in, without a byte changed", async () => {
  const out = await (await get(ports.web, "/bytes/100000000")).bytes();
  const block = Buffer.from(Array.from({ length: 65_536 }, (_, index) => index % 256));
  const expected = createHash("sha256");
  for (let left = 100_000_000; left > 0; left -= block.length)
    expected.update(block.subarray(0, Math.min(left, block.length)));
  expect(out.length).toBe(100_000_000);
  expect(sha256(out)).toBe(expected.digest("hex"));
  const answer = await call(platform, "PUT", path(ports.web, "/"), { raw: out });
  expect(await answer.text()).toBe(sha256(out));
});

test("server-sent events arrive while the answer goes on", async () => {
  const reader = (await get(ports.web, "/events")).body?.getReader();
  for (const number of [0, 1, 2]) {
    // oxlint-disable-next-line no-await-in-loop
    const part = await reader?.read();
    expect(Buffer.from(part?.value ?? []).toString()).toBe(`data: ${number}\n\n`);
    // oxlint-disable-next-line no-await-in-loop
    await execute(platform, sandbox.id, { command: `touch /tmp/event-${number}` });
  }
  expect((await reader?.read())?.done).toBe(true);
});

async function webSocket(): Promise<Socket> {
  const { hostname, port } = new URL(platform.apiUrl);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET ${path(ports.raw, "/websocket")} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${platform.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 101 /);
  return socket;
}

test("a WebSocket passes both ways, also after the guest has been idle", async () => {
  const socket = await webSocket();
  for (const said of ["one\n", "two\n"]) {
    socket.write(said);
    // oxlint-disable-next-line no-await-in-loop
    const [echoed] = (await once(socket, "data")) as [Buffer];
    expect(echoed.toString()).toBe(`echo ${said}`);
  }
  socket.destroy();
});

test("a guest that answers nonsense, breaks off or never ends its head fails its own request alone", async () => {
  await refusal(get(ports.raw, "/garbage"), 502, "guest_failed");
  await refusal(get(ports.raw, "/endless"), 502, "guest_failed");
  const cut = await get(ports.raw, "/cut");
  await expect(cut.text()).rejects.toThrow();
  expect((await get(ports.files, "/page.txt")).status).toBe(200);
});

test("a port on which nothing listens says what to do", async () => {
  const { message, remediation } = await refusal(get(9_999, "/"), 409, "port_not_listening");
  expect(message).toBe("Nothing listens on port 9999 in the sandbox.");
  expect(remediation).toContain("Start a server");
});

test("clients that leave in the middle leave no connection in the guest", async () => {
  const leaving = Array.from({ length: 20 }, async () => {
    const controller = new AbortController();
    const answer = await fetch(platform.apiUrl + path(ports.web, "/bytes/100000000"), {
      headers: { "x-api-key": platform.token },
      signal: controller.signal,
    });
    await answer.body?.getReader().read();
    controller.abort();
  });
  await Promise.all(leaving);
  const open = "grep -c ' 0100007F:1F41 .* 01 ' /proc/net/tcp || true";
  await until("the connections have ended", async () => (await outputOf(platform, sandbox.id, open)) === "0");
});

test("a signed URL and a public port open without a token, and only them", async () => {
  const signed = await call(platform, "POST", `/v1/sandboxes/${sandbox.id}/urls`, {
    body: { port: ports.files, expires_in: "5m" },
  });
  const { url } = (await signed.json()) as SignedUrl;
  expect(await (await fetch(url.replace("/?", "/page.txt?"))).text()).toBe("from the guest\n");
  const bare = platform.apiUrl + path(ports.files, "/page.txt");
  expect((await fetch(bare)).status).toBe(401);
  await call(platform, "PATCH", path(ports.files, ""), { body: { public: true } });
  expect(await (await fetch(bare)).text()).toBe("from the guest\n");
  await call(platform, "PATCH", path(ports.files, ""), { body: { public: false } });
  expect((await fetch(bare)).status).toBe(401);
});

test("a machine is stopped when nothing uses it, its check being none, and a request for its port starts it", async () => {
  const { machines } = platform.client;
  const { id } = await machines.create({
    template: "base",
    command: "cd /srv && exec python3 -m http.server 8000",
    check: { path: "/", port: 8000, interval: "1s" },
    autostop: { idle: "10s" },
    autostart: true,
  });
  await machines.upload(id, "/srv/page.txt", "from its disk\n");
  await until("it is stopped", async () => (await machines.get(id)).status === "stopped", 120_000);
  expect(await machines.get(id)).toMatchObject({ reason: "stopped because nothing used it", restarts: 0 });
  const page = `/v1/machines/${id}/ports/8000/page.txt`;
  expect(await (await call(platform, "GET", page)).text()).toBe("from its disk\n");
  expect(await machines.get(id)).toMatchObject({ status: "running", restarts: 0 });
  await machines.stop(id);
  await refusal(call(platform, "GET", page), 409, "machine_not_running");
  await machines.destroy(id);
});
