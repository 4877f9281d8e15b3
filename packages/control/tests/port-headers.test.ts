// Which header fields of a client a guest gets, and which of a guest a client.

import { expect, test } from "vitest";
import { fieldsForGuest } from "../src/vms/ports/fields-for-guest.ts";
import { fieldsAtOwnOrigin, fieldsForClient, type Field } from "../src/vms/ports/port-headers.ts";

const SECRET = `sk_${"aB3-_".repeat(8)}xyz`;
const ORGANIZATION = `org_${"0".repeat(26)}`;
const inProtocol = (token: string) =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
const PREFIX = "/v1/sandboxes/x/ports/80";

/** Fields that the guest on port 80 gets, without those that Skerry says itself. */
function passed(fields: readonly Field[], prefix?: string, host = "skerry.example"): Field[] {
  const client = { address: "192.0.2.1", host, protocol: "https", prefix };
  return fieldsForGuest(fields, 80, client).filter(([name]) => !/^(?:Host$|X-Forwarded-)/.test(name));
}

// The value, in which the guest is to find nothing of ours, and what of it comes there.
test.each<readonly [string, string, string | undefined]>([
  ["Authorization", `Bearer ${SECRET}`, undefined],
  ["authorization", `bearer   ${SECRET}`, undefined],
  ["Authorization", `Token token="${SECRET}"`, undefined],
  ["Authorization", `Bearer e2b_${Buffer.from(SECRET).toString("hex")}`, undefined],
  ["Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln"],
  ["Authorization", "Basic dXNlcjpwYXNz", "Basic dXNlcjpwYXNz"],
  ["Authorization", `Bearer sk_live_${"a".repeat(90)}`, `Bearer sk_live_${"a".repeat(90)}`],
  ["Authorization", "AWS4-HMAC-SHA256 Credential=a/b", "AWS4-HMAC-SHA256 Credential=a/b"],
  ["X-API-Key", SECRET, undefined],
  ["X-API-Key", `e2b_${Buffer.from(SECRET).toString("hex")}`, undefined],
  ["X-API-Key", "key-of-the-app", "key-of-the-app"],
  ["X-Org-ID", ORGANIZATION, undefined],
  ["X-Org-ID", "acme", "acme"],
  ["X-Access-Token", `ea_${"0".repeat(64)}_${ORGANIZATION}_${"a".repeat(43)}`, undefined],
  ["X-Access-Token", "of-the-app", "of-the-app"],
  ["E2b-Sandbox-Id", "anything", undefined],
  ["E2b-Traffic-Access-Token", "anything", undefined],
  ["Sec-WebSocket-Protocol", `chat, ${inProtocol(SECRET)}`, "chat"],
  ["Sec-WebSocket-Protocol", inProtocol("of-a-cluster"), inProtocol("of-a-cluster")],
  ["Sec-WebSocket-Protocol", `organization.skerry.${ORGANIZATION}`, undefined],
  ["Proxy-Authorization", "Basic dXNlcjpwYXNz", undefined],
  ["X-Own", "own", "own"],
])("of a request, %s: %s comes to the guest as %s", (name, value, comes) => {
  for (const prefix of [undefined, PREFIX])
    expect(passed([[name, value]], prefix)).toEqual(comes === undefined ? [] : [[name, comes]]);
});

test("cookies come to a guest at an origin of its own alone", () => {
  expect(passed([["Cookie", "a=b"]])).toEqual([["Cookie", "a=b"]]);
  expect(passed([["Cookie", "a=b"]], PREFIX)).toEqual([]);
});

// Field, value, what a guest at its own origin gets, and one at a path of the API's.
test.each<readonly [string, string, string, string]>([
  ["Origin", "https://skerry.example", "http://localhost:80", "http://localhost:80"],
  ["Origin", "http://SKERRY.example", "http://localhost:80", "http://localhost:80"],
  ["Origin", "https://skerry.example:444", "https://skerry.example:444", "https://skerry.example:444"],
  ["Origin", "https://evil.example", "https://evil.example", "https://evil.example"],
  [
    "Origin",
    "https://skerry.example.evil.example",
    "https://skerry.example.evil.example",
    "https://skerry.example.evil.example",
  ],
  ["Origin", "https://a@skerry.example", "https://a@skerry.example", "https://a@skerry.example"],
  ["Origin", "null", "null", "null"],
  [
    "Referer",
    `https://skerry.example${PREFIX}/a?b=c`,
    `http://localhost:80${PREFIX}/a?b=c`,
    "http://localhost:80/a?b=c",
  ],
  ["Referer", "https://skerry.example/ui/", "http://localhost:80/ui/", "https://skerry.example/ui/"],
  ["Referer", "https://evil.example/a", "https://evil.example/a", "https://evil.example/a"],
])("%s: %s comes with the Host that the guest gets: %s, at a path %s", (name, value, own, atPath) => {
  expect(passed([[name, value]])).toEqual([[name, own]]);
  expect(passed([[name, value]], PREFIX)).toEqual([[name, atPath]]);
});

test("a port that goes without saying is none, and what a guest is called decides", () => {
  expect(passed([["Origin", "https://skerry.example"]], undefined, "skerry.example:443")).toEqual([
    ["Origin", "http://localhost:80"],
  ]);
  const client = { address: "192.0.2.1", host: "a.example", protocol: "https", prefix: undefined };
  const fields = fieldsForGuest([["Origin", "https://a.example"]], 80, {
    ...client,
    guestHost: "app.test",
    isGuestTls: true,
  });
  expect(fields.slice(0, 2)).toEqual([
    ["Host", "app.test"],
    ["Origin", "https://app.test"],
  ]);
});

// Name, value, and whether it passes at our origin and at the guest's own.
test.each([
  ["X-Accel-Redirect", "/internal/secret", false, false],
  ["X-Accel-Buffering", "yes", false, false],
  ["X-Accel-Expires", "3600", false, false],
  ["X-Accel-Limit-Rate", "1", false, false],
  ["X-Accel-Charset", "utf-7", false, false],
  ["x-accel-of-tomorrow", "1", false, false],
  ["X-Sendfile", "/etc/passwd", false, false],
  ["X-Sendfile2", "/etc/passwd 0-", false, false],
  ["X-Sendfile-Temporary", "/etc/passwd", false, false],
  ["X-LIGHTTPD-send-file", "/etc/passwd", false, false],
  ["X-Lighttpd-Send-Tempfile", "/etc/passwd", false, false],
  ["X-LiteSpeed-Location", "/etc/passwd", false, false],
  ["X-LiteSpeed-Purge", "*", false, false],
  ["X-Reproxy-URL", "http://169.254.169.254/", false, false],
  ["X-Reproxy-File", "/etc/passwd", false, false],
  ["X-Envoy-Immediate-Health-Check-Fail", "1", false, false],
  ["Surrogate-Control", 'content="ESI/1.0"', false, false],
  ["Edge-Control", "dca=esi", false, false],
  ["X-ESI", "1", false, false],
  ["Alt-Svc", 'h3="evil.example:443"', false, false],
  ["WWW-Authenticate", "Basic", false, true],
  ["Refresh", "0; url=https://evil.example", false, true],
  ["Speculation-Rules", '"/rules.json"', false, true],
  ["X-Frame-Options", "ALLOWALL", false, true],
  ["X-Frame-Options", "ALLOW-FROM https://evil.example", false, true],
  ["X-Frame-Options", "deny", true, true],
  ["X-Frame-Options", "SAMEORIGIN", true, true],
  ["Attribution-Reporting-Register-Source", "{}", false, false],
  ["Ad-Auction-Signals", "[]", false, false],
  ["Shared-Storage-Write", "clear", false, false],
  ["X-Accelerated", "yes", true, true],
  ["X-Send", "yes", true, true],
  ["Link", "</next>; rel=next", true, true],
])("%s: %s of a guest passes at our origin: %s, at its own: %s", (name, value, atOurs, atItsOwn) => {
  const has = (fields: object) =>
    Object.entries(fields).some((field) => field.join() === `${name.toLowerCase()},${value}`);
  expect(has(fieldsForClient([[name, value]]))).toBe(atOurs);
  expect(has(fieldsAtOwnOrigin([[name, value]], false))).toBe(atItsOwn);
});
