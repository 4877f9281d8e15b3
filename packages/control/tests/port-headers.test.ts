// Which header fields of a client a guest gets, and which of a guest a client.

import { expect, test } from "vitest";
import { fieldsAtOwnOrigin, fieldsForClient, fieldsForGuest } from "../src/vms/ports/port-headers.ts";

test.each([undefined, "/v1/sandboxes/x/ports/80"])(
  "a guest gets none of the credentials that its visitor has for us, at the prefix %s",
  (prefix) => {
    const names = ["Authorization", "X-API-Key", "X-Org-ID", "X-Access-Token", "E2b-Sandbox-Id", "X-Own"];
    const client = { address: "192.0.2.1", host: "skerry.example", protocol: "https", prefix };
    const passed = fieldsForGuest(
      names.map((name) => [name, "secret"]),
      80,
      client,
    );
    expect(passed.filter(([, value]) => value.includes("secret"))).toEqual([["X-Own", "secret"]]);
  },
);

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
