// A page of a guest in a real browser, at the API's own address: it tries whatever would reach beyond itself. Where no Chromium is installed there
// is nothing to try.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { GuestPorts } from "./support/guest-port.ts";
import { useWorld } from "./support/world.ts";

const CHROMIUM = "/usr/bin/chromium";
const BROWSER_WITHIN_MS = 60_000;

const world = useWorld();
const guest = new GuestPorts(world);

/** Each attempt writes into the page what came of it; the page is done when all have. */
const PAGE = `<!doctype html><title>hostile</title><pre id="told"></pre><script>
const told = {};
const attempts = {
  origin: () => self.origin,
  cookies: () => { document.cookie = "session=evil"; return document.cookie; },
  storage: () => { localStorage.setItem("a", "b"); return "stored"; },
  database: () => { indexedDB.open("a"); return "opened"; },
  worker: () => navigator.serviceWorker.register("sw.js", { scope: "/" }).then(() => "registered"),
  api: () => fetch("/v1/health").then((answer) => answer.text()),
  itself: () => fetch("data.txt").then((answer) => answer.text()),
  parent: () => String(top.location.href === location.href),
};
(async () => {
  for (const [name, attempt] of Object.entries(attempts)) {
    try { told[name] = "came through: " + await attempt(); }
    catch (error) { told[name] = "refused: " + error.name; }
  }
  document.getElementById("told").textContent = JSON.stringify(told);
})();
</script>`;

test.skipIf(!existsSync(CHROMIUM))(
  "a page of a guest has an origin that nothing else has, and reaches neither cookies, storage, workers nor the API",
  async () => {
    const asked: string[] = [];
    const port = await guest.serve((request, response) => {
      asked.push(`${request.url} ${request.headers.cookie ?? ""}`);
      response.setHeader("set-cookie", "planted=1; Path=/");
      if (request.url === "/sw.js") response.writeHead(200, { "content-type": "text/javascript" }).end("");
      else if (request.url === "/data.txt") response.end("data");
      else response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
    });
    await world.call("PATCH", guest.path(port, ""), { body: { public: true } });
    const profile = mkdtempSync(join(tmpdir(), "skerry-browser-"));
    try {
      const { stdout } = await promisify(execFile)(
        CHROMIUM,
        [
          ...["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`],
          ...["--virtual-time-budget=10000", "--dump-dom", `${world.url}${guest.path(port)}?skerry_show=1`],
        ],
        { timeout: BROWSER_WITHIN_MS },
      );
      const [, told = "{}"] = /<pre id="told">(.*?)<\/pre>/s.exec(stdout) ?? [];
      expect(JSON.parse(told)).toEqual({
        origin: "came through: null",
        cookies: "refused: SecurityError",
        storage: "refused: SecurityError",
        database: "refused: SecurityError",
        worker: expect.stringMatching(/^refused: /),
        api: "refused: TypeError",
        itself: "refused: TypeError",
        parent: "came through: true",
      });
      expect(asked.filter((one) => one.includes("planted"))).toEqual([]);
      expect(asked.some((one) => one.startsWith("/sw.js"))).toBe(false);
    } finally {
      rmSync(profile, { recursive: true, force: true });
    }
  },
);
