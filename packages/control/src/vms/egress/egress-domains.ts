// The domains of a request for egress rules, in their canonical form.

import { domainToASCII } from "node:url";
import { canonicalName } from "@skerry/contract/domains";
import { SkerryError } from "@skerry/contract/errors";

/** Sorted and without duplicates. */
export function readDomains(field: string, entries: readonly string[] = []): string[] {
  return [...new Set(entries.map((entry, index) => readDomain(`${field}[${index}]`, entry)))].toSorted();
}

function readDomain(field: string, entry: string): string {
  if (entry === "*" || entry === "*.") {
    throw invalid(field, entry, 'is every name, which the mode "allow_all" says');
  }
  const [prefix, text] = entry.startsWith("*.") ? ["*.", entry.slice(2)] : ["", entry];
  if (text.includes("*")) throw invalid(field, entry, 'has a "*" that is not its whole first label');
  const name = canonicalName(/^[\x21-\x7e]*$/.test(text) ? text : domainToASCII(text));
  if (name === undefined) throw invalid(field, entry, "is not a domain");
  return `${prefix}${name}`;
}

function invalid(field: string, value: string, fault: string): SkerryError {
  return new SkerryError("invalid_domain", `"${value}" in "${field}" ${fault}.`, {
    remediation:
      'Write a name such as "example.com", or "*.example.com" for every name below it; addresses are CIDRs.',
    context: { field, value },
  });
}
