// Headers that E2B's clients have requests get on their way, as rules of an egress policy of ours, and back.
// Pure. With us a value is a secret of the organization, so a header's text names one: `Bearer {API_KEY}`.
// What is plain text is refused, because a policy is shown to all members who see the sandbox.

import { SkerryError } from "@skerry/contract/errors";
import type { InjectRule } from "@skerry/contract/vms/inject";
import { FORMAT_PLACE } from "@skerry/contract/vms/inject-format";
import { SECRET_NAME_PATTERN } from "@skerry/contract/secrets/secret-bounds";

interface NetworkRule {
  readonly transform?: { readonly headers?: Readonly<Record<string, string>> };
}

export type NetworkRules = Readonly<Record<string, readonly NetworkRule[]>>;

const PLACE = /\{([^{}]*)\}/g;
const NAME = new RegExp(SECRET_NAME_PATTERN);

/** Throws `bad_request` where a text names no secret, or more than one. */
export function injectRulesOf(rules: NetworkRules = {}): InjectRule[] {
  return Object.entries(rules).flatMap(([host, list]) =>
    list.flatMap(({ transform: { headers = {} } = {} }) =>
      Object.entries(headers).map(([header, text]) => ({ host, header, ...readText(header, text) })),
    ),
  );
}

function readText(header: string, text: string): Pick<InjectRule, "secret" | "format"> {
  const [place, ...more] = [...text.matchAll(PLACE)];
  const [whole = "", secret = ""] = place ?? [];
  if (more.length === 0 && NAME.test(secret)) return { secret, format: text.replace(whole, FORMAT_PLACE) };
  throw new SkerryError(
    "bad_request",
    `The header "${header.slice(0, 100)}" of "rules" has to name one secret, such as "Bearer {API_KEY}": set its value with \`skerry secret set API_KEY\`.`,
  );
}

/** The rules that headers say. Those for some requests alone, or with another place, have no form there. */
export function networkRulesOf(inject: readonly InjectRule[] = []): { readonly rules?: NetworkRules } {
  const rules: Record<string, NetworkRule[]> = {};
  for (const { host, header, secret, format = FORMAT_PLACE, methods, paths } of inject)
    if (header !== undefined && methods === undefined && paths === undefined)
      (rules[host] ??= []).push({
        transform: { headers: { [header]: format.replace(FORMAT_PLACE, `{${secret}}`) } },
      });
  return Object.keys(rules).length === 0 ? {} : { rules };
}
