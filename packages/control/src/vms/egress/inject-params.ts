// Rules of a policy for secrets that requests get on their way out.

import { SkerryError } from "@skerry/contract/errors";
import type { EgressRequest } from "@skerry/contract/vms/egress";
import type { InjectRule } from "@skerry/contract/vms/inject";
import { FORMAT_PLACE } from "@skerry/contract/vms/inject-format";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { ofOrganization, requireSecrets, requireToRead } from "../../secrets/secrets.ts";
import { readDomains } from "./egress-domains.ts";

interface Names {
  readonly mode: "allow_all" | "deny_all";
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

/** Headers that say where a request goes, how long it is, or what becomes of its connection. */
const NOT_INJECTED = new Set(
  "host connection content-length transfer-encoding te trailer upgrade keep-alive expect http2-settings accept-encoding proxy-connection".split(
    " ",
  ),
);

/**
 * `field` names a field of the policy as the request has it. Throws `bad_request`, `invalid_domain` or
 * `egress_conflict`.
 */
export function readInject(
  field: (name: string) => string,
  rules: readonly InjectRule[] = [],
  names: Names,
): InjectRule[] {
  return rules.map((rule, index) => {
    const at = `${field("inject")}[${index}]`;
    const [host = ""] = readDomains(`${at}.host`, [rule.host]);
    checkPlace(at, rule);
    if (!isAllowed(host, names))
      throw new SkerryError("egress_conflict", `The policy does not allow "${host}" of "${at}".`, {
        remediation: `Add it to "${field("allow_domains")}", or leave the rule out.`,
        context: { field: `${at}.host`, value: host },
      });
    return { ...rule, host };
  });
}

function checkPlace(at: string, { header, format, query, basic_user }: InjectRule): void {
  const places = [header, query, basic_user].filter((place) => place !== undefined);
  const fault =
    places.length !== 1
      ? 'has to have one of "header", "query" and "basic_user"'
      : format !== undefined && header === undefined
        ? 'has a "format", which is for "header" alone'
        : header !== undefined && NOT_INJECTED.has(header.toLowerCase())
          ? `cannot set the header "${header}"`
          : format !== undefined &&
              (format.split(FORMAT_PLACE).length !== 2 || !/^[\t\x20-\x7e]*$/.test(format))
            ? 'has a "format" without one `{}`, or with characters that a header cannot have'
            : undefined;
  if (fault !== undefined)
    throw new SkerryError("bad_request", `"${at}" ${fault}.`, {
      remediation:
        'Write {"host": "api.example.com", "secret": "API_KEY", "header": "Authorization", "format": "Bearer {}"}.',
      context: { field: at },
    });
}

function isAllowed(host: string, { mode, allowed, denied }: Names): boolean {
  const isIn = (domains: readonly string[]): boolean => domains.some((domain) => covers(domain, host));
  return !isIn(denied) && (mode === "allow_all" || isIn(allowed));
}

/** Whether a domain of a policy names all that the other one does. */
function covers(domain: string, host: string): boolean {
  return domain === host || (domain.startsWith("*.") && host.replace(/^\*/, "").endsWith(domain.slice(1)));
}

/** A rule sends a secret to the server that it names. Throws `forbidden` or `secret_not_found`. */
export async function checkInjected(
  context: Context,
  caller: Caller,
  { inject = [] }: Pick<EgressRequest, "inject"> = {},
): Promise<void> {
  if (inject.length === 0) return;
  requireToRead(caller);
  await requireSecrets(
    context,
    [ofOrganization(caller)],
    inject.map(({ secret }) => secret),
  );
}

/** Throws `bad_request`: the microVM of a build has no identity that a rule could be for. */
export function refuseInject({ inject = [] }: Pick<EgressRequest, "inject"> = {}): void {
  if (inject.length === 0) return;
  throw new SkerryError("bad_request", "The egress policy of a build injects no secrets.", {
    remediation: "Give the build its `secrets`, which its steps read as files.",
    context: { field: "egress.inject" },
  });
}
