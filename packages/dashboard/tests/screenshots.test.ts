// How each screen looks, compared with how it looked when somebody last approved of it; and on every machine that nothing runs out of a narrow window or
// lies on something else. `npm test` compares a sample, and `npm run test:full` all of them.

import { beforeAll, expect, test } from "vitest";
import { sampled } from "../../../tests/support/sampling.ts";
import type { Build } from "@skerry/contract/builds/build";
import { activateBuilder, builtTemplate, lastedFor, newBuild } from "../../control/tests/support/builds.ts";
import { playLoginShell } from "../../control/tests/support/fake-login-shell.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";
import { Screenshots } from "./support/screenshots.ts";

const world = useWorld();
const dashboard = useDashboard(world);
let sandbox: string;
let machine: string;
let build: Build;

beforeAll(async () => {
  const { host } = world;
  host.executions.loginShell = playLoginShell;
  for (const name of ["eval-17", "agent-4", "ci-88"])
    await world.createSandbox({ name, metadata: { team: "search" } });
  ({ id: sandbox } = await world.createSandbox({
    name: "crawler",
    egress: { mode: "deny_all" },
    timeout: "1h",
  }));
  await world.createMachine({ name: "web-1" });
  ({ id: machine } = await world.createMachine({ name: "web-2", command: "python3 -m http.server" }));
  host.console.print(machine, "Serving HTTP on 0.0.0.0 port 8000\n");
  await world.call("POST", `/v1/sandboxes/${sandbox}/snapshots`, { body: { name: "before the crawl" } });
  build = await builtTemplate(world, { tag: "42", steps: [{ run: "make install" }, { run: "make check" }] });
  await newBuild(world, { name: "docs", steps: [{ run: "make" }, { run: "fail 2" }] });
  await activateBuilder(world);
  await lastedFor(world, 42);
  await world.call("POST", "/v1/auth/tokens", { body: { name: "ci", scopes: ["sandboxes:read"] } });
});

interface Screen {
  readonly name: string;
  readonly path: string;
  /** It is there when this is. */
  readonly shows: string;
}

const screens = (): readonly Screen[] => [
  { name: "overview", path: "/", shows: "Made in the last day" },
  { name: "apps", path: "/apps", shows: "There are no apps." },
  { name: "sandboxes", path: "/sandboxes", shows: "eval-17" },
  { name: "new-sandbox", path: "/sandboxes/new", shows: "Timeout" },
  { name: "sandbox", path: `/sandboxes/${sandbox}`, shows: "Metadata" },
  { name: "terminal", path: `/sandboxes/${sandbox}/terminal`, shows: "guest$" },
  { name: "egress", path: `/sandboxes/${sandbox}/egress`, shows: "Policy in force" },
  { name: "machine", path: `/machines/${machine}`, shows: "Serving HTTP" },
  { name: "templates", path: "/templates", shows: "web:42" },
  { name: "template", path: `/templates/${build.template_id}`, shows: "Nothing." },
  { name: "builds", path: "/builds", shows: "exited with 2" },
  { name: "build", path: `/builds/${build.id}?step=1`, shows: "Log of step 1" },
  { name: "new-build", path: "/builds/new", shows: "Ready by path" },
  { name: "hosts", path: "/hosts", shows: "Memory promised" },
  { name: "services", path: "/services", shows: "sandbox-reaper" },
  { name: "audit", path: "/audit", shows: "sandbox.create" },
  { name: "organization", path: "/organization", shows: "Limits" },
];

const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } } as const;
const themes = ["light", "dark"] as const;
const views = (["wide", "narrow"] as const).flatMap((size) => themes.map((theme) => ({ size, theme })));

test("each screen looks as it did, in both themes and on a telephone, and nothing is cut off or covered", async () => {
  const { page } = dashboard;
  await page.clock.setFixedTime(new Date("2030-01-01T12:00:00Z"));
  await using screenshots = await Screenshots.open(page);
  const chosen = new Set(sampled("screenshots", views));
  const look = async (name: string, shows: string) => {
    await page.getByText(shows).first().waitFor();
    for (const view of views) {
      await page.setViewportSize(sizes[view.size]);
      await page.emulateMedia({ colorScheme: view.theme });
      if (view.theme === "light")
        expect.soft(await screenshots.faults(), `${name}, ${view.size}`).toEqual([]);
      if (!screenshots.isWriting && !chosen.has(view)) continue;
      expect.soft(await screenshots.difference(`${name}-${view.size}-${view.theme}`), name).toBe("");
    }
  };
  await page.goto(`${dashboard.url}/ui/`);
  await look("login", "API token");
  await dashboard.logIn(world.token);
  for (const { name, path, shows } of screens()) {
    // However busy the machine is: a host that was not heard of for a while is shown as offline.
    await world.keepHostsFresh();
    await page.goto(`${dashboard.url}/ui${path}`);
    await look(name, shows);
  }
});
