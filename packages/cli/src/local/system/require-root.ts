import { CliError } from "../../errors/errors.ts";

export function requireRoot(command: string): void {
  if (process.getuid?.() === 0) return;
  throw new CliError("not_root", `\`skerry ${command}\` needs root.`, {
    remediation: `Run it as root, or with sudo.`,
  });
}
