// Settings in a file, in the format of systemd's EnvironmentFile=.

import { CliError } from "../../errors/errors.ts";

const LINE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/;

export function writeSettings(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => {
    if (/[\n\r\0]/.test(value)) throw new CliError("bad_setting", `${name} must be one line.`);
    return `${name}="${value.replaceAll(/[\\"`$]/g, "\\$&")}"`;
  });
  return `# Settings of Skerry's service: see docs/operate.md. They count when the units are restarted.\n${lines.map((line) => `${line}\n`).join("")}`;
}

/** What systemd would read, as far as one line each goes. */
export function readSettings(text: string): Record<string, string> {
  const found = text.split("\n").flatMap((line) => {
    const [, name, value] = LINE.exec(line.trim()) ?? [];
    return name === undefined || value === undefined ? [] : [[name, unquoted(value)] as const];
  });
  return Object.fromEntries(found);
}

function unquoted(value: string): string {
  const [, single] = /^'([^']*)'$/.exec(value) ?? [];
  if (single !== undefined) return single;
  const [, double] = /^"(.*)"$/.exec(value) ?? [];
  return (double ?? value).replaceAll(/\\(.)/g, "$1");
}
