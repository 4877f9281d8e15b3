import { afterEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { parseTiming, type Timing } from "@skerry/contract/server-timing";
import { useWorld } from "./support/world.ts";

const world = useWorld();
afterEach(() => {
  world.host.failures.clear();
  world.host.startTiming = "";
  world.host.beforeStart = async () => undefined;
});

async function post(path: string, body: object, accept = "application/json"): Promise<Response> {
  return fetch(world.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json", accept },
    body: JSON.stringify(body),
  });
}

const timingOf = (response: Response): Timing => parseTiming(response.headers.get("server-timing"));

test.each(["sandboxes", "machines"])("a creation says where its time went: %s", async (table) => {
  world.host.beforeStart = () => new Promise((resolve) => setTimeout(resolve, 30));
  const response = await post(`/v1/${table}`, { template: "base" });
  expect(response.status).toBe(201);
  const timing = timingOf(response);
  expect(Object.keys(timing)).toEqual(["place", "start"]);
  expect(timing.start).toBeGreaterThanOrEqual(29);
});

test("a creation that waited for its template to be frozen says how long, also where it then failed", async () => {
  world.host.beforeStart = () => new Promise((resolve) => setTimeout(resolve, 50));
  world.host.startTiming = "freeze;dur=40";
  const created = await post("/v1/sandboxes", { template: "base" });
  expect(timingOf(created)).toMatchObject({ freeze: 40 });
  world.host.failures.set("start", new SkerryError("guest_failed", "It did not wake."));
  const failed = await post("/v1/sandboxes", { template: "base" });
  expect(failed.status).toBe(502);
  expect(timingOf(failed)).toMatchObject({ freeze: 40 });
});

test("a host that lies about the time is believed up to the time that there was", async () => {
  for (const told of ["freeze;dur=99999999", "run;dur=5", "start;dur=1", "nonsense\t;", "x".repeat(5_000)]) {
    world.host.startTiming = told;
    const timing = timingOf(await post("/v1/sandboxes", { template: "base" }));
    expect(timing.freeze ?? 0).toBeLessThan(60_000);
    expect(timing.run).toBeUndefined();
    expect(Object.keys(timing)).toContain("start");
  }
});

test("an answer of execute says how long the host took to take the command, and how long that ran", async () => {
  const { id } = await world.createSandbox();
  const whole = await post(`/v1/sandboxes/${id}/execute`, { command: "echo" });
  expect(Object.keys(timingOf(whole))).toEqual(["start", "run"]);
  expect(timingOf(whole).run).toBe(((await whole.json()) as { duration_ms: number }).duration_ms);
  const stream = await post(`/v1/sandboxes/${id}/execute`, { command: "echo" }, "text/event-stream");
  expect(Object.keys(timingOf(stream))).toEqual(["start"]);
  await stream.text();
});

test("calls that wait for nothing say nothing", async () => {
  const list = await fetch(`${world.url}/v1/sandboxes`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  expect(list.headers.get("server-timing")).toBeNull();
});
