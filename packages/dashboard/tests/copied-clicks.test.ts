// What "Copy as" gives of a button that does something at once.

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { builtTemplate, newBuild } from "../../control/tests/support/builds.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { nameOf } from "../src/ui/text.ts";
import { useDashboard } from "./support/browser.ts";
import { inTurn, three, useCopied } from "./support/copied.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const copied = useCopied(world, dashboard);

const post = (path: string) => () => world.call("POST", path);

test("what one click does to a sandbox can be done elsewhere", async () => {
  const { page } = dashboard;
  const { id } = await world.createSandbox({ name: "clicked", mode: "persistent" });
  const at = `/v1/sandboxes/${id}`;
  await dashboard.logIn(world.token, `/sandboxes/${id}`);
  await copied.tryButton("+10 min", "keepalive");
  await copied.tryButton("Fork", "fork");
  await copied.tryButton("Snapshot", "snapshot");
  await copied.tryButton("Pause", "pause", post(`${at}/resume`));
  await world.call("POST", `${at}/pause`);
  await page.reload();
  await copied.tryButton("Resume", "resume", post(`${at}/pause`));
  await page.goto(`${dashboard.url}/ui/snapshots`);
  const [first] = (
    await world.call<{ items: readonly { id: string; name: string }[] }>("GET", "/v1/snapshots")
  ).body.items;
  await copied.tryButton(`New sandbox of ${nameOf(first ?? {})}`, `--snapshot ${first?.id}`);
});

test("and to a machine, a host, a background service", async () => {
  const { page } = dashboard;
  const { id: machine } = await world.createMachine({ name: "web-2" });
  const at = `/v1/machines/${machine}`;
  await dashboard.logIn(world.token, `/machines/${machine}`);
  await copied.tryButton("Restart", "machine restart");
  await copied.tryButton("Stop", "machine stop", post(`${at}/start`));
  await page.getByRole("button", { name: "Start", exact: true }).waitFor();
  await copied.tryButton("Start", "machine start", post(`${at}/stop`));
  await page.goto(`${dashboard.url}/ui/services`);
  await copied.tryButton("Run sandbox-reaper", "run sandbox-reaper");
  await page.goto(`${dashboard.url}/ui/hosts`);
  await page.getByRole("button", { name: "Drain fake" }).click();
  await copied.tryAll([await copied.asked("host drain")]);
  await copied.tryButton("Activate fake", "host activate");
});

test("and to a port and to files", async () => {
  const { page, url } = dashboard;
  const { id: sandbox } = await world.createSandbox();
  await writeFile(join(copied.folder, "it's a file"), "content");
  world.host.ports.listening = [{ port: 8080, address: "0.0.0.0", process: "python3" }];
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/ports`);
  await copied.tryButton("Address for 10 minutes of 8080", "sandbox url");
  await page.getByRole("button", { name: "Open to all 8080" }).click();
  await copied.tryAll([await copied.asked("--public 8080")]);
  await copied.tryButton("Close 8080", "--private 8080");
  await page.goto(`${url}/ui/sandboxes/${sandbox}/files`);
  await page.getByLabel("Upload").setInputFiles(join(copied.folder, "it's a file"));
  await copied.tryButton("Upload it's a file", "sandbox upload");
  expect(world.host.files.get("/root/it's a file")?.content.toString()).toBe("content");
  world.host.fileName = "it's a file";
  await page.reload();
  await copied.tryButton("Save it's a file", "sandbox download", () =>
    rm(join(copied.folder, "it's a file"), { force: true }),
  );
  const put = () =>
    world.call("PUT", `/v1/sandboxes/${sandbox}/files/root/it's%20a%20file`, { body: "content" });
  await page.getByRole("button", { name: "Remove it's a file" }).click();
  await copied.tryButton("Remove it's a file: yes", "file rm", put);
});

test("and to a build and a template", async () => {
  const { page, url } = dashboard;
  const built = await three(async (nth) =>
    String((await builtTemplate(world, { tag: `${nth}` })).template_id),
  );
  const [build] = (await world.call<{ items: readonly { id: string }[] }>("GET", "/v1/builds")).body.items;
  await dashboard.logIn(world.token, `/builds/${build?.id}`);
  await copied.tryButton("Try again", "build retry");
  await copied.tryAll([await copied.menuOf("build logs"), await copied.menuOf("build show")]);
  const { id } = await newBuild(world);
  await page.goto(`${url}/ui/builds/${id}`);
  await page.getByRole("button", { name: "Cancel the build" }).click();
  await copied.tryAll([await copied.asked("build cancel")]);
  await page.goto(`${url}/ui/templates/${built[0]}`);
  await page.getByLabel("New tag").fill("stable");
  await copied.tryAll([await copied.menuOf("template show"), await copied.menuOf("template tag")]);
  const tag = () => world.call("PUT", `/v1/templates/web/tags/gone`, { body: { template: built[0] } });
  await tag();
  await page.getByRole("button", { name: "Remove web:gone" }).click();
  await copied.tryButton("Remove web:gone: yes", "template untag", tag);
  await page.reload();
  await page.getByRole("button", { name: "Delete" }).click();
  await copied.tryAll([await copied.asked("template delete")], inTurn(built));
});
