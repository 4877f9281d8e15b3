// Who may scrape, in which format, how often the database is asked for it, and what a scrape says without one.

import { once } from "node:events";
import { request, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { buildMetricsServer, wantedFormat } from "../src/platform/metrics-routes.ts";
import { MetricsCollector } from "../src/platform/metrics-collector.ts";
import { openDatabase } from "../src/db/database.ts";
import { parseExposition, valueOf } from "./support/exposition.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

const PLAIN = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS = "application/openmetrics-text; version=1.0.0";

test("the format is the one that the scraper likes better", () => {
  expect(
    wantedFormat("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
  ).toBe("openmetrics");
  expect(wantedFormat("text/plain, application/openmetrics-text;q=0.5")).toBe("prometheus");
  expect(wantedFormat("application/openmetrics-text;q=0, */*")).toBe("prometheus");
  for (const other of [undefined, "*/*", "text/html", "", ";;q=,,="])
    expect(wantedFormat(other)).toBe("prometheus");
});

test("scraping often reads the database once a second, and many at once share one reading", async () => {
  const read = async (from: MetricsCollector) =>
    valueOf(parseExposition(await from.text("prometheus"), PLAIN), "skerry_vms", {
      kind: "sandbox",
      status: "running",
    });
  const nowMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(nowMs);
  try {
    const scraper = new MetricsCollector(world.context);
    await Promise.all(Array.from({ length: 50 }, () => scraper.text("prometheus")));
    await world.createSandbox();
    const exact = await read(new MetricsCollector(world.context));
    expect(await read(scraper)).toBe(exact - 1);
    clock.mockReturnValue(nowMs + 1_000);
    expect(await read(scraper)).toBe(exact);
  } finally {
    clock.mockRestore();
  }
});

test("without a database a scrape still answers, says so, and shows no old figures", async () => {
  const away = openDatabase("postgresql:///none?host=/nonexistent", () => undefined);
  const scraper = new MetricsCollector({ ...world.context, db: away });
  const found = parseExposition(await scraper.text("openmetrics"), `${OPENMETRICS}; charset=utf-8`);
  expect(valueOf(found, "skerry_http_requests_in_flight")).toBeGreaterThanOrEqual(0);
  expect(found.series.get("skerry_database_up{}")).toBe(0);
  expect([...found.series.keys()].some((key) => key.startsWith("skerry_vms"))).toBe(false);
  await away.destroy();
});

test("metrics need a token with their scope, in the operator's organization", async () => {
  const status = async (token: string) => (await world.call("GET", "/metrics", { token })).status;
  expect(await status("")).toBe(401);
  expect(await status("sk_wrong")).toBe(401);
  expect(await status(await world.strangerToken())).toBe(403);
  expect(await status(world.token)).toBe(200);
});

test("on an address of their own metrics need no token, and there is nothing else", async () => {
  const server = buildMetricsServer(world.context);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const call = (method: string, path: string) => answerOf(server, method, path);
  try {
    const answer = await call("GET", "/metrics?x=1");
    expect(answer.status).toBe(200);
    expect(parseExposition(answer.text, answer.type).series.get("skerry_database_up{}")).toBe(1);
    expect((await call("HEAD", "/metrics")).text).toBe("");
    for (const path of ["/", "/v1/sandboxes", "/v1/health", "/metrics/", "/%zz"]) {
      expect((await call("GET", path)).status, path).toBe(404);
    }
    expect((await call("POST", "/metrics")).status).toBe(405);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

async function answerOf(
  server: Server,
  method: string,
  path: string,
): Promise<{ status: number; text: string; type: string }> {
  const { port } = server.address() as AddressInfo;
  const call = request({ host: "127.0.0.1", port, method, path }).end();
  const [response] = (await once(call, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += String(part);
  return { status: response.statusCode ?? 0, text, type: response.headers["content-type"] ?? "" };
}

test("the strict reader of these tests refuses what is wrong", () => {
  const good = '# HELP a_total x\n# TYPE a_total counter\na_total{b="c"} 1\n';
  expect(parseExposition(good, PLAIN).series.get('a_total{b="c"}')).toBe(1);
  for (const bad of [
    good.trimEnd(),
    good + 'a_total{b="c"} 2\n',
    good + "other 1\n",
    good.replace('"c"', '"c""'),
    good.replace(" 1", " one"),
    good.replaceAll("a_total", "a"),
    good + good,
    good + "\n",
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
  ]) {
    expect(() => parseExposition(bad, PLAIN), bad).toThrow();
  }
  expect(() => parseExposition(good, `${OPENMETRICS}; charset=utf-8`)).toThrow("end");
});
