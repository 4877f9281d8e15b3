import {
  acceptCommands,
  droppingChains,
  knowsVmLinks,
  type DroppingChain,
} from "@skerry/contract/hosts/dropping-chains";
import { run } from "../system/run.ts";

/** Chains of other firewalls on this machine in which the packets of VMs end, and the commands that let them through. */
export async function closedChains(): Promise<{ readonly chains: string[]; readonly commands: string[] }> {
  const { code, stdout } = await run("nft", ["-j", "list", "chains"]);
  const closed: DroppingChain[] = [];
  for (const chain of code === 0 ? droppingChains(stdout) : []) {
    const rules = await run("nft", ["list", "chain", chain.family, chain.table, chain.name]);
    if (!knowsVmLinks(rules.stdout)) closed.push(chain);
  }
  return {
    chains: closed.map(({ family, table, name }) => `${family} ${table} ${name}`),
    commands: closed.flatMap(acceptCommands),
  };
}
