// What "Copy as" gives of a build that was filled in begins the same build elsewhere.

import { expect, test } from "vitest";
import { Build } from "@skerry/contract/builds/build";
import { exampleOf } from "@skerry/contract/named";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";
import { useCopied } from "./support/copied.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const copied = useCopied(world, dashboard);

test.for([
  {
    way: "/builds/new",
    filled: {
      Tag: "1",
      Commands: "apt-get update && \\\n  make 'all'\necho $HOME",
      Start: "serve",
      "Ready by port": "80",
    },
    asked: {
      ...{ from: "base", tag: "1", start: { command: "serve", ready: { port: 80 } } },
      steps: [{ run: "apt-get update && \\\n  make 'all'" }, { run: "echo $HOME" }],
    },
  },
  {
    way: "/builds/new/image",
    filled: {
      Image: "docker.io/library/redis:7",
      Start: "redis-server",
      "Ready by path": "/up",
      Timeout: "20m",
    },
    asked: {
      ...{ image: "docker.io/library/redis:7", timeout: "20m" },
      start: { command: "redis-server", ready: { http: "/up" } },
    },
  },
  {
    way: "/builds/new/repository",
    filled: { Repository: "https://git.example.com/shop.git#v1.2:web", Dockerfile: "deploy/Dockerfile" },
    asked: {
      ...{ git: "https://git.example.com/shop.git#v1.2:web", dockerfile: { path: "deploy/Dockerfile" } },
    },
  },
] as const)("a build that is filled in at $way can be begun elsewhere", async ({ way, filled, asked }) => {
  const request = { name: "copied", size: "shared-cpu-1x", ...asked };
  const { page } = dashboard;
  await dashboard.logIn(world.token, way);
  await page.getByLabel("Template", { exact: true }).fill("copied");
  for (const [label, text] of Object.entries(filled))
    await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByLabel("Size").selectOption("shared-cpu-1x");
  const [menu = {}] = await copied.menus();
  expect(Object.keys(menu)).toEqual(["As curl", "As CLI", "As TypeScript"]);
  const words = await copied.words(menu["As curl"] ?? "");
  expect(JSON.parse(words[words.indexOf("-d") + 1] ?? "")).toEqual(request);
  await copied.tryCurl(menu["As curl"] ?? "");
  await copied.tryTypeScript(menu["As TypeScript"] ?? "");
  const begun = await world.call<{ items: readonly Build[] }>("GET", "/v1/builds?name=copied&status=queued");
  expect(begun.body.items.length).toBe(2);
  // An organization has so many at once, and the host so much room.
  for (const { id } of begun.body.items) await world.call("POST", `/v1/builds/${id}/cancel`);
  const requested = await copied.requestedBuild(menu["As CLI"] ?? "", exampleOf(Build));
  expect(requested).toEqual(request);
});
