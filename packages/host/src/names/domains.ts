// Lists of domains that names are looked up in.

/** Canonical domains; a `*.` before one is every name below it. */
export class Domains {
  readonly #domains: ReadonlySet<string>;

  constructor(domains: readonly string[]) {
    this.#domains = new Set(domains);
  }

  /** `name` is canonical. */
  has(name: string): boolean {
    if (this.#domains.has(name)) return true;
    for (let dot = name.indexOf("."); dot !== -1; dot = name.indexOf(".", dot + 1))
      if (this.#domains.has(`*${name.slice(dot)}`)) return true;
    return false;
  }
}
