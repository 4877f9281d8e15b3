// IPv4 addresses and networks as numbers.

export interface Ipv4Network {
  /** First address. */
  readonly base: number;
  readonly prefix: number;
}

const DOTTED = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;

/** Undefined for what is no address in the usual four decimal numbers. */
export function parseIpv4(text: string): number | undefined {
  const parts = DOTTED.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((address, part) => address * 256 + part, 0);
}

export function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join(".");
}

/** Undefined for what is no network, or one with host bits. */
export function parseNetwork(text: string): Ipv4Network | undefined {
  const [address = "", bits = "", ...rest] = text.split("/");
  const base = parseIpv4(address);
  if (base === undefined || rest.length > 0 || !/^(\d|[12]\d|3[0-2])$/.test(bits)) return undefined;
  const prefix = Number(bits);
  return base % addressesIn(prefix) === 0 ? { base, prefix } : undefined;
}

export function formatNetwork({ base, prefix }: Ipv4Network): string {
  return `${formatIpv4(base)}/${prefix}`;
}

export function addressesIn(prefix: number): number {
  return 2 ** (32 - prefix);
}
