// The operator's exceptions for one organization, through the API.

import { expect, test } from "vitest";
import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import type { OrganizationLimitsReport } from "@skerry/contract/limits/limits-report";
import { limitDefaults, limitNames } from "@skerry/contract/limits/quotas";
import { RateLimiter } from "../src/rate-limits/rate-limiter.ts";
import { setLimits } from "../src/limits/organization-limits.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

const atLimits = (orgId: string) => `/v1/orgs/${orgId}/limits`;

test("the operator sees and sets every limit of one organization through the API, and takes it back", async () => {
  const members = new Members(world);
  const { id } = await members.newOrganization();
  const before = await world.call<OrganizationLimitsReport>("GET", atLimits(id));
  expect(before.body).toMatchObject({ organization_id: id, exceptions: {} });
  const values = Object.fromEntries(limitNames.map((name, index) => [name, 7_000 + index]));
  const set = await world.call<OrganizationLimitsReport>("PATCH", atLimits(id), { body: values });
  expect([set.status, set.body.exceptions]).toEqual([200, values]);
  const shown = {
    ...Object.fromEntries(
      Object.entries(set.body.quotas).map(([name, { limit }]) => [`quota_${name}`, limit]),
    ),
    ...Object.fromEntries(
      Object.entries(set.body.rates).flatMap(([name, { per_minute, burst }]) => [
        [`rate_${name}_per_minute`, per_minute],
        [`rate_${name}_burst`, burst],
      ]),
    ),
  };
  expect(shown).toEqual(values);
  const back = await world.call<OrganizationLimitsReport>("PATCH", atLimits(id), {
    body: { quota_sandboxes: null },
  });
  const { quota_sandboxes: _gone, ...others } = values;
  expect(back.body.exceptions).toEqual(others);
  expect(back.body.quotas.sandboxes.limit).toBe(1_000_000);
  const none = await world.call("PATCH", atLimits("org_00000000000000000000000000"), { body: {} });
  expect([none.status, none.body["code"]]).toEqual([404, "organization_not_found"]);
  const misspelt = await world.call("PATCH", atLimits(id), { body: { quota_sandbox: 1 } });
  expect([misspelt.status, misspelt.body["code"]]).toEqual([400, "unknown_field"]);
  for (const value of [-1, 1.5, 2 ** 31, "7"])
    expect((await world.call("PATCH", atLimits(id), { body: { quota_machines: value } })).status).toBe(400);
});

test("the operator changes what the members of another organization may do from their next request on, and its log says so", async () => {
  const members = new Members(world);
  const { id, path } = await members.newOrganization();
  const { secret } = await members.newMember("owner", path);
  const made = () =>
    world.call("POST", "/v1/sandboxes", { token: secret, body: { template: "base", timeout: "1h" } });
  expect((await made()).status).toBe(201);
  expect((await world.call("PATCH", atLimits(id), { body: { quota_sandboxes: 1 } })).status).toBe(200);
  expect((await made()).body["code"]).toBe("quota_exceeded");
  expect((await world.call("PATCH", atLimits(id), { body: { quota_sandboxes: 2 } })).status).toBe(200);
  expect((await made()).status).toBe(201);
  const own = await world.call("PATCH", atLimits(id), { token: secret, body: { quota_sandboxes: 9 } });
  expect([own.status, own.body["code"]]).toEqual([403, "forbidden"]);
  const { body } = await world.call<{ items: AuditEvent[] }>(
    "GET",
    "/v1/audit?action=organization.set_limits",
    {
      token: secret,
    },
  );
  expect(body.items.map(({ actor, outcome }) => `${actor.service} ${outcome}`)).toEqual([
    "null denied",
    "operator success",
    "operator success",
  ]);
});

test("a rate that was nothing at all counts within seconds of its being raised", async () => {
  const { id } = await new Members(world).newOrganization();
  const limiter = new RateLimiter(world.db, limitDefaults);
  const take = async () => (await limiter.take({ tokenId: "tok_raised", orgId: id }, "read")).refusedForS;
  await setLimits(world.db, id, [
    ["rate_read_per_minute", 0],
    ["rate_read_burst", 0],
  ]);
  // By the rate that it had, there is none for an hour.
  expect(await take()).toBe(3_600);
  await setLimits(world.db, id, [
    ["rate_read_per_minute", null],
    ["rate_read_burst", null],
  ]);
  await eventually(async () => (await take()) === null, "it is let through");
});
