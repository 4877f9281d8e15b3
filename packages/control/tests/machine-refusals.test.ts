// What a request for a machine can have wrong.

import { expect, test } from "vitest";
import { refused } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

const refusals: Readonly<Record<string, readonly [body: object, status: number, code: string]>> = {
  "an unknown policy": [{ restart: { policy: "sometimes" } }, 400, "bad_request"],
  "retries without a policy that uses them": [
    { restart: { policy: "no", max_retries: 3 } },
    400,
    "bad_request",
  ],
  "negative retries": [{ restart: { max_retries: -1 } }, 400, "bad_request"],
  "an unknown field of its policy": [{ restart: { retries: 1 } }, 400, "unknown_field"],
  "too long a grace": [{ stop_timeout: "6m" }, 422, "timeout_too_long"],
  "no grace at all": [{ stop_timeout: "0s" }, 400, "invalid_duration"],
  "an empty command": [{ command: "" }, 400, "bad_request"],
  "a command with NUL": [{ command: "a\0b" }, 400, "bad_request"],
  "a command too long for one frame": [
    { command: "x".repeat(32_768), env: { A: "y".repeat(16_384), B: "z".repeat(16_384) } },
    400,
    "bad_request",
  ],
  "a timeout, which only sandboxes have": [{ timeout: "5m" }, 400, "unknown_field"],
  "an unknown template": [{ template: "nothing" }, 422, "unknown_template"],
  "an unknown size": [{ size: "huge" }, 422, "unknown_size"],
  "a broken environment": [{ env: { "A=B": "1" } }, 400, "invalid_env"],
};

test.each(Object.entries(refusals))("a machine with %s is refused", async (_, [body, status, code]) => {
  const answer = await world.call("POST", "/v1/machines", { body: { template: "base", ...body } });
  expect(refused(answer)).toEqual([status, code]);
  expect(world.host.vms.size).toBe(0);
});
