import { exampleOf } from "@skerry/contract/named";
import { Move } from "@skerry/contract/moves/move";
import { BackgroundService } from "@skerry/contract/platform/background-service";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("move list filters, and shows from where to where each goes", async () => {
  const page = { items: [exampleOf(Move)], next_cursor: null };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, page));
  await using shell = await Shell.forServer(server);
  const flags = ["--status", "sending", "--host", exampleOf(Move).from_host_id, "--limit", "5"];
  const { code, stdout } = await shell.run("move", "list", ...flags);
  expect(code).toBe(0);
  expect(stdout.toString()).toContain(exampleOf(Move).to_host_id);
  expect(server.last.url).toBe(`/v1/moves?status=sending&host=${exampleOf(Move).from_host_id}&limit=5`);
});

test("background-service lists what has run, and has one run, whose end it waits for", async () => {
  const service = exampleOf(BackgroundService);
  const after = (ended_at: string) => ({ ...service, last_run: { ...service.last_run, ended_at } });
  // The run that was under way ends first, and is not the one that was asked for.
  const answers = [service, after("2026-11-20T16:22:00.000Z"), after("2026-11-20T16:22:01.000Z")];
  await using server = await ScriptedServer.start((response, { method, url }) =>
    sendJson(
      response,
      200,
      url.endsWith("/run")
        ? { ...service, status: method === "POST" ? "running" : "waiting" }
        : url.endsWith("sandbox-reaper")
          ? answers.shift()
          : { items: [service] },
    ),
  );
  await using shell = await Shell.forServer(server);
  for (const group of ["background-service", "service"]) {
    const listed = await shell.run(group, "list");
    expect(listed.stdout.toString()).toMatch(/sandbox-reaper +waiting .* success +2 of 2/);
  }
  const run = await shell.run("background-service", "run", "sandbox-reaper", "--wait");
  expect([run.code, run.stdout.toString()]).toEqual([
    0,
    expect.stringMatching(/sandbox-reaper +waiting .* success +2 of 2/) as unknown,
  ]);
  expect(answers).toEqual([]);
  const due = await shell.run("background-service", "run", "sandbox-reaper");
  expect([due.code, due.stderr.toString()]).toEqual([0, "sandbox-reaper is due now.\n"]);
  expect([server.last.method, server.last.url]).toEqual([
    "POST",
    "/v1/background-services/sandbox-reaper/run",
  ]);
});
