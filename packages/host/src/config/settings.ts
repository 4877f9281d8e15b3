// Settings of the environment, read one by one, with their faults.

import { isAbsolute } from "node:path";

/** An address and a port to listen on. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export class ConfigFault extends Error {
  override readonly name = "ConfigFault";
}

const ENDPOINT = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/;
export const PORT_MAX = 65_535;

/** The environment, and the faults that were found in it. */
export class Settings {
  readonly #env: NodeJS.ProcessEnv;
  readonly #faults: string[] = [];

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  fault(message: string): void {
    this.#faults.push(message);
  }

  check(): void {
    if (this.#faults.length > 0) throw new ConfigFault(this.#faults.join("\n"));
  }

  /** An empty setting counts as absent. */
  text(name: string): string | undefined {
    const value = this.#env[name];
    return value === "" ? undefined : value;
  }

  /** Words between commas. */
  list(name: string): string[] {
    const words = (this.text(name) ?? "").split(",").map((word) => word.trim());
    return words.filter((word) => word !== "");
  }

  path(name: string): string {
    const value = this.text(name) ?? "";
    if (!isAbsolute(value)) this.fault(`${name} must be an absolute path, not "${value}"`);
    return value;
  }

  optionalPath(name: string): string | undefined {
    return this.text(name) === undefined ? undefined : this.path(name);
  }

  endpoint(name: string): Endpoint | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const [, bracketed, plain, port] = ENDPOINT.exec(value) ?? [];
    const host = bracketed ?? plain;
    if (host !== undefined && Number(port) <= PORT_MAX) return { host, port: Number(port) };
    this.fault(`${name} must be an address and a port, for example 0.0.0.0:7071, not "${value}"`);
    return undefined;
  }

  optionalNumber(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,10}$/.test(value)) this.fault(`${name} must be a whole number, not "${value}"`);
    return Number(value);
  }

  number(name: string, fallback: number, [least, most]: readonly [number, number]): number {
    const value = this.optionalNumber(name) ?? fallback;
    if (value < least || value > most) this.fault(`${name} must be between ${least} and ${most}`);
    return value;
  }
}
