// Receivers' addresses, and lines as they are sent.

import { expect, test } from "vitest";
import type { ForwardedLine } from "../src/apps/forward/forwarded-line.ts";
import { readReceiver } from "../src/apps/forward/log-receiver.ts";
import { otlpBody } from "../src/apps/forward/otlp.ts";
import { whyClosed } from "../src/apps/forward/reachable-address.ts";
import { syslogFrames, syslogMessage } from "../src/apps/forward/syslog.ts";

test.each([
  ["https://logs.example.com/v1/logs", ["otlp", "logs.example.com", 443, "/v1/logs", true]],
  ["https://logs.example.com:4318/a/b", ["otlp", "logs.example.com", 4318, "/a/b", true]],
  ["http://10.0.0.1:4318/v1/logs", ["otlp", "10.0.0.1", 4318, "/v1/logs", false]],
  ["syslog+tls://logs.example.com", ["syslog", "logs.example.com", 6514, "", true]],
  ["syslog+tls://[2001:4860::1]:601/", ["syslog", "2001:4860::1", 601, "/", true]],
  // Forms of addresses that URL parsers and resolvers read as one.
  ["https://0x7f.1/v1/logs", ["otlp", "127.0.0.1", 443, "/v1/logs", true]],
  ["https://2130706433/v1/logs", ["otlp", "127.0.0.1", 443, "/v1/logs", true]],
])("%s is a receiver", (text, expected) => {
  const receiver = readReceiver(text);
  if (typeof receiver === "string") throw new Error(receiver);
  const { kind, host, port, path, isTls } = receiver;
  expect([kind, host, port, path, isTls]).toEqual(expected);
});

test.each([
  ["", "neither"],
  ["logs.example.com", "neither"],
  ["ftp://logs.example.com", "neither"],
  ["file:///etc/passwd", "neither"],
  ["unix:/run/skerry/host.sock", "neither"],
  ["syslog://logs.example.com", "neither"],
  ["https://user:password@logs.example.com/", "a name or a password"],
  ["https://logs.example.com/?token=x", "a query"],
  ["https://logs.example.com/?", "a query"],
  ["https://logs.example.com/#x", "a query"],
  ["syslog+tls://logs.example.com/path", "a path"],
  ["syslog+tls:///", "no name"],
  ["syslog+tls://a%20b", "no name"],
  ["https://logs.example.com:0/", "no port"],
])("%j is no receiver: %s", (text, why) => {
  expect(readReceiver(text)).toContain(why);
});

const own = new Set(["198.51.100.7", "2a00:1450::7"]);

test.each([
  ...["127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1"],
  ...["169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "224.0.0.1", "255.255.255.255"],
  ...["::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8"],
  ...["64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:1::1", "2001:db8::1", "198.51.100.7", "2a00:1450::7"],
])("%s is out of reach of organizations", (address) => {
  expect(whyClosed(address, { privateCidrs: [], own })).toBeTypeOf("string");
});

test.each(["8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "2a00:1450::8", "2606:4700::1111"])(
  "%s is in their reach",
  (address) => {
    expect(whyClosed(address, { privateCidrs: [], own })).toBeUndefined();
  },
);

test("what the operator opens is in their reach, and nothing beside it", () => {
  const reach = { privateCidrs: ["10.1.0.0/16", "fd00::/8", "198.51.100.7"], own };
  for (const address of ["10.1.255.1", "fd00::1", "198.51.100.7"])
    expect(whyClosed(address, reach)).toBeUndefined();
  for (const address of ["10.2.0.1", "fc00::1", "2a00:1450::7", "127.0.0.1"])
    expect(whyClosed(address, reach)).toBeTypeOf("string");
});

const line: ForwardedLine = {
  app: { id: "app_1", name: "shop" },
  ...{ group: "web", instance: "web.1", machine: "mch_1", release: 42 },
  ...{ atMs: Date.parse("2026-11-20T16:41:09.900Z"), level: "warn", line: "grüße - a" },
};

test("a message of syslog has the fields of RFC 5424, and is framed by its bytes", () => {
  expect(syslogMessage(line)).toBe("<132>1 2026-11-20T16:41:09.900Z mch_1 shop web.1 42 - grüße - a");
  expect(syslogMessage({ ...line, level: null, atMs: 0 })).toBe("<134>1 - mch_1 shop web.1 42 - grüße - a");
  const levels = (["debug", "info", "error"] as const).map((level) =>
    syslogMessage({ ...line, level }).slice(0, 5),
  );
  expect(levels).toEqual(["<135>", "<134>", "<131>"]);
  const one = syslogMessage({ ...line, line: "1\t2" });
  const bytes = Buffer.byteLength(syslogMessage(line));
  expect(syslogFrames([line, { ...line, line: "1\t2" }]).toString()).toBe(
    `${bytes} ${syslogMessage(line)}${one.length} ${one}`,
  );
});

test("a body of OTLP has a resource for each instance, with its lines in order", () => {
  const other = { ...line, machine: "mch_2", instance: "web.2", level: null, atMs: 0, line: "b" };
  const body = otlpBody([line, other, { ...line, level: "error", line: "c" }], 1_795_192_870_001);
  expect(body).toEqual({
    resourceLogs: [
      {
        resource: {
          attributes: [
            { key: "service.name", value: { stringValue: "shop" } },
            { key: "service.version", value: { stringValue: "42" } },
            { key: "service.instance.id", value: { stringValue: "mch_1" } },
            { key: "skerry.app.id", value: { stringValue: "app_1" } },
            { key: "skerry.group", value: { stringValue: "web" } },
            { key: "skerry.instance", value: { stringValue: "web.1" } },
          ],
        },
        scopeLogs: [
          {
            scope: { name: "skerry" },
            logRecords: [
              {
                timeUnixNano: "1795192869900000000",
                observedTimeUnixNano: "1795192870001000000",
                ...{ severityNumber: 13, severityText: "WARN" },
                body: { stringValue: "grüße - a" },
              },
              {
                timeUnixNano: "1795192869900000000",
                observedTimeUnixNano: "1795192870001000000",
                ...{ severityNumber: 17, severityText: "ERROR" },
                body: { stringValue: "c" },
              },
            ],
          },
        ],
      },
      expect.objectContaining({
        scopeLogs: [
          {
            scope: { name: "skerry" },
            logRecords: [{ observedTimeUnixNano: "1795192870001000000", body: { stringValue: "b" } }],
          },
        ],
      }) as object,
    ],
  });
});
