// Answers of guests that are meant to harm: the browser that shows them, the connection that carries them, or us.

import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { errorOf, GuestPorts } from "./support/guest-port.ts";
import { open } from "./support/raw-requests.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);

test("an answer of a guest can do nothing to our origin in a browser", async () => {
  const evil = {
    "Set-Cookie": ["session=evil", "b=2"],
    "Service-Worker-Allowed": "/",
    "Strict-Transport-Security": "max-age=1; includeSubDomains",
    "Clear-Site-Data": '"*"',
    "Alt-Svc": 'h3="evil.example:443"',
    NEL: "{}",
    "Report-To": "{}",
    "Reporting-Endpoints": 'a="https://evil.example"',
    "Content-Security-Policy": "default-src *",
    "Content-Security-Policy-Report-Only": "default-src *; report-uri https://evil.example",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Credentials": "true",
    "Referrer-Policy": "unsafe-url",
    "X-Content-Type-Options": "none",
    "Cross-Origin-Resource-Policy": "same-site",
    "Public-Key-Pins": "x",
    "WWW-Authenticate": "Basic",
    "X-Request-Id": "forged",
    "Skerry-Version": "99.0.0",
    "Accept-CH": "Sec-CH-UA",
    "Origin-Trial": "x",
    "Secure-Session-Registration": "x",
    "Proxy-Authenticate": "Basic",
    "Keep-Alive": "timeout=99",
    Refresh: "0; url=https://evil.example",
    "Speculation-Rules": '"/rules.json"',
    "X-Frame-Options": "ALLOWALL",
    "X-Accel-Redirect": "/internal/secret",
    "X-Sendfile": "/etc/passwd",
    Connection: "X-Hop",
    "X-Hop": "1",
    "Content-Type": "text/html",
    "Cache-Control": "max-age=60",
  };
  const port = await guest.serve((_request, response) => response.writeHead(200, evil).end("<p>page</p>"));
  const answer = await guest.get(port);
  expect(await answer.text()).toBe("<p>page</p>");
  const headers = Object.fromEntries(answer.headers);
  expect(headers).toMatchObject({
    "content-security-policy": "sandbox allow-scripts allow-forms",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "cross-origin",
    "content-type": "text/html",
    "cache-control": "max-age=60",
  });
  expect(headers["x-request-id"]).not.toBe("forged");
  expect(headers["skerry-version"]).not.toBe("99.0.0");
  for (const name of Object.keys(evil)) {
    if (
      /^(content-(security-policy|type)|referrer-policy|x-content|cross-origin|x-request|skerry-version|connection|keep-alive|cache)/i.test(
        name,
      ) &&
      !/report-only/i.test(name)
    )
      continue;
    expect(headers[name.toLowerCase()], name).toBeUndefined();
  }
  const worker = await guest.get(port, "/sw.js", { headers: { "service-worker": "script" } });
  expect((await errorOf(worker)).code).toBe("forbidden");
});

test("no page of this server can have an answer of a guest as its script, its style or its worker", async () => {
  let asked = 0;
  const port = await guest.serve((_request, response) => {
    asked += 1;
    response.writeHead(200, { "content-type": "text/javascript", vary: "Accept" }).end("alert(1)");
  });
  const loaded = async (dest: string, site: string) => {
    const headers = { "sec-fetch-dest": dest, "sec-fetch-site": site };
    return guest.get(port, "/app.js", { headers });
  };
  for (const dest of ["script", "style", "worker", "sharedworker", "serviceworker", "audioworklet"]) {
    const error = await errorOf(await loaded(dest, "same-origin"));
    expect([error.status, error.code, error.message], dest).toEqual([403, "forbidden", expect.any(String)]);
    expect(error.message).toContain(dest);
  }
  expect(asked).toBe(0);
  // Its own pages, whose origin nothing else has, and pages that read it.
  for (const [dest, site] of [
    ["script", "cross-site"],
    ["document", "same-origin"],
    ["empty", "same-origin"],
    ["image", "same-origin"],
  ] as const) {
    const answer = await loaded(dest, site);
    expect([answer.status, await answer.text()], `${dest} ${site}`).toEqual([200, "alert(1)"]);
    // What a browser has kept of these must be no answer to the others.
    expect(answer.headers.get("vary")).toBe("Accept, Sec-Fetch-Dest, Sec-Fetch-Site");
  }
});

test.each([
  ["no HTTP", "SSH-2.0-OpenSSH_9.9\r\n"],
  [
    "a length and a transfer encoding",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
  ["a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"],
  ["an odd transfer encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
  [
    "a transfer encoding twice",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a space before a colon", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello"],
  ["an odd byte in a field", "HTTP/1.1 200 OK\r\nX-A: a\x01b\r\nContent-Length: 0\r\n\r\n"],
  ["a bare carriage return", "HTTP/1.1 200 OK\r\nX-A: a\rSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"],
  ["a head that is too large", `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(40_000)}\r\n\r\n`],
  ["the status 0", "HTTP/1.1 0 Odd\r\nContent-Length: 5\r\n\r\nhello"],
  ["the status 000", "HTTP/1.1 000 Odd\r\nContent-Length: 5\r\n\r\nhello"],
  ["the status 99", "HTTP/1.1 99 Odd\r\nContent-Length: 5\r\n\r\nhello"],
  ["the status 600", "HTTP/1.1 600 Odd\r\nContent-Length: 5\r\n\r\nhello"],
  ["the status 999", "HTTP/1.1 999 Odd\r\nContent-Length: 5\r\n\r\nhello"],
  ["the status 1000", "HTTP/1.1 1000 Odd\r\nContent-Length: 5\r\n\r\nhello"],
  ["100 as its last word", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n"],
  ["103 as its last word", "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n"],
  ["101 without an upgrade", "HTTP/1.1 101 Switching\r\nContent-Length: 5\r\n\r\nhello"],
  ["too many fields", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(300)}\r\n`],
  [
    "an upgrade that was not asked for",
    "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
  ],
])("an answer with %s is refused", async (_what, bytes) => {
  const { status, code, remediation } = await errorOf(await guest.get(guest.answerRaw(bytes)));
  expect([status, code]).toEqual([502, "guest_failed"]);
  expect(remediation).not.toBe("");
});

test("a field that goes on in the next line is refused, or comes as one line", async () => {
  const port = guest.answerRaw("HTTP/1.1 200 OK\r\nX-A: a\r\n Set-Cookie: a=b\r\nContent-Length: 0\r\n\r\n");
  const answer = await guest.get(port);
  expect(answer.headers.get("set-cookie")).toBeNull();
  if (answer.status === 200) expect(answer.headers.get("x-a")).not.toContain("\n");
  else expect(answer.status).toBe(502);
});

test("header fields without an end end by their size", async () => {
  const port = guest.listen((connection) => {
    connection.write("HTTP/1.1 200 OK\r\n");
    const more = () => {
      while (!connection.destroyed && connection.write("x-more: and more\r\n"));
      connection.once("drain", more);
    };
    more();
  });
  expect((await errorOf(await guest.get(port))).code).toBe("guest_failed");
});

test("an answer that is cut off is no whole answer to its client", async () => {
  const port = guest.answerRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  await expect((await guest.get(port)).text()).rejects.toThrow();
});

test.each([
  ["GET", 204, undefined, ""],
  ["GET", 304, undefined, ""],
  ["HEAD", 204, undefined, ""],
  // The length of what GET would answer, which is what clients ask for.
  ["HEAD", 200, "5", ""],
  ["GET", 200, "5", "hello"],
])(
  "an answer to %s with %i has the length %s, and the next answer follows",
  async (method, status, length, body) => {
    const port = guest.answerRaw(`HTTP/1.1 ${status} Odd\r\nContent-Length: 5\r\n\r\nhello`);
    const next = await guest.serve((_request, response) => void response.end("next"));
    const line = (verb: string, of: number) =>
      `${verb} ${guest.path(of)} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${world.token}\r\n`;
    const socket = open(world.server);
    socket.write(`${line(method, port)}\r\n${line("GET", next)}Connection: close\r\n\r\n`);
    const answers = await text(socket);
    const end = answers.indexOf("\r\n\r\n");
    const head = answers.slice(0, end);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(/^content-length: (\d+)$/im.exec(head)?.[1]).toBe(length);
    expect(answers.slice(end + 4, end + 4 + body.length + 15)).toBe(`${body}HTTP/1.1 200 OK`);
    expect(answers).toMatch(/next/);
  },
);
