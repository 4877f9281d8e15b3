// What every part of an examination works with.

import type { Finding } from "@skerry/contract/hosts/finding";
import type { Size } from "@skerry/contract/sizes";
import type { Host } from "../app/host.ts";
import type { ReadyTemplate } from "../templates/library.ts";
import { failed, type Judged } from "./judge.ts";
import type { Rounds } from "./rounds.ts";

export interface Trial {
  readonly host: Host;
  readonly rounds: Rounds;
  readonly isEmulated: boolean;
  readonly size: Size;
  /** Frozen for the size. */
  readonly ready: ReadyTemplate;
  /** Passes a finding on as soon as it is there. */
  readonly tell: (finding: Finding) => void;
}

/** Runs one check. One that breaks off is a fault of its own, and the others go on. */
export async function check(
  { tell }: Pick<Trial, "tell">,
  [section, name]: readonly [section: string, name: string],
  look: () => Promise<Judged>,
): Promise<void> {
  const judged = await look().catch((error: unknown) =>
    failed(
      error instanceof Error ? error.message : String(error),
      "VMs of this machine may fail in the same way: see host.log, and report it with this file.",
    ),
  );
  tell({ section, check: name, ...judged });
}
