import { expect, test } from "vitest";
import { exampleOf } from "@skerry/contract/named";
import { Template } from "@skerry/contract/templates/template";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("the list of templates tells versions of one name apart by their tags", async () => {
  const builtIn = exampleOf(Template);
  const version = { ...builtIn, name: "web", description: "" };
  const items = [builtIn, { ...version, tags: ["42", "latest"] }, version];
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, { items }));
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("template", "list");
  const rows = stdout.toString().trimEnd().split("\n");
  expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
    ["NAME", "TAGS", "STATUS", "DISK", "DESCRIPTION", "ID"],
    ["base", "-", "ready", "8 GiB", "Debian with Python 3 and common tools", builtIn.id],
    ["web", "42, latest", "ready", "8 GiB", "-", builtIn.id],
    ["web", "-", "ready", "8 GiB", "-", builtIn.id],
  ]);
});
