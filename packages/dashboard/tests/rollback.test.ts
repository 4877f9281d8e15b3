// Going back to a snapshot, on the page of a sandbox and of a machine.

import { expect, test } from "vitest";
import { eventually, useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

async function audited(action: string): Promise<number> {
  const { body } = await world.call<{ items: readonly { outcome: string }[] }>(
    "GET",
    `/v1/audit?action=${action}`,
  );
  return body.items.filter(({ outcome }) => outcome === "success").length;
}

test.each([
  ["sandboxes", "sandbox"],
  ["machines", "machine"],
] as const)(
  "one of the %s goes back to a snapshot after what is lost was said, and not before",
  async (kind, noun) => {
    const { page } = dashboard;
    const create = (name: string) =>
      world.call<{ id: string }>("POST", `/v1/${kind}`, { body: { template: "base", name } });
    const [one, other] = [(await create(`${noun}-one`)).body.id, (await create(`${noun}-other`)).body.id];
    for (const [id, name] of [
      [one, `${noun}-before`],
      [other, `${noun}-elsewhere`],
    ])
      await world.call("POST", `/v1/${kind}/${id}/snapshots`, { body: { name } });
    await dashboard.logIn(world.token, `/${kind}/${one}/snapshots`);
    const lineOf = (name: string) => page.getByRole("listitem").filter({ hasText: name });
    await lineOf(`${noun}-elsewhere`).getByRole("button", { name: "Roll back" }).click();
    await page
      .getByText(`${noun}-one goes back to ${noun}-elsewhere. All of its memory and its disk is lost`)
      .waitFor();
    expect(await dashboard.faults()).toEqual([]);
    await page.getByRole("button", { name: /^Leave it/ }).click();
    expect(await audited(`${noun}.rollback`)).toBe(0);
    await lineOf(`${noun}-before`).getByRole("button", { name: "Roll back" }).click();
    const question = page.getByRole("group").filter({ hasText: `goes back to ${noun}-before` });
    await question
      .getByText(/What has changed in its memory and on its disk in the \d+ s since then is lost/)
      .waitFor();
    await question.getByRole("button", { name: /^Roll back/ }).click();
    await eventually(async () => (await audited(`${noun}.rollback`)) === 1, "it was rolled back");
    await page.getByRole("heading", { level: 1 }).getByText("running").waitFor();
  },
);

test("a token that may not change it sees the snapshots, and which scope it lacks", async () => {
  const { page } = dashboard;
  const { id } = await world.createSandbox();
  await world.call("POST", `/v1/sandboxes/${id}/snapshots`, { body: { name: "seen" } });
  const scopes = ["sandboxes:read", "machines:read"];
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", { body: { scopes } });
  await dashboard.logIn(minted.body.token, `/sandboxes/${id}/snapshots`);
  const button = page
    .getByRole("listitem")
    .filter({ hasText: "seen" })
    .getByRole("button", { name: "Roll back" });
  await button.waitFor();
  expect([await button.isDisabled(), await button.getAttribute("title")]).toEqual([
    true,
    "Needs the scope sandboxes:write.",
  ]);
});
