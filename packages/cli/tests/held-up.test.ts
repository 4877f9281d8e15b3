// Lists and `show` say what builds, templates, machines and sandboxes wait for.

import { expect, test } from "vitest";
import { Build } from "@skerry/contract/builds/build";
import { Machine } from "@skerry/contract/machines/machine";
import { exampleOf } from "@skerry/contract/named";
import { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { Template } from "@skerry/contract/templates/template";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const since = new Date(Date.now() - 90_500_000).toISOString();
const reason = 'waits for template "node", which failed 2 min ago: no mirror answers';
const waits_for = { kind: "template", id: null, name: "node", reason, since };
const failure = {
  ...{ reason: "no mirror answers", last_lines: ["Get:1 http://mirror.example", "E: no mirror answers"] },
  ...{ failed_at: since, next_attempt: null },
};
const template = { ...exampleOf(Template), status: "failed", failure, waits_for };

/** Answers with the item, or with a list of it where the address ends with the noun. */
async function shown(item: object, list: string, ...words: readonly string[]): Promise<string> {
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(
      response,
      200,
      new RegExp(`/${list}(\\?|$)`).test(url) ? { items: [item], next_cursor: null } : item,
    ),
  );
  await using shell = await Shell.forServer(server);
  const { stdout, stderr } = await shell.run(...words);
  return stdout.toString() + stderr;
}

test.each([
  ["sandbox", { ...exampleOf(Sandbox), waits_for }],
  ["machine", { ...exampleOf(Machine), waits_for }],
  ["build", { ...exampleOf(Build), waits_for, error: null }],
  ["template", template],
] as const)("%s list and show say what it waits for", async (noun, item) => {
  const listed = await shown(item, `${noun === "sandbox" ? "sandboxe" : noun}s`, noun, "list");
  expect(listed).toContain("WHY");
  expect(listed).toContain(reason);
  expect(await shown(item, "none", noun, "show", item.id)).toContain(reason);
});

test("template show and logs of an image that failed print what its making printed last", async () => {
  for (const verb of ["show", "logs"]) {
    const text = await shown(template, "none", "template", verb, "node");
    for (const line of failure.last_lines) expect(text).toContain(line);
    expect(text).toContain(reason);
  }
});

test("a list of sandboxes of which none waits has no column for it", async () => {
  const item = { ...exampleOf(Sandbox), waits_for: null, reason: null };
  expect(await shown(item, "sandboxes", "sandbox", "list")).not.toContain("WHY");
});
