// Rules of a guest for secrets that its requests get on their way, and their values. Pure but for
// certificates.

import type { InjectRule } from "@skerry/contract/vms/inject";
import { FORMAT_PLACE } from "@skerry/contract/vms/inject-format";
import type { NamePolicy } from "../network/name-proxy-protocol.ts";
import { Domains } from "./domains.ts";
import { VmAuthority } from "./vm-authority.ts";

export interface Asked {
  readonly name: string;
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  /** Names and values by turns. */
  readonly fields: readonly string[];
}

export type Injected =
  | {
      readonly path: string;
      readonly fields: string[];
      readonly secrets: readonly string[];
    }
  /** Nothing may be sent. */
  | { readonly missing: string };

interface Rule extends InjectRule {
  readonly hosts: Domains;
}

/** Characters of a header's value (RFC 9110 section 5.5), less those of other encodings. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** Segments that a server may read as another path than the one that a rule names. */
const AMBIGUOUS_PATH = /\/\.{1,2}(?![a-z0-9_-])|\/\/|[\\#]|[^\x21-\x7e]|%(?:2e|2f|5c|23|25|3b|[01c-f]|u)/i;
/** Headers by which servers take a request for one of another method. */
const METHOD_OVERRIDES = ["x-http-method-override", "x-http-method", "x-method-override"];
/**
 * An answer in pieces that the guest chooses would show a value piece by piece, and one that is encoded
 * cannot be searched.
 */
const UNSEARCHABLE = ["range", "if-range", "accept-encoding"];
/** Former values of a secret that answers may still repeat. */
const FORMER_MAX = 8;

export class Injecting {
  readonly authority: VmAuthority | undefined;
  readonly #rules: readonly Rule[];
  readonly #values: ReadonlyMap<string, string>;
  /** Former values by secret, newest last. */
  readonly #former: ReadonlyMap<string, readonly string[]>;

  constructor({ inject, injection }: Pick<NamePolicy, "inject" | "injection">, before?: Injecting) {
    this.#rules = inject.map((rule) => ({ ...rule, hosts: new Domains([rule.host]) }));
    const known = before?.authority;
    // A host that was started again and has lost them leaves those of before.
    const values = new Map(Object.entries(injection?.values ?? {}));
    this.#values = injection === undefined && before !== undefined ? before.#values : values;
    this.#former = before === undefined ? new Map() : formerOf(before.#former, before.#values, this.#values);
    this.authority =
      injection === undefined || injection.seed === known?.seed ? known : new VmAuthority(injection);
  }

  /** Whether requests to this name may get a secret. */
  concerns(name: string): boolean {
    return this.#rules.some(({ hosts }) => hosts.has(name));
  }

  /** Texts that no answer of this name may show: values of all its rules, whichever request has got them. */
  hiddenFrom(name: string): string[] {
    return this.#rules.flatMap(({ hosts, secret, basic_user: user }) => {
      if (!hosts.has(name)) return [];
      const value = this.#values.get(secret);
      const values = [...(this.#former.get(secret) ?? []), ...(value === undefined ? [] : [value])];
      return user === undefined
        ? values
        : values.flatMap((one) => [one, basic(user, one).slice(BASIC.length)]);
    });
  }

  /**
   * The request with its secrets; the guest's own values in their places are gone. `asked` is for a name that
   * has rules.
   */
  apply(asked: Asked): Injected {
    const rules = this.#rules.filter((rule) => isFor(rule, asked));
    let { path } = asked;
    let fields = UNSEARCHABLE.reduce<string[]>(without, [...asked.fields]);
    fields.push("Accept-Encoding", "identity");
    if (rules.some(({ methods }) => methods !== undefined)) fields = METHOD_OVERRIDES.reduce(without, fields);
    for (const { secret, header, format = FORMAT_PLACE, query, basic_user: user } of rules) {
      const value = this.#values.get(secret);
      if (value === undefined) return { missing: secret };
      if (query !== undefined) path = withParameter(path, query, value);
      else {
        const sent = user === undefined ? format.replace(FORMAT_PLACE, () => value) : basic(user, value);
        if (!HEADER_VALUE.test(sent)) return { missing: secret };
        const name = header ?? "Authorization";
        fields = [...without(fields, name), name, sent];
      }
    }
    return { path, fields, secrets: rules.map(({ secret }) => secret) };
  }
}

function isFor({ hosts, methods, paths }: Rule, { name, method, path }: Asked): boolean {
  if (!hosts.has(name) || methods?.includes(method) === false) return false;
  if (paths === undefined) return true;
  const [plain = ""] = path.split("?");
  if (AMBIGUOUS_PATH.test(plain)) return false;
  return paths.some((one) => (one.endsWith("*") ? plain.startsWith(one.slice(0, -1)) : plain === one));
}

/** Values that were replaced are former ones; the oldest are forgotten. */
function formerOf(
  former: ReadonlyMap<string, readonly string[]>,
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly string[]> {
  const next = new Map(former);
  for (const [name, value] of before) {
    if (now.get(name) === value) continue;
    const others = (former.get(name) ?? []).filter((one) => one !== value);
    next.set(name, [...others, value].slice(-FORMER_MAX));
  }
  return next;
}

const BASIC = "Basic ";

function basic(user: string, value: string): string {
  return `${BASIC}${Buffer.from(`${user}:${value}`).toString("base64")}`;
}

/** Parameters of this name that the guest sends are removed. */
function withParameter(path: string, name: string, value: string): string {
  const [plain = "", ...rest] = path.split("#")[0]?.split("?") ?? [];
  const others = rest
    .join("?")
    .split("&")
    .filter((one) => one !== "" && decoded(one.split("=")[0] ?? "") !== name);
  return `${plain}?${[...others, `${name}=${encodeURIComponent(value)}`].join("&")}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

export function without(fields: readonly string[], name: string): string[] {
  const wanted = name.toLowerCase();
  return fields.filter((_, index) => fields[index - (index % 2)]?.toLowerCase() !== wanted);
}
