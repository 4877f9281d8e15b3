// The terminal, before a guest that echoes what is typed, prints without end, and is hostile.

import { afterEach, beforeAll, expect, test } from "vitest";
import type { Locator, Page } from "playwright-core";
import { playLoginShell } from "../../control/tests/support/fake-login-shell.ts";
import { eventually, useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
let sandbox: string;

beforeAll(async () => {
  world.host.executions.loginShell = playLoginShell;
  ({ id: sandbox } = await world.createSandbox({ name: "shells" }));
});

afterEach(() => {
  for (const execution of world.host.executions.all.values()) execution.end();
});

async function atPrompt(): Promise<Page> {
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/terminal`);
  await shows(dashboard.page, "guest$");
  return dashboard.page;
}

/** A line of the screen, as a screen reader finds it. */
const lines = (page: Page) => page.getByRole("region", { name: "Terminal" }).getByRole("list");

async function shows(page: Page, text: string | RegExp): Promise<void> {
  await lines(page).getByText(text).first().waitFor();
}

async function type(page: Page, line: string): Promise<void> {
  await page.keyboard.type(line);
  await page.keyboard.press("Enter");
}

/** What lies above it is what a mouse meets too. */
async function clickAt(page: Page, place: Locator): Promise<void> {
  // The terminal draws its lines anew now and then, and one that is gone has no place.
  let box = await place.boundingBox();
  for (let tries = 0; box === null && tries < 100; tries++) box = await place.boundingBox();
  if (box === null) throw new Error("it is not in sight");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.up();
}

test("what is typed goes to the shell, what it prints comes, and its exit code is told", async () => {
  const page = await atPrompt();
  await type(page, "echo it<b>works</b>");
  await shows(page, /^it<b>works<\/b>/);
  await type(page, "exit 7");
  await page.getByText("The shell has ended with exit code 7.").waitFor();
  await page.getByRole("button", { name: "New shell" }).click();
  await page.getByText("A shell in the guest.").waitFor();
  await shows(page, "guest$");
});

test("the guest is told the size of the window, and each change of it", async () => {
  await dashboard.page.setViewportSize({ width: 1440, height: 900 });
  const page = await atPrompt();
  const shell = world.host.executions.last;
  await page.setViewportSize({ width: 600, height: 900 });
  await eventually(() => Number(shell.sizes.at(-1)?.[0]) < Number(shell.sizes[0]?.[0]), "it is narrower");
});

test("a page that is loaded again goes on with its shell and shows what it had printed", async () => {
  const page = await atPrompt();
  const shell = world.host.executions.last;
  await type(page, "echo before");
  await shows(page, /^before/);
  await page.reload();
  await shows(page, /^before/);
  await type(page, "echo after");
  await shows(page, /^after/);
  // So does one that went to another page and came back without the address.
  await page.getByRole("link", { name: "Details" }).click();
  await page.getByRole("heading", { name: "Details" }).waitFor();
  await page.getByRole("link", { name: "Terminal" }).click();
  await shows(page, /^after/);
  expect(world.host.executions.last).toBe(shell);
});

test("who is given the address watches the same shell, and types when they say so", async () => {
  const page = await atPrompt();
  await type(page, "echo shared");
  await shows(page, /^shared/);
  const shell = world.host.executions.last;
  const watcher = await page.context().newPage();
  watcher.setDefaultTimeout(60_000);
  await watcher.goto(page.url());
  await watcher.getByText("You watch a shell").waitFor();
  await shows(watcher, /^shared/);
  const before = shell.input.length;
  await clickAt(watcher, lines(watcher));
  await type(watcher, "echo mine");
  await type(page, "echo still");
  await shows(watcher, /^still/);
  expect(Buffer.concat(shell.input.slice(before)).toString()).toBe("echo still\r");
  await watcher.getByRole("button", { name: "Type too" }).click();
  await watcher.getByText("A shell in the guest.").waitFor();
  await type(watcher, "echo mine");
  await shows(page, /^mine/);
});

test("what prints without end waits in the guest, the page goes on, and Ctrl-C ends it", async () => {
  const page = await atPrompt();
  const shell = world.host.executions.last;
  await type(page, "yes");
  await eventually(() => shell.state.position > 2 ** 21, "it prints");
  await page.getByRole("button", { name: /^Theme/ }).click();
  await page.locator(".xterm textarea").focus();
  await page.keyboard.press("Control+c");
  await shows(page, "^C");
  await type(page, "echo over");
  await shows(page, /^over/);
});

test("a guest that sends escape sequences changes nothing outside of its screen", async () => {
  const { page } = dashboard;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await atPrompt();
  await page.evaluate("navigator.clipboard.writeText('mine')");
  const title = await page.title();
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void dialog.dismiss();
  });
  const address = page.url();
  const shell = world.host.executions.last;
  const stolen = Buffer.from("stolen").toString("base64");
  shell.write(`\x1b]52;c;${stolen}\x07\x1b]52;c;?\x07\x1b]0;hacked\x07\x1b]2;hacked\x1b\\`);
  shell.write("\x1b]8;;javascript:document.title='hacked'\x07script\x1b]8;;\x07\r\n");
  shell.write(`\x1b]8;;${dashboard.url}/ui/login\x07elsewhere\x1b]8;;\x07\r\n`);
  // Each of them more often than a page could ever do it.
  for (const final of "bILMSTZ") shell.write(`x\x1b[2147483647${final}`);
  shell.write("\r\n<img src=x onerror=alert(1)>\r\nend\r\n");
  await shows(page, /^end/);
  for (const text of ["script", "elsewhere"])
    await clickAt(page, page.locator(".xterm-rows").getByText(text));
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("mine");
  expect(await page.title()).toBe(title);
  expect(page.url()).toBe(address);
  expect(page.context().pages()).toHaveLength(1);
  expect(asked).toEqual([]);
  // A question for the clipboard is answered by nothing.
  expect(Buffer.concat(shell.input).toString()).not.toContain("]52");
});

test("marks without number over one character, and a line without an end, leave the page as it was", async () => {
  const page = await atPrompt();
  const shell = world.host.executions.last;
  for (let line = 0; line < 5; line += 1) shell.write(`a${"\u0301".repeat(20_000)}\r\n`);
  for (let piece = 0; piece < 50; piece += 1) shell.write("x".repeat(20_000));
  shell.write("\r\nend\r\n");
  await shows(page, /^end/);
  // What a screen reader is told once a second.
  const told = page.locator(".live-region");
  await eventually(async () => /end\s*$/.test((await told.textContent()) ?? ""), "it is told");
  expect((await told.textContent())?.length).toBeLessThan(5_000);
});

test("what another page has put into the clipboard does not end the paste and type a command", async () => {
  const { page } = dashboard;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await atPrompt();
  const shell = world.host.executions.last;
  // As every shell does that is to tell what is pasted from what is typed.
  shell.write("\x1b[?2004hready\r\n");
  await shows(page, /ready/);
  for (const [end, visible] of [
    ["\x1b[201~", "[201~"],
    ["\x9b201~", "201~"],
    ["\x03", ""],
  ] as const) {
    const before = shell.input.length;
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(`one\n\ttwo${end}touch evil\r`)})`);
    await page.keyboard.press("Control+Shift+V");
    const typed = () => Buffer.concat(shell.input.slice(before)).toString();
    await eventually(() => typed().endsWith("\x1b[201~"), "it is pasted");
    expect(typed()).toBe(`\x1b[200~one\r\ttwo${visible}touch evil\r\x1b[201~`);
  }
});
