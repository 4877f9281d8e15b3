// A thing that is held up says for what, in its list and on its page.

import { afterEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { activateBuilder, newBuild } from "../../control/tests/support/builds.ts";
import { cutOff, failImage, refuseStart } from "../../control/tests/support/held-up.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

afterEach(() => world.host.failures.clear());

const main = () => dashboard.page.getByRole("main");
const failed_at = new Date(Date.now() - 10 * 60_000).toISOString();
const failure = { reason: "no mirror answers", failed_at, next_attempt: null };

test("a build that waits for an image says so in its row, on its page, in its log and as the answer to Why?", async () => {
  const { page } = dashboard;
  const context = { template: "node", failure: failure.reason, failed_at };
  world.host.failures.set("start", new SkerryError("template_not_ready", "Not yet.", { context }));
  const { id } = await newBuild(world, { name: "waiting", steps: [{ run: "make" }] });
  await activateBuilder(world);
  const said = /aits for template "node", which failed 1\d min ago: no mirror answers/;
  await dashboard.logIn(world.token, "/builds");
  const row = page.getByRole("row").filter({ hasText: "waiting:latest" });
  await row.getByText(said).waitFor();
  await row.getByRole("button", { name: "Why?" }).click();
  await page.getByText(/^It waits for template "node"/).waitFor();
  await page.goto(`${dashboard.url}/ui/builds/${id}`);
  await main().getByText(said).first().waitFor();
  await page.getByLabel("Log", { exact: true }).getByText(said).waitFor();
});

test("a template whose image failed shows the reason and the last lines, and is made at once by a button", async () => {
  const { page } = dashboard;
  const lines = ["Get:1 http://mirror.example", "E: no mirror <b>answers</b>"];
  await failImage(world, { ...failure, last_lines: lines });
  await dashboard.logIn(world.token, "/templates");
  await page
    .getByRole("row")
    .getByText(/failed 1\d min ago: no mirror answers/)
    .waitFor();
  await page.getByRole("link", { name: world.host.template.name }).click();
  await main()
    .getByText(/It failed 1\d min ago: no mirror answers/)
    .waitFor();
  await page.getByLabel("The last lines of the attempt that failed").getByText(String(lines[1])).waitFor();
  await page.getByRole("button", { name: "Make its image now", exact: true }).click();
  await expect.poll(() => world.host.templates.prepared).toEqual([world.host.template.name]);
});

test("a machine whose start was refused, and a sandbox whose host is away, say what they wait for", async () => {
  const { page } = dashboard;
  const machine = await world.createMachine({ name: "crowded-out" });
  const sandbox = await world.createSandbox({ name: "cut-off" });
  await refuseStart(world, machine.id, "No host has room.");
  await cutOff(world, sandbox.id);
  await dashboard.logIn(world.token);
  for (const [path, name, text] of [
    ["/machines", "crowded-out", "aits for a place on a host: No host has room."],
    ["/sandboxes", "cut-off", "aits for its host, which does not answer"],
  ] as const) {
    await page.goto(`${dashboard.url}/ui${path}`);
    const row = page.getByRole("row").filter({ hasText: name });
    await row.getByText(text).waitFor();
    await row.getByRole("link", { name }).click();
    await main().getByText(`It w${text}`).waitFor();
  }
});

/** Fields that came with this version, in whatever object they stand. */
const NEW_FIELDS = [
  ...["waits_for", "pending", "failure", "building_since", "progress", "last_backup"],
  ...["user_name", "token_name"],
];

test("pages are whole where a control of the version before answers, which does not send the fields of this one", async () => {
  const { page } = dashboard;
  const machine = await world.createMachine({ name: "elder" });
  await world.createSandbox({ name: "older" });
  await page.addInitScript((fields) => {
    const parse = JSON.parse.bind(JSON);
    JSON.parse = (text: string) =>
      parse(text, (key, value: unknown) => (fields.includes(key) ? undefined : value)) as unknown;
    Object.assign(Response.prototype, {
      async json(this: Response) {
        return JSON.parse(await this.text()) as unknown;
      },
    });
  }, NEW_FIELDS);
  await dashboard.logIn(world.token, `/machines/${machine.id}/details`);
  await main().getByText("Restart policy").waitFor();
  for (const [path, shown] of [
    ["/", /needs? you/],
    [`/templates/${world.host.template.name}`, world.host.template.name],
    ["/audit", "sandbox.create"],
  ] as const) {
    await page.goto(`${dashboard.url}/ui${path}`);
    await main().getByText(shown).first().waitFor();
  }
});
