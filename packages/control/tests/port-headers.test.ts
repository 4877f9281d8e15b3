// Which header fields of a client a guest gets.

import { expect, test } from "vitest";
import { fieldsForGuest } from "../src/vms/ports/port-headers.ts";

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
