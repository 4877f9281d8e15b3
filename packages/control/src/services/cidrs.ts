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

/** Whether every address of the inner network is in the outer one. */
export function contains(outerText: string, inner: Cidr): boolean {
  const outer = parseCidr(outerText);
  if (typeof outer === "string") throw new Error(`${outerText} ${outer}`);
  return inner.prefix >= outer.prefix && networkOf(inner.address, outer.prefix) === outer.address;
}

/** In multiples instead of bits, because JavaScript's bits have a sign. */
function networkOf(address: number, prefix: number): number {
  return address - (address % 2 ** (ADDRESS_BITS - prefix));
}
