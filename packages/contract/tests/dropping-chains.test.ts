import { expect, test } from "vitest";
import { acceptCommands, droppingChains, knowsVmLinks } from "../src/hosts/dropping-chains.ts";

const chain = (over: object): object => ({
  chain: {
    family: "ip",
    table: "filter",
    name: "FORWARD",
    type: "filter",
    hook: "forward",
    prio: 0,
    policy: "drop",
    ...over,
  },
});
const listing = (...entries: object[]): string =>
  JSON.stringify({ nftables: [{ metainfo: { version: "1.0.6" } }, ...entries] });

test("chains of other firewalls that drop what VMs send or ask for are found", () => {
  const found = droppingChains(
    listing(
      chain({}),
      chain({ name: "INPUT", hook: "input" }),
      chain({ name: "OUTPUT", hook: "output" }),
      chain({ table: "skerry_1a2b3c", policy: "accept" }),
      chain({ family: "ip6" }),
      { chain: { family: "ip", table: "filter", name: "DOCKER-USER", handle: 7 } },
    ),
  );
  expect(found).toEqual([
    { family: "ip", table: "filter", name: "FORWARD" },
    { family: "ip", table: "filter", name: "INPUT" },
  ]);
});

test("the commands let the links of VMs in and out, and a chain that has them is known", () => {
  const commands = acceptCommands({ family: "ip", table: "filter", name: "FORWARD" });
  expect(commands).toEqual([
    `nft insert rule ip filter FORWARD iifname '"sk*"' accept`,
    `nft insert rule ip filter FORWARD oifname '"sk*"' accept`,
  ]);
  expect(knowsVmLinks('chain FORWARD {\n\t\tiifname "sk*" accept\n\t}')).toBe(true);
  expect(knowsVmLinks('chain FORWARD {\n\t\tiifname "docker0" accept\n\t}')).toBe(false);
});
