// The script behind `curl -fsSL …/install.sh | sh`, which is built with the clients (setup/clients/install.sh), with what this server knows.

export interface Installable {
  /** Of this server, as the client reaches it. */
  readonly address: string;
  readonly version: string;
  /** Of `/cli`, as hexadecimal digits. */
  readonly sha256: string;
}

export function installScript(template: string, { address, version, sha256 }: Installable): string {
  const values: Readonly<Record<string, string>> = { ADDRESS: address, VERSION: version, SHA256: sha256 };
  // In one pass, so that no value is looked through for another one's place.
  return template.replaceAll(/@([A-Z0-9]+)@/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`nothing is known for ${place}`);
    return quoted(value);
  });
}

/** One word for a shell, also with quotes and line breaks in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
