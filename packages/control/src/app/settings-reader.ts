// How settings are read: one by one, with what is wrong with each remembered, so that every fault is named and not only the first.

import { readReceiver } from "../apps/forward/log-receiver.ts";
import { readDomains } from "../vms/egress/egress-domains.ts";
import { isIP } from "node:net";
import type { RegistryMirror } from "@skerry/build-plan/scripts/registry-files";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings are wrong; `faults` says everything that is. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are wrong:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** Names below it have a label of 36 characters more, and a name has at most 253. */
const DOMAIN_MAX_CHARS = 200;
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const INTEGER = /^\d{1,9}$/;
const PORT_MAX = 65_535;

/** Reads settings one by one and remembers what is wrong with each. */
export class Reader {
  readonly #environment: Environment;
  readonly #faults: string[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  finish(): void {
    if (this.#faults.length > 0) throw new ConfigError(this.#faults);
  }

  /** The value is not repeated in a fault: it may hold a password. */
  databaseUrl(name: string): string {
    const value = this.#environment[name] ?? "";
    if (/^postgres(ql)?:\/\//.test(value)) return value;
    return this.#fault(
      name,
      "must be a PostgreSQL URL, for example postgresql://user@127.0.0.1/skerry",
      value,
    );
  }

  address(name: string, fallback: string): Address {
    const value = this.#environment[name] ?? fallback;
    const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(value) ?? [];
    const host = bracketed ?? plain;
    if (host !== undefined && Number(port) <= PORT_MAX) return { host, port: Number(port) };
    return this.#fault(name, "must be an address and a port, for example 127.0.0.1:7070 or [::1]:7070", {
      host: "",
      port: 0,
    });
  }

  optionalAddress(name: string): Address | undefined {
    return (this.#environment[name] ?? "") === "" ? undefined : this.address(name, "");
  }

  /** FIRST-LAST, at most so many. */
  optionalPorts(name: string, max: number): { readonly first: number; readonly last: number } | undefined {
    const value = this.#environment[name] ?? "";
    if (value === "") return undefined;
    const [first = 0, last = 0] = /^\d{1,5}-\d{1,5}$/.test(value) ? value.split("-").map(Number) : [];
    const isRange = first >= 1 && first <= last && last <= PORT_MAX && last - first < max;
    return isRange
      ? { first, last }
      : this.#fault(name, `must be at most ${max} ports, for example 7100-7199`, undefined);
  }

  /** Separated by commas. `*` is refused: a list of origins must name them. */
  origins(name: string): string[] {
    const origins = (this.#environment[name] ?? "").split(",").map((origin) => origin.trim());
    const named = origins.filter((origin) => origin !== "");
    if (named.every((origin) => /^https?:/.test(origin) && URL.parse(origin)?.origin === origin))
      return named;
    return this.#fault(name, "must be origins such as https://app.example.com, separated by commas", []);
  }

  domain(name: string): string {
    const value = this.#environment[name] ?? "";
    const isDomain = value.length <= DOMAIN_MAX_CHARS && DOMAIN.test(value);
    return isDomain ? value : this.#fault(name, "must be a domain such as sandboxes.example.net", value);
  }

  /** Each may begin with `*.`. */
  domains(name: string): readonly string[] {
    const texts = (this.#environment[name] ?? "").split(",").map((text) => text.trim());
    try {
      return readDomains(
        name,
        texts.filter((text) => text !== ""),
      );
    } catch {
      return this.#fault(
        name,
        "must be domains with commas between, for example *.example.com,example.net",
        [],
      );
    }
  }

  /** For what several settings together are wrong about. */
  fault(name: string, message: string): void {
    this.#fault(name, message, undefined);
  }

  /** Without what stands behind its path, and without a slash at its end. The value is not repeated in a fault: it may hold a password. */
  httpUrl(name: string): string {
    const url = URL.parse(this.#environment[name] ?? "");
    const isPlain = url !== null && url.username === "" && url.search === "" && url.hash === "";
    if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, "");
    return this.#fault(
      name,
      "must be a URL without a name, a query and a fragment, for example https://s3.example.com/bucket/skerry",
      "",
    );
  }

  /** Undefined: none is set. */
  logReceiver(name: string): string | undefined {
    const value = this.#environment[name] ?? "";
    if (value === "") return undefined;
    const receiver = readReceiver(value);
    return typeof receiver === "string" ? this.#fault(name, receiver, undefined) : value;
  }

  path(name: string, fallback: string): string {
    const value = this.#environment[name] ?? fallback;
    return value.startsWith("/") ? value : this.#fault(name, "must be an absolute path", value);
  }

  optionalPath(name: string): string | undefined {
    return (this.#environment[name] ?? "") === "" ? undefined : this.path(name, "");
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = this.#environment[name] ?? fallback;
    const found = allowed.find((candidate) => candidate === value);
    return found ?? this.#fault(name, `must be one of ${allowed.join(", ")}`, fallback);
  }

  positive(name: string, fallback: number | undefined): number {
    const text = this.#environment[name];
    if (text === undefined && fallback !== undefined) return fallback;
    const value = INTEGER.test(text ?? "") ? Number(text) : 0;
    return value > 0 ? value : this.#fault(name, "must be a whole number greater than zero", 0);
  }

  atLeast(name: string, fallback: number, minimum: number): number {
    const value = this.positive(name, fallback);
    // Not a number at all is a fault already.
    return value === 0 || value >= minimum
      ? value
      : this.#fault(name, `must be at least ${minimum}`, fallback);
  }

  /** A quota may be nothing at all. */
  limit(name: string, fallback: number): number {
    const text = this.#environment[name];
    if (text === undefined) return fallback;
    return INTEGER.test(text) ? Number(text) : this.#fault(name, "must be a whole number", 0);
  }

  upTo(name: string, fallback: number, maximum: number): number {
    const value = this.limit(name, fallback);
    return value <= maximum ? value : this.#fault(name, `must be at most ${maximum}`, fallback);
  }

  networks(name: string): readonly string[] {
    const texts = (this.#environment[name] ?? "").split(",").map((text) => text.trim());
    const networks = texts.filter((text) => text !== "");
    if (networks.every(isNetwork)) return networks;
    return this.#fault(
      name,
      "must be addresses or networks with commas between, for example 10.0.0.0/8,::1",
      [],
    );
  }

  /** `docker.io=mirror.example:5000/hub`, with commas between; `http://` before a mirror: it is asked without TLS. */
  mirrors(name: string): readonly RegistryMirror[] {
    const texts = (this.#environment[name] ?? "").split(",").map((text) => text.trim());
    const mirrors = texts.filter((text) => text !== "").map(readMirror);
    if (mirrors.every((mirror) => mirror !== undefined)) return mirrors;
    return this.#fault(name, "must be pairs such as docker.io=mirror.example:5000, with commas between", []);
  }

  #fault<T>(name: string, message: string, placeholder: T): T {
    this.#faults.push(`${name} ${message}`);
    return placeholder;
  }
}

const MIRROR =
  /^([a-z0-9][a-z0-9.-]*(?::\d{1,5})?)=(http:\/\/|https:\/\/)?([a-z0-9][a-z0-9.-]*(?::\d{1,5})?(?:\/[a-z0-9._-]+)*)$/;

function readMirror(text: string): RegistryMirror | undefined {
  const [, registry, scheme, mirror] = MIRROR.exec(text) ?? [];
  if (registry === undefined || mirror === undefined) return undefined;
  return { registry, mirror, plain: scheme === "http://" };
}

function isNetwork(text: string): boolean {
  const [address = "", prefix = "0", ...rest] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}
