// Other firewalls of a host's machine. An `accept` of ours ends one chain only: a base chain of Docker's or ufw's that drops what no rule of
// its own accepts takes the packets of VMs, too, and these have no network then.

export interface DroppingChain {
  readonly family: string;
  readonly table: string;
  readonly name: string;
}

/** What the links of all hosts to their VMs are called. */
export const VM_LINKS = "sk*";
const FAMILIES: ReadonlySet<string> = new Set(["ip", "inet"]);
/** VMs are forwarded, and ask the host for names. */
const HOOKS: ReadonlySet<string> = new Set(["forward", "input"]);

interface ListedChain extends DroppingChain {
  readonly hook?: string;
  readonly policy?: string;
}

/** In the output of `nft -j list chains`; throws where it is none. */
export function droppingChains(listing: string): DroppingChain[] {
  const { nftables } = JSON.parse(listing) as { nftables: readonly { readonly chain?: ListedChain }[] };
  return nftables
    .flatMap(({ chain }) => chain ?? [])
    .filter(({ family, hook = "", policy }) => FAMILIES.has(family) && HOOKS.has(hook) && policy === "drop")
    .map(({ family, table, name }) => ({ family, table, name }));
}

/** Whether a listing of such a chain (`nft list chain …`) has a rule for the links of VMs. */
export function knowsVmLinks(listing: string): boolean {
  return listing.includes(`"${VM_LINKS}"`);
}

/** What lets VMs through such a chain. What they reach is still for the rules of their policies to decide. */
export function acceptCommands({ family, table, name }: DroppingChain): string[] {
  return ["iifname", "oifname"].map(
    (side) => `nft insert rule ${family} ${table} ${name} ${side} '"${VM_LINKS}"' accept`,
  );
}
