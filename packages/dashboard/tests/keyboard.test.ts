// Every main task with keys alone: a test moves the focus as a person does, and sees where it is.

import { beforeAll, expect, test } from "vitest";
import { playLoginShell } from "../../control/tests/support/fake-login-shell.ts";
import { eventually, useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const TABS_MAX = 80;
let sandbox: string;

beforeAll(async () => {
  world.host.executions.loginShell = playLoginShell;
  ({ id: sandbox } = await world.createSandbox({ name: "by-hand", egress: { mode: "deny_all" } }));
});

/** Tab, until what has the focus is called so. Each stop has to be seen: one that is not shown, or that nothing surrounds, is a fault. */
async function tabTo(role: string, name: string | RegExp): Promise<void> {
  const { page } = dashboard;
  const wanted = page.getByRole(role as "button", { name, ...(typeof name === "string" && { exact: true }) });
  for (let pressed = 0; pressed < TABS_MAX; pressed += 1) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(FAULT_OF_FOCUS)).toBe("");
    if ((await wanted.and(page.locator(":focus")).count()) > 0) return;
  }
  throw new Error(`Tab does not lead to the ${role} ${String(name)}`);
}

/** Empty where what has the focus is in sight, has an outline, and does not lie below the bar on top. */
const FAULT_OF_FOCUS = `(() => {
  const element = document.activeElement;
  // After the last element of the page comes the window around it.
  if (element === document.body) return "";
  const box = element.getBoundingClientRect();
  const above = document.elementFromPoint(box.left + Math.min(box.width, 8) / 2, box.top + Math.min(box.height, 8) / 2);
  const isOnTop = above !== null && (element.contains(above) || above.contains(element));
  const isOutlined = getComputedStyle(element).outlineStyle !== "none";
  return isOnTop && isOutlined ? "" : element.outerHTML + " is not seen, or not outlined";
})()`;

async function press(...keys: readonly string[]): Promise<void> {
  for (const key of keys) await dashboard.page.keyboard.press(key);
}

test("make a sandbox, and be on its page", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await press("g", "s");
  await page.getByRole("heading", { level: 1, name: "Sandboxes" }).waitFor();
  await tabTo("link", "New sandbox");
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "New sandbox" }).waitFor();
  await tabTo("textbox", "Name");
  await page.keyboard.type("made-by-keys");
  await press("Enter");
  await page.getByRole("heading", { level: 1 }).getByText("made-by-keys").waitFor();
});

test("find a sandbox by its name, open its terminal, type, and leave the terminal", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await press("Control+k");
  await page.locator("dialog input:focus").waitFor();
  await page.keyboard.type("by-hand");
  await page.getByRole("option", { name: "by-hand" }).waitFor();
  await press("Enter");
  await page.getByRole("heading", { level: 1 }).getByText("by-hand").waitFor();
  await tabTo("link", "Terminal");
  await press("Enter");
  await page.getByText("A shell in the guest.").waitFor();
  await page.locator(".xterm textarea:focus").waitFor();
  const shell = world.host.executions.last;
  await page.keyboard.type("g s");
  await eventually(() => Buffer.concat(shell.input).toString() === "g s", "the shell has read it");
  // Tab is the shell's; this is the way out of it.
  await press("Shift+Tab");
  expect(await page.locator(".xterm textarea:focus").count()).toBe(0);
});

test("allow what was refused", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/egress`);
  await page.getByRole("button", { name: "Allow this: 203.0.113.9:25" }).waitFor();
  await tabTo("button", "Allow this: 203.0.113.9:25");
  await press("Enter");
  await page.getByRole("list", { name: "What changes" }).waitFor();
  await tabTo("button", "Apply");
  await press("Enter");
  await page.getByText(/Since then: \d+ passed, \d+ denied/).waitFor();
});

test("drain a host, and let it take VMs again", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await press("g", "h");
  await page.getByRole("button", { name: "Drain fake" }).waitFor();
  await tabTo("button", "Drain fake");
  await press("Enter");
  await tabTo("button", "Drain fake: yes");
  await press("Enter");
  await page.getByRole("button", { name: "Activate fake", exact: true }).waitFor();
  await tabTo("button", "Activate fake");
  await press("Enter");
  await page.getByRole("button", { name: "Drain fake" }).waitFor();
});

test("revoke a token", async () => {
  const { page } = dashboard;
  await world.call("POST", "/v1/auth/tokens", { body: { name: "old-laptop" } });
  await dashboard.logIn(world.token);
  await press("g", "l");
  // Below the token that minted it.
  const line = page.locator("li:not(:has(li))").filter({ hasText: "old-laptop" });
  await line.waitFor();
  await tabTo("button", /^Revoke old-laptop tok_[^:]*$/);
  await press("Enter");
  await tabTo("button", /^Revoke old-laptop .*: yes$/);
  await press("Enter");
  await line.waitFor({ state: "detached" });
});

test("the list of keys, and each page by its keys", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await press("?");
  const keys = await page.getByRole("dialog").locator("kbd").allInnerTexts();
  await press("Escape");
  const places = keys.filter((key) => key.startsWith("g "));
  expect(places.length).toBeGreaterThan(5);
  for (const place of places) {
    const before = await page.title();
    await press(...place.split(" "));
    if (place !== "g o") await expect.poll(() => page.title()).not.toBe(before);
  }
});
