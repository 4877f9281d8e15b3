// IPv4 networks as numbers.

export interface Cidr {
  /** As written, from 0 to 2³² - 1. */
  readonly address: number;
  readonly prefix: number;
}

export interface ParsedCidr extends Cidr {
  /** The same network without bits after its prefix. */
  readonly canonical: Cidr;
}

const ADDRESS_BITS = 32;

/** The network, or what is wrong with the text. A bare address is the network of that one address. */
export function parseCidr(text: string): ParsedCidr | string {
  if (text.includes(":")) return "is not an IPv4 network; IPv6 is not available in sandboxes";
  const [, numbers, prefixText = String(ADDRESS_BITS)] =
    /^(\d{1,3}(?:\.\d{1,3}){3})(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (numbers === undefined) return "is not an IPv4 network";
  const octets = numbers.split(".");
  // Some programs read 010 as eight; what is ambiguous is refused.
  if ([...octets, prefixText].some((number) => /^0\d/.test(number)))
    return "has a number with a leading zero";
  if (octets.some((octet) => Number(octet) > 255)) return "has a number above 255";
  const prefix = Number(prefixText);
  if (prefix > ADDRESS_BITS) return `has a prefix longer than ${ADDRESS_BITS}`;
  const address = octets.reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return { address, prefix, canonical: { address: networkOf(address, prefix), prefix } };
}

export function formatCidr({ address, prefix }: Cidr): string {
  const octets = [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff);
  return `${octets.join(".")}/${prefix}`;
}

/** Of a text that has been checked before. */
export function cidrOf(text: string): Cidr {
  const cidr = parseCidr(text);
  if (typeof cidr === "string") throw new Error(`${text} ${cidr}`);
  return cidr.canonical;
}

/** Whether every address of the inner network is in the outer one. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  return inner.prefix >= outer.prefix && networkOf(inner.address, outer.prefix) === outer.address;
}

/** Two networks overlap only where one contains the other. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  return contains(one, other) || contains(other, one);
}

/** Whether every address of the network is in one of these, also where it takes several of them. */
export function covers(networks: readonly Cidr[], inner: Cidr): boolean {
  const near = networks.filter((network) => overlaps(network, inner));
  if (near.some((network) => contains(network, inner))) return true;
  if (near.length === 0) return false;
  // What is near lies inside it, so its prefix has room for one bit more.
  const prefix = inner.prefix + 1;
  const half = 2 ** (ADDRESS_BITS - prefix);
  return [inner.address, inner.address + half].every((address) => covers(near, { address, prefix }));
}

/** In multiples instead of bits, because JavaScript's bits have a sign. */
function networkOf(address: number, prefix: number): number {
  return address - (address % 2 ** (ADDRESS_BITS - prefix));
}
