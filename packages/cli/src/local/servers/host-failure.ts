// What a step of the host program failed with, in words for the one who waits for it.

import { CliError } from "../../errors/errors.ts";

export interface HostFailure {
  /** Of the host program. */
  readonly command: "prepare" | "clear";
  /** Title and error of the step that failed; undefined where none had begun. */
  readonly step?: { readonly title: string; readonly message: string } | undefined;
  readonly stderr: string;
}

/** What apt says where an archive cannot be reached or breaks off. */
const FETCH_FAULT =
  /^(Err:\d+|E: (Failed to fetch|Unable to fetch|Unable to connect|Could not connect|The repository)|W: Failed to fetch)|Could not resolve|Temporary failure resolving|Connection (failed|timed out|refused|reset)|Could not handshake|Certificate verification failed|Hash Sum mismatch|Clearsigned file isn't valid/im;
const SHOWN_LINES = 8;

export function hostFailure({ command, step, stderr }: HostFailure): CliError {
  const { message = "", title = "" } = step ?? {};
  const isPackages = message.startsWith("mmdebstrap");
  if (isPackages && FETCH_FAULT.test(message))
    return new CliError(
      "mirror_failed",
      `${title}: Debian's package archive does not answer, or broke off.`,
      {
        remediation:
          "Run the same command again: what is done stays done. If it fails again, see whether this machine reaches the archive (deb.debian.org, or the one that SKERRY_DEBIAN_MIRROR names). The end of what apt said:",
        lines: lastLines(message),
      },
    );
  if (isPackages)
    return new CliError("image_failed", `${title}: mmdebstrap could not build it from Debian's packages.`, {
      remediation:
        "See that there is room on the disk (`df -h`), and run the same command again; `skerry doctor` checks what a host needs. The end of what mmdebstrap said:",
      lines: lastLines(message),
    });
  return new CliError(`${command}_failed`, `The host program failed to ${command}. It says:`, {
    lines: [...stderr.trim().split("\n"), "`skerry doctor` checks what a host needs."],
  });
}

function lastLines(message: string): readonly string[] {
  const lines = message.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-SHOWN_LINES);
}
