// What guests, members of an organization and other pages put before a browser that is logged in.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { builtTemplate } from "../../control/tests/support/builds.ts";
import { playLoginShell } from "../../control/tests/support/fake-login-shell.ts";
import { eventually, useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
/** Of everything that somebody may choose. */
const SCRIPT = `"><img src=x onerror=document.body.id='hacked'>`;
let sandbox: string;
let machine: string;
let build: Build;

beforeAll(async () => {
  const { host } = world;
  host.fileName = SCRIPT;
  host.ports.listening = [{ port: 8080, address: "0.0.0.0", process: SCRIPT }];
  host.executions.loginShell = playLoginShell;
  const named = {
    name: SCRIPT,
    metadata: { note: SCRIPT, [SCRIPT]: "1" },
    env: { VALUE: SCRIPT },
  };
  ({ id: sandbox } = await world.createSandbox({ ...named, egress: { mode: "deny_all" } }));
  ({ id: machine } = await world.createMachine({ name: SCRIPT, command: SCRIPT }));
  host.console.print(machine, `${SCRIPT}\n\x1b]0;hacked\x07\x1b[2Jend of the log\n`);
  await world.call("POST", `/v1/sandboxes/${sandbox}/snapshots`, { body: { name: SCRIPT } });
  await world.call("POST", "/v1/auth/tokens", { body: { name: SCRIPT } });
  build = await builtTemplate(world, { name: "web", steps: [{ run: SCRIPT }] });
  // What the API would not take, as a defect of it might.
  await world.db.updateTable("hosts").set({ name: SCRIPT }).execute();
  await world.db.updateTable("organizations").set({ name: SCRIPT }).execute();
  await world.db.updateTable("users").set({ name: SCRIPT }).execute();
  await world.db.updateTable("templates").set({ name: SCRIPT }).execute();
  await world.db.updateTable("template_tags").set({ tag: SCRIPT }).where("tag", "=", "latest").execute();
  await world.db.updateTable("vm_events").set({ reason: SCRIPT }).execute();
  await world.db.updateTable("sandboxes").set({ reason: SCRIPT }).execute();
});

afterEach(async () => {
  if (dashboard.page.url().startsWith(`${dashboard.url}/ui`))
    expect(await dashboard.page.locator("body").getAttribute("id")).toBeNull();
});

test("script in whatever a person or a guest chooses is text, on every page", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  dashboard.expectAnswer("400 /v1/sandboxes");
  for (const [path, shown] of [
    ["/", "Overview"],
    ["/sandboxes", SCRIPT],
    ["/machines", SCRIPT],
    ["/snapshots", SCRIPT],
    ["/hosts", SCRIPT],
    ["/templates", SCRIPT],
    [`/templates/${build.template_id}`, SCRIPT],
    ["/builds", "web:latest"],
    [`/builds/${build.id}`, SCRIPT],
    [`/builds/${build.id}?step=${encodeURIComponent(SCRIPT)}`, "Log of step"],
    ["/audit", "sandbox.create"],
    ["/organization", SCRIPT],
    [`/sandboxes/${sandbox}`, `note=${SCRIPT}`],
    [`/sandboxes/${sandbox}/events`, SCRIPT],
    [`/sandboxes/${sandbox}/files`, world.host.fileName],
    [`/sandboxes/${sandbox}/ports`, SCRIPT],
    [`/sandboxes/${sandbox}/egress`, "Policy in force"],
    [`/machines/${machine}`, "end of the log"],
    [`/machines/${machine}/details`, SCRIPT],
    [`/sandboxes/${encodeURIComponent(SCRIPT)}`, `note=${SCRIPT}`],
    [`/sandboxes?status=${encodeURIComponent(SCRIPT)}`, "bad_request"],
  ] as const) {
    await page.goto(`${dashboard.url}/ui${path}`);
    await page.getByRole("main").getByText(shown, { exact: false }).first().waitFor();
    expect(await page.locator("body").getAttribute("id"), path).toBeNull();
  }
});

test("script that a command or a build prints, or a file holds, is text", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/builds/${build.id}`);
  await page.getByLabel("Log", { exact: true }).getByText(`  1  ${SCRIPT}`).waitFor();
  const at = `/root/${world.host.fileName}`;
  world.host.files.set(at, { size: SCRIPT.length, sha256: "", mode: 0o644, content: Buffer.from(SCRIPT) });
  await page.goto(`${dashboard.url}/ui/sandboxes/${sandbox}/files`);
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByLabel(at).getByText(SCRIPT).waitFor();
  await page.getByRole("link", { name: "Terminal" }).click();
  await page.getByText("A shell in the guest.").waitFor();
  world.host.executions.last.write(`\r\n${SCRIPT}\r\nend\r\n`);
  await page.locator(".xterm-accessibility-tree").getByText(/^end/).waitFor();
});

test("a file name that would end a paste and begin a command is in no command line that is copied", async () => {
  const { page } = dashboard;
  const before = world.host.fileName;
  world.host.fileName = "a\x1b[201~\rtouch b\r";
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/files`);
  await page.getByRole("button", { name: "Copy as: Save" }).click();
  await page.getByText("Not given: it has characters that a terminal obeys").waitFor();
  expect(await page.getByLabel("As CLI", { exact: true }).count()).toBe(0);
  for (const kind of ["As curl", "As TypeScript"])
    // eslint-disable-next-line no-control-regex
    expect(await page.getByLabel(kind, { exact: true }).innerText()).not.toMatch(/[\x00-\x1f]/);
  world.host.fileName = before;
});

test("a name or an output that would turn the text around it is shown as it is written", async () => {
  const { page } = dashboard;
  const before = world.host.fileName;
  world.host.fileName = "invoice\u202efdp.sh\x1b[2J\x9b";
  const shown = String.raw`invoice\u202efdp.sh\x1b[2J\x9b`;
  world.host.console.print(machine, "turned \u2067around\u2066 here\n");
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/files`);
  await page.getByText(shown, { exact: true }).waitFor();
  await page
    .getByRole("button", { name: /^Remove/ })
    .first()
    .click();
  await page.getByText(`${shown} is lost.`).waitFor();
  await page.goto(`${dashboard.url}/ui/machines/${machine}`);
  await page.getByText(String.raw`turned \u2067around\u2066 here`).waitFor();
  world.host.fileName = before;
});

test("marks without number over one character, in a file and in what a machine prints, leave the page as it was", async () => {
  const { page } = dashboard;
  const at = `/root/${world.host.fileName}`;
  const text = `a${"\u0301".repeat(125_000)}\nend`;
  const content = Buffer.from(text);
  world.host.files.set(at, { size: content.length, sha256: "", mode: 0o644, content });
  world.host.console.print(machine, `${text} of the marks\n`);
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/files`);
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByLabel(at).getByText("end").waitFor();
  await page.goto(`${dashboard.url}/ui/machines/${machine}`);
  await page.getByText("end of the marks").waitFor();
});

test("whose token is revoked sees no more, types no more, and is asked to log in", async () => {
  const { page } = dashboard;
  const minted = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", {
    body: { name: "short" },
  });
  await dashboard.logIn(minted.body.token, `/sandboxes/${sandbox}/terminal`);
  await page.getByText("A shell in the guest.").waitFor();
  const shell = world.host.executions.last;
  await page.keyboard.type("before");
  await eventually(() => Buffer.concat(shell.input).toString() === "before", "it was typed");
  const { id } = shell;
  for (const path of [
    "/v1/events",
    "/v1/auth/me",
    `/v1/sandboxes/${sandbox}/executions/${id}`,
    `/v1/sandboxes/${sandbox}/exec`,
  ])
    dashboard.expectAnswer(`401 ${path}`);
  dashboard.expectRefusals();
  await world.call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  await page.getByLabel("API token").waitFor();
  await page.keyboard.type("after");
  expect(Buffer.concat(shell.input).toString()).toBe("before");
  expect(await page.getByText(SCRIPT).count()).toBe(0);
});

test.each(["127.0.0.1", "localhost"])(
  "a page of %s has nothing of the dashboard: no frame, no form, no stream, no script, no window",
  async (name) => {
    const { page } = dashboard;
    await dashboard.logIn(world.token);
    const before = await world.call<{ counts: object }>("GET", "/v1/sandboxes?counts=true");
    const other = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end(pageOfAnother(dashboard.url));
    });
    await once(other.listen(0), "listening");
    try {
      dashboard.expectOtherPage();
      await page.goto(`http://${name}:${(other.address() as AddressInfo).port}/`);
      const told = page.locator("#told");
      await told.getByText("done").waitFor();
      expect(await told.innerText()).toBe("script refused, stream refused, window closed, done");
      expect(page.frames().map((frame) => frame.url())).not.toContain(`${dashboard.url}/ui/`);
      // A form leads there, as any link does; what it sends has no right to anything.
      await page.evaluate("document.forms[0].submit()");
      await page.getByText("unauthorized").waitFor();
      await page.goto(`${dashboard.url}/ui/`);
      await page.getByRole("banner").getByText("live").waitFor();
    } finally {
      other.closeAllConnections();
      other.close();
    }
    const after = await world.call<{ counts: object }>("GET", "/v1/sandboxes?counts=true");
    expect(after.body.counts).toEqual(before.body.counts);
  },
);

/** Tries each way to reach a server that needs no leave of it, and writes down what came of it. */
function pageOfAnother(url: string): string {
  return `<!doctype html><html lang="en"><title>another</title><main><p id="told"></p>
<iframe src="${url}/ui/" title="frame"></iframe>
<form action="${url}/v1/sandboxes" method="post" enctype="text/plain"><input name='{"template":"base","x":"' value='"}' aria-label="x"></form></main>
<script type="module">
  const told = [];
  const add = (name, how) => told.push(name + " " + how);
  await new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = "${url}/v1/sandboxes";
    script.onload = () => resolve(add("script", "loaded"));
    script.onerror = () => resolve(add("script", "refused"));
    document.head.append(script);
  });
  await new Promise((resolve) => {
    const stream = new EventSource("${url}/v1/events", { withCredentials: true });
    const end = (how) => { stream.close(); resolve(add("stream", how)); };
    stream.onopen = stream.onmessage = () => end("open");
    stream.onerror = () => end("refused");
  });
  const opened = window.open("${url}/ui/");
  let seen = "closed";
  await new Promise((resolve) => setTimeout(resolve, 500));
  try { if (opened && opened.document.body.innerText.includes("Overview")) seen = "read"; } catch { seen = "closed"; }
  add("window", seen);
  opened?.close();
  document.querySelector("#told").textContent = [...told, "done"].join(", ");
</script>`;
}
