// The commands that doctor gives, tried on a real firewall in a namespace of its own.

import { expect, test } from "vitest";
import { acceptCommands, droppingChains, knowsVmLinks } from "@skerry/contract/hosts/dropping-chains";
import { runProgram } from "../src/system/run.ts";

const inside = `skerry-unit-firewall-${process.pid}`;
const run = (program: string, ...args: string[]): Promise<string> =>
  runProgram(program, args, { deadlineMs: 10_000 });
const nft = (...args: string[]): Promise<string> => run("ip", "netns", "exec", inside, "nft", ...args);

test("a firewall like Docker's is found, and is told of the links of VMs by the commands that are given", async () => {
  await run("ip", "netns", "add", inside);
  try {
    await nft("add table ip filter");
    await nft("add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }");
    await nft("add chain ip filter DOCKER-USER");
    await nft('add rule ip filter FORWARD iifname "docker0" accept');
    const [chain, ...others] = droppingChains(await nft("-j", "list", "chains"));
    if (chain === undefined) throw new Error("the chain was not found");
    expect([chain.name, others]).toEqual(["FORWARD", []]);
    const rules = (): Promise<string> => nft("list", "chain", chain.family, chain.table, chain.name);
    expect(knowsVmLinks(await rules())).toBe(false);
    for (const command of acceptCommands(chain))
      await run("ip", "netns", "exec", inside, "sh", "-c", command);
    expect(knowsVmLinks(await rules())).toBe(true);
    expect(await rules()).toMatch(
      /oifname "sk\*" accept\n\s+iifname "sk\*" accept\n\s+iifname "docker0" accept/,
    );
  } finally {
    await run("ip", "netns", "del", inside);
  }
});
