// The dashboard in a real browser, before the platform's own control and database. Thousands of sandboxes are rows on a host that is offline, and
// their changes are statements: what is measured is the way from a commit to what a person sees, and what it costs the page.

import { copiedSandboxes } from "./copied-sandboxes.ts";
import { setTimeout as sleep } from "node:timers/promises";
import {
  launchChromium,
  type Browser,
  type CDPSession,
  type Page,
} from "../packages/dashboard/tests/support/chromium.ts";
import { psql } from "../tests/support/organizations.ts";
import type { Platform } from "../tests/support/platform.ts";
import { create, type Bench } from "./bench.ts";
import { ELSEWHERE, EXECUTION, prepare } from "./growth.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const ROWS = 10_000;
/** As many as the list shows first. */
const CHANGING = 100;
const CHANGES_PER_S = 400;
const SEEN_WITHIN_MS = 20_000;
const WINDOW = { width: 1440, height: 900 } as const;
const PHONE = { width: 390, height: 844 } as const;

export async function measureDashboard({ platform, scale }: Bench): Promise<Measure[]> {
  const sandbox = await create(platform);
  await sandbox.destroy();
  await using browser = await launchChromium();
  const page = await openPage(browser, platform);
  const { rounds, changes, changingS } = scale.dashboard;
  try {
    const few = await measureLoads(page, "the overview", "/", rounds);
    await psql(platform, rowsElsewhere(sandbox.id));
    await psql(platform, "vacuum (analyze) sandboxes");
    return [
      ...few,
      await measureShifts(page),
      ...(await measureLoads(
        page,
        `a list of ${ROWS.toLocaleString("en-US")} sandboxes`,
        "/sandboxes",
        rounds,
      )),
      await measureDelay(page, platform, changes),
      await measureChanges(page, platform, changingS),
      await measureHeap(page),
    ];
  } finally {
    await psql(platform, REMOVE);
  }
}

/** They all run on a host that control cannot reach. */
function rowsElsewhere(id: string): string {
  return `${prepare(id)}${copiedSandboxes(
    id,
    `jsonb_build_object('id', 'sbx_' || lpad(n::text, 26, '0'), 'execution_id', '${EXECUTION}',
      'host_id', '${ELSEWHERE}', 'status', 'running', 'destroyed_at', null, 'expires_at', now() + interval '1 day')`,
    `generate_series(0, ${ROWS} - 1)`,
  )}`;
}

const REMOVE = `
  delete from sandboxes where execution_id = '${EXECUTION}';
  delete from hosts where id = '${ELSEWHERE}';`;

/** Logged in, with what writes down when things are seen. */
async function openPage(browser: Browser, platform: Platform): Promise<Page> {
  const context = await browser.newContext({ viewport: WINDOW });
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(`${platform.apiUrl}/ui/`);
  await page.getByLabel("API token").fill(platform.token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("banner").getByText("live").waitFor();
  return page;
}

/** Runs in the page before anything of its own. */
const WATCH = `
  globalThis.seen = { lcpMs: 0, shift: 0, rowsMs: undefined };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.lcpMs = entry.startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  new MutationObserver(() => {
    if (seen.rowsMs === undefined && document.querySelector(".table-body .row"))
      requestAnimationFrame(() => (seen.rowsMs ??= performance.now()));
  }).observe(document, { childList: true, subtree: true });
`;

interface Seen {
  readonly lcpMs: number;
  readonly shift: number;
  readonly rowsMs?: number;
}

/** With nothing in the browser's cache. */
async function measureLoads(page: Page, what: string, path: string, rounds: number): Promise<Measure[]> {
  const isList = path !== "/";
  const paint = new Series({
    what: `${what}: its largest part is painted`,
    unit: "ms",
    bar: "median ≤ 1,000",
  });
  const shift = new Series({ what: `${what}: layout shift`, unit: "count", bar: "≤ 0.02" });
  const rows = new Series({ what: `${what}: first rows`, unit: "ms", bar: "median ≤ 1,000" });
  const session = await page.context().newCDPSession(page);
  for (const _ of range(rounds)) {
    await session.send("Network.clearBrowserCache");
    const seen = await load(page, path, isList ? "running" : "Made in the last day");
    paint.add(seen.lcpMs);
    shift.add(seen.shift);
    if (seen.rowsMs !== undefined) rows.add(seen.rowsMs);
    else if (isList) rows.fail("no row came");
  }
  await session.detach();
  return [paint.measure, shift.measure, ...(isList ? [rows.measure] : [])];
}

/** What was seen of a page that has come, with the text in it. */
async function load(page: Page, path: string, text: string | RegExp): Promise<Seen> {
  await page.goto(page.url().replace(/\/ui\/.*/, `/ui${path}`));
  await page.getByRole("main").getByText(text).first().waitFor();
  // What comes late shifts too.
  await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
  return (await page.evaluate("seen")) as Seen;
}

const FORMS = ["/sandboxes/new", "/machines/new", "/builds/new"];

/** Of each page that shows no single resource, as wide as on a desk and as on a phone. */
async function measureShifts(page: Page): Promise<Measure> {
  const shift = new Series({
    what: "each page, wide and as on a phone: layout shift",
    unit: "count",
    bar: "≤ 0.02",
  });
  const links = await page.getByRole("navigation").getByRole("link").all();
  if (links.length === 0) throw new Error("the page has no navigation");
  const listed = await Promise.all(links.map((link) => link.getAttribute("href")));
  const paths = listed.map((path) => path?.replace(/^\/ui/, "") ?? "");
  // The window last: what is measured after this is measured in it.
  for (const window of [PHONE, WINDOW]) {
    await page.setViewportSize(window);
    for (const path of [...paths, ...FORMS]) shift.add((await load(page, path, /\w/)).shift);
  }
  return shift.measure;
}

async function measureDelay(page: Page, platform: Platform, changes: number): Promise<Measure> {
  const told = new Series({
    what: "a change is committed → the page shows it",
    unit: "ms",
    bar: "median ≤ 500",
  });
  await page.goto(page.url().replace(/\/ui\/.*/, "/ui/sandboxes"));
  await page.getByRole("banner").getByText("live").waitFor();
  await page.locator(".table-body .row").first().waitFor();
  for (const round of range(changes)) {
    const name = `seen-${round}-${Date.now()}`;
    await sleep(Math.random() * 1_000);
    await page.evaluate(waitFor(name));
    // The statement is its own transaction.
    await psql(
      platform,
      `update sandboxes set name = '${name}', version = version + 1 where id = '${NEWEST}'`,
    );
    const committedMs = Date.now();
    const seenMs = Number(await page.evaluate("appeared"));
    if (seenMs > 0) told.add(Math.max(0, seenMs - committedMs));
    else told.fail("it did not appear");
  }
  return told.measure;
}

/** The newest of the rows, which is shown first. */
const NEWEST = `sbx_${String(ROWS - 1).padStart(26, "0")}`;

/** When the text is in the page, by the clock that all here share; 0 where it does not come. */
function waitFor(text: string): string {
  return `void (globalThis.appeared = new Promise((resolve) => {
    const body = document.querySelector(".table-body");
    const observer = new MutationObserver(() => {
      if (body.textContent.includes("${text}")) requestAnimationFrame(() => done(Date.now()));
    });
    const done = (value) => { observer.disconnect(); resolve(value); };
    observer.observe(body, { childList: true, subtree: true, characterData: true });
    setTimeout(() => done(0), ${SEEN_WITHIN_MS});
  }))`;
}

/** CPU time of the page's process, while what it shows changes all the time. */
async function measureChanges(page: Page, platform: Platform, seconds: number): Promise<Measure> {
  const cpu = new Series({
    what: `CPU of the page while ${CHANGES_PER_S} of its rows change per second, of one core`,
    unit: "%",
    bar: "median ≤ 10",
  });
  const session = await page.context().browser()?.newBrowserCDPSession();
  if (session === undefined) throw new Error("the browser has gone");
  const perTurn = 20;
  const turns = (seconds * CHANGES_PER_S) / perTurn;
  let isOver = false;
  const changing = psql(platform, changeAll(turns, perTurn)).finally(() => (isOver = true));
  await sleep(1_000);
  for (const _ of range(seconds - 2)) {
    const [startedMs, before] = [performance.now(), await cpuSeconds(session)];
    await sleep(1_000);
    const percent = (((await cpuSeconds(session)) - before) * 100_000) / (performance.now() - startedMs);
    if (!isOver) cpu.add(percent);
  }
  await changing;
  return cpu.measure;
}

/** So many turns of so many rows each, at that pace. */
function changeAll(turns: number, perTurn: number): string {
  return `do $$ declare began timestamptz := clock_timestamp(); begin
    for turn in 0 .. ${turns - 1} loop
      update sandboxes set version = version + 1, expires_at = expires_at + interval '1 minute'
      where id in (select 'sbx_' || lpad((${ROWS - CHANGING} + (turn * ${perTurn} + n) % ${CHANGING})::text, 26, '0')
        from generate_series(0, ${perTurn - 1}) n);
      commit;
      perform pg_sleep(greatest(0, extract(epoch from began - clock_timestamp()) + (turn + 1) * ${perTurn / CHANGES_PER_S}));
    end loop;
  end $$`;
}

/** Of all renderers: the one of the page, and one that waits. */
async function cpuSeconds(session: CDPSession): Promise<number> {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** What the page holds when all rows were scrolled through. */
async function measureHeap(page: Page): Promise<Measure> {
  const heap = new Series({
    what: `JavaScript heap with all ${ROWS.toLocaleString("en-US")} rows loaded`,
    unit: "MB",
    bar: "≤ 30",
  });
  const table = page.getByRole("table", { name: "Sandboxes" });
  const count = async () => Number(await table.getAttribute("aria-rowcount"));
  await page.reload();
  await table.waitFor();
  for (let before = 0; (await count()) <= ROWS;) {
    before = await count();
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    const endMs = performance.now() + SEEN_WITHIN_MS;
    while ((await count()) === before) {
      if (performance.now() > endMs) throw new Error(`the list ends at ${before} rows`);
      await sleep(20);
    }
  }
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  heap.add(usedSize / 1_000_000);
  return heap.measure;
}
