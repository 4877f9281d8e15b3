import { isIPv6 } from "node:net";

/** What one customer of a provider has: an IPv4 address, or a /64 of IPv6. */
export function neighbourhood(address: string): string {
  const [plain = ""] = address.split("%");
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain) ?? [];
  if (mapped !== undefined || !isIPv6(plain)) return mapped ?? plain;
  const [head = "", tail] = plain.toLowerCase().split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  const groups = [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
