// What the host and its name proxy agree on: where the proxy listens, and the lines of JSON on its control socket. Each request has an
// id, and its answer has the same one; the proxy says who it is before the first.

import type { EgressDenial, EgressInjection, HostEgress } from "@skerry/contract/vms/egress";
import type { Injection, InjectRule } from "@skerry/contract/vms/inject";
import type { NameServer } from "./name-servers.ts";

/** Ports in a row. */
export function proxyPorts(first: number): {
  readonly dns: number;
  readonly tls: number;
  readonly http: number;
} {
  return { dns: first, tls: first + 1, http: first + 2 };
}

/** The argument of the proxy's process. */
export interface NameProxySettings {
  /** Tells one that was started with other settings, or by another version. */
  readonly identity: string;
  readonly address: string;
  readonly port: number;
  /** It is left to this user as soon as the sockets are there. */
  readonly uid: number;
  /** The unix socket that the host talks to it by. */
  readonly socket: string;
  /** Empty: those of the machine. */
  readonly servers: readonly NameServer[];
  /**
   * File in PEM of certificates that servers are trusted by besides the common ones, read before root is
   * given up.
   */
  readonly extraCa?: { readonly path: string; readonly digest: string } | undefined;
}

/** What one guest may reach by name. */
export interface NamePolicy extends Pick<HostEgress, "mode"> {
  readonly allow_domains: readonly string[];
  readonly deny_domains: readonly string[];
  /** Networks that no name may lead to, by the rule that denies them. */
  readonly never: readonly string[];
  readonly deny_cidrs: readonly string[];
  readonly private_networks: readonly string[];
  /** Private ones that are open to the guest by their addresses: lookups may answer them. */
  readonly open_cidrs: readonly string[];
  /** Which lists of domains these are. */
  readonly mark: number;
  readonly inject: readonly InjectRule[];
  /** Absent without rules, and where this host has lost it. */
  readonly injection?: Injection | undefined;
}

export interface NameProxyGuest {
  /** The address of its slot. */
  readonly guest: string;
  readonly policy: NamePolicy;
  /** It is not the guest that had the address before: nothing of that one is left to it. */
  readonly isNew: boolean;
}

export type NameProxyRequest =
  | { readonly id: number; readonly set: NameProxyGuest }
  | { readonly id: number; readonly forget: string }
  | { readonly id: number; readonly denials: string }
  | { readonly id: number; readonly opened: number }
  | { readonly id: number; readonly ping: true }
  | { readonly id: number; readonly end: true };

export interface NameProxyHello {
  readonly identity: string;
}

/** What the proxy asks of the host, which says `opened` when it is done: a lookup of the guest has led to these addresses. */
export interface NameProxyOpening {
  /** A number of its own. */
  readonly opening: number;
  /** The address of its slot. */
  readonly guest: string;
  /** Of the policy that has allowed the name. */
  readonly mark: number;
  readonly addresses: readonly string[];
  readonly ttl_s: number;
}

export interface NameProxyAnswer {
  readonly id: number;
  readonly denied?: readonly EgressDenial[];
  readonly injected?: readonly EgressInjection[];
}
