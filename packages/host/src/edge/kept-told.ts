// All that the proxy was told, kept beside its files: a process that begins goes on with the proxy that runs,
// whose connections would otherwise be left to one that ends.

import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Told } from "./proxy-commands.ts";
import { replaceFile } from "./proxy-files.ts";

/** Raised with each change of what is kept. */
const FORMAT = 1;

/** Configuration of the proxy without addresses of instances, as this version writes it. */
type ConfigOf = (told: Pick<Told, "seating" | "door" | "tcp">) => string;

export class KeptTold {
  readonly #path: string;
  readonly #configOf: ConfigOf;

  constructor(folder: string, config: ConfigOf) {
    this.#path = join(folder, "told.json");
    this.#configOf = config;
  }

  async keep(told: Told): Promise<void> {
    const { routes, doors, ports, ...rest } = told;
    const maps = { routes: [...routes], doors: [...doors], ports: [...ports] };
    const kept = { format: FORMAT, digest: this.#digest(told), told: { ...rest, ...maps } };
    await replaceFile(this.#path, JSON.stringify(kept));
  }

  /**
   * Before the proxy is told something else: it is not known how much of that it has, should this process
   * end.
   */
  async forget(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  /**
   * Undefined: nothing is known of the proxy, or this version would have it run with another configuration.
   */
  async read(): Promise<Told | undefined> {
    const text = await readFile(this.#path, "utf8").catch(() => "{}");
    try {
      const { format, digest, told } = JSON.parse(text) as Stored;
      if (format !== FORMAT || told === undefined || digest !== this.#digest(told)) return undefined;
      const [routes, doors, ports] = [new Map(told.routes), new Map(told.doors), new Map(told.ports)];
      return { ...told, routes, doors, ports };
    } catch {
      return undefined;
    }
  }

  #digest(told: Pick<Told, "seating" | "door" | "tcp">): string {
    return createHash("sha256").update(this.#configOf(told)).digest("hex");
  }
}

type Pairs = readonly (readonly [string, string])[];

interface Stored {
  readonly format?: number;
  readonly digest?: string;
  readonly told?: Omit<Told, "routes" | "doors" | "ports"> &
    Readonly<Record<"routes" | "doors" | "ports", Pairs>>;
}
