// Loads egress policies into slots and reads their counters. The kernel holds the state of a slot; this class
// keeps none.

import { cidrOf, covers } from "@skerry/contract/cidrs";
import { hasDomains, type Egress, type HostEgressReport, type HostEgress } from "@skerry/contract/vms/egress";
import { neverNetworks, openPrivateCidrs, privateNetworks } from "@skerry/contract/vms/networks";
import type { AddressRange } from "./addresses.ts";
import { BASE_TABLE } from "./base-rules.ts";
import type { NameProxy } from "./name-proxy.ts";
import type { NamePolicy } from "./name-proxy-protocol.ts";
import { newest, readEgressReport } from "./egress-report.ts";
import { NamedAddresses, namedMark } from "./named-addresses.ts";
import { listTable, loadRules } from "./netns-exec.ts";
import { OwnAddresses } from "./own-addresses.ts";
import { POLICY_TABLE, policyRulesScript } from "./policy-rules.ts";
import type { Slot } from "./slot.ts";
import type { Slots } from "./slots.ts";

/** The policy of a guest without a user. Before it is loaded the slot passes nothing either. */
export const NO_EGRESS: Egress = {
  mode: "deny_all",
  allow_cidrs: [],
  deny_cidrs: [],
  allow_ports: [],
  dns: false,
};

export interface EgressOptions {
  readonly range: AddressRange;
  /** Networks that this machine's operator keeps from all guests. */
  readonly neverCidrs: readonly string[];
  readonly resolverPort: number;
  readonly slots: Slots;
  readonly names: { readonly proxy: NameProxy; readonly port: number };
}

export class EgressLoader {
  readonly #options: EgressOptions;
  readonly #own: OwnAddresses;
  readonly #named = new NamedAddresses(POLICY_TABLE);

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#own = new OwnAddresses(options.range);
    options.names.proxy.onOpening((opening) => this.#named.open(opening));
  }

  /** The first policy of a slot, in force when it resolves. */
  async load(slot: Slot, policy: HostEgress): Promise<void> {
    await this.#withNames(slot, policy, "first", (script) => this.#options.slots.loadFirst(slot, script));
  }

  /** In force when it resolves, for open connections too; where it rejects, the earlier policy stays in
   *  force. */
  async replace(slot: Slot, policy: HostEgress): Promise<void> {
    await this.#withNames(slot, policy, "replace", (script) => loadRules(script, slot));
  }

  /** The policy of a guest that was there before this host process. Where there is no name proxy, it comes later: the guest's names are
   *  closed until then. */
  async adopt(slot: Slot, policy: HostEgress): Promise<void> {
    const { proxy } = this.#options.names;
    const guest = this.#addressOf(slot);
    await this.#named.load(guest, { slot, policy }, () => {
      if (hasDomains(policy)) proxy.renew(guest, this.#namePolicy(policy));
      return loadRules(this.#script(policy, "replace"), slot);
    });
  }

  async report(slot: Slot, inForce: HostEgress): Promise<HostEgressReport> {
    const { private_cidrs: _, injection: _secret, ...policy } = inForce;
    const report = readEgressReport(await listTable("inet", BASE_TABLE, slot), Date.now());
    if (!hasDomains(policy)) return { ...policy, ...report };
    const { denied, injected } = await this.#options.names.proxy.traffic(this.#addressOf(slot));
    return {
      ...policy,
      ...report,
      denied: newest([...report.denied, ...denied]),
      ...(policy.inject !== undefined && { injected: newest(injected) }),
    };
  }

  /** The proxy knows what the rules lead to it before they do, and forgets it after them. */
  #withNames(
    slot: Slot,
    policy: HostEgress,
    load: "first" | "replace",
    loadScript: (script: string) => Promise<void>,
  ): Promise<void> {
    const { proxy } = this.#options.names;
    const guest = this.#addressOf(slot);
    const script = this.#script(policy, load);
    return this.#named.load(guest, { slot, policy }, async () => {
      if (!hasDomains(policy)) {
        await loadScript(script);
        return proxy.forget(guest);
      }
      const before = proxy.policyOf(guest);
      try {
        // A guest that this process does not know has nothing of its own there: what the proxy may still have is an earlier guest's.
        await proxy.set(guest, this.#namePolicy(policy), load === "first" || before === undefined);
        await loadScript(script);
      } catch (error) {
        if (before === undefined) await proxy.forget(guest);
        else await proxy.set(guest, before, false).catch(() => undefined); // it is told when the proxy is back
        throw error;
      }
    });
  }

  #addressOf({ number }: Slot): string {
    return this.#options.range.pair(number).slot;
  }

  #namePolicy(policy: HostEgress): NamePolicy {
    const { range, neverCidrs } = this.#options;
    const { mode, allow_domains = [], deny_domains = [], deny_cidrs, allow_cidrs } = policy;
    const open = openPrivateCidrs(policy).map(cidrOf);
    return {
      ...{ mode, allow_domains, deny_domains, deny_cidrs, private_networks: privateNetworks },
      never: [...neverNetworks.map(({ cidr }) => cidr), ...neverCidrs, range.cidr, ...this.#own.list()],
      open_cidrs: allow_cidrs.filter((cidr) => covers(open, cidrOf(cidr))),
      mark: namedMark(policy),
      inject: policy.inject ?? [],
      injection: policy.injection,
    };
  }

  #script(policy: HostEgress, load: "first" | "replace"): string {
    const { range, neverCidrs, resolverPort, names } = this.#options;
    const facts = {
      hostAddresses: this.#own.list(),
      slotRange: range.cidr,
      neverCidrs,
      resolver: { address: range.resolver, port: resolverPort },
      nameProxyPort: names.port,
    };
    return policyRulesScript(policy, facts, load);
  }
}
