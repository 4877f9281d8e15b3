// What the client alone says of the commands that it has not.

import { Command } from "commander";
import { expect, test } from "vitest";
import { Cli } from "../src/cli.ts";
import { registerHostMachineCommands } from "../src/local/host-machine.ts";
import { registerLocalCommands } from "../src/local/local-commands.ts";
import { pointToServer, serverCommands } from "../src/program/server-commands.ts";

test("every command that runs only where Skerry runs is named in the client", () => {
  const program = new Command("skerry");
  registerLocalCommands(program, new Cli());
  const host = new Command("host");
  registerHostMachineCommands(host, new Cli());
  // Servers alone call the hidden ones.
  const shown = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
  expect([...serverCommands.program, "help"].toSorted()).toEqual(shown.toSorted());
  expect([...serverCommands.host]).toEqual(host.commands.map((command) => command.name()));
});

test("such a command says where it works, whatever is typed behind it", async () => {
  const program = new Command("skerry").exitOverride();
  pointToServer(program, ["up"]);
  const host = program.command("host");
  pointToServer(host, ["join"]);
  for (const [args, name] of [
    [["up", "--help"], "`skerry up`"],
    [["host", "join", "--control", "https://skerry.test", "x"], "`skerry host join`"],
  ] as const) {
    await expect(program.parseAsync(args, { from: "user" })).rejects.toMatchObject({
      code: "not_in_client",
      exitCode: 2,
      message: expect.stringContaining(name) as string,
      remediation: expect.stringContaining("runs on") as string,
    });
  }
  expect(
    program
      .createHelp()
      .visibleCommands(program)
      .map((command) => command.name()),
  ).not.toContain("up");
});
