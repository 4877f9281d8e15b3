// Tries on this machine what the host does with guests, on a host of its own that ends with it, and says what it found, check by check. It
// is what `skerry doctor --thorough` starts.

import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Finding } from "@skerry/contract/hosts/finding";
import { figureOf } from "@skerry/contract/hosts/finding";
import type { Logger } from "pino";
import type { HostConfig } from "../config/config.ts";
import { openHost, type StepReport } from "../app/host.ts";
import { removeHostNetwork } from "../network/host-network.ts";
import { bootChecks } from "./boot-checks.ts";
import { clockChecks } from "./clock-checks.ts";
import { cloneChecks } from "./clone-checks.ts";
import { found, judge } from "./judge.ts";
import { restoreChecks } from "./restore-checks.ts";
import type { Rounds } from "./rounds.ts";
import { check, type Trial } from "./trial.ts";
import { defaultSize } from "./trial-clone.ts";

const FREEZE_MOST_MS = 15_000;

export interface Examination {
  readonly rounds: Rounds;
  /** Frozen templates of the installation on this machine. */
  readonly keptFolder: string;
  readonly step: StepReport;
  readonly tell: (finding: Finding) => void;
  /** What is no finding but a property of the machine. */
  readonly tellFacts: (facts: Readonly<Record<string, string>>) => void;
}

export async function examine(
  config: HostConfig,
  log: Logger,
  { rounds, keptFolder, step, tell, tellFacts }: Examination,
): Promise<void> {
  const host = await openHost(config, log, step);
  try {
    const info = await host.info();
    const { accelerator, cpu, kernel_version: guestKernel, resource_limits: limits } = info;
    const isEmulated = accelerator === "tcg";
    tellAccelerator(info, tell);
    tellFacts({
      accelerator,
      "CPU of guests": cpu ?? "unknown",
      "kernel of guests": guestKernel,
      "limits of VMs": limits,
    });
    await step("Root disks", () => host.library.requireImages());
    const [template] = host.library.list();
    if (template === undefined) throw new Error("there is no template");
    const size = defaultSize();
    const startedMs = performance.now();
    const ready = await step("Template frozen", () => host.library.frozen(template.name, size));
    const frozenMs = performance.now() - startedMs;
    const trial: Trial = { host, rounds, isEmulated, size, ready, tell };
    await check(trial, ["clones", "template frozen"], () =>
      Promise.resolve(
        judge(
          [figureOf(`${template.name} booted, warmed up and frozen`, "ms", [frozenMs])],
          {
            ...{ most: FREEZE_MOST_MS, of: "worst", isSpeed: true },
            remedy: "Look for a busy machine or a slow disk under the state folder.",
          },
          { isEmulated },
        ),
      ),
    );
    await step("Firmware and kernel", () => bootChecks(trial));
    await step("Clones, their memory, rest and clocks", () =>
      cloneChecks(trial, (clones) => clockChecks(trial, clones)),
    );
    await step("Templates that are kept", () => restoreChecks(trial, keptFolder));
  } finally {
    host.engine.close();
    await host.slots.drain();
    await host.resources.cgroups.close();
    await removeHostNetwork(config.network);
  }
}

function tellAccelerator(
  { accelerator, accelerator_reason: reason }: HostInfo,
  tell: Examination["tell"],
): void {
  const section = { section: "boot", check: "probe" };
  if (accelerator === "kvm") tell({ ...section, ...found(reason) });
  else
    tell({
      ...section,
      ...{ verdict: "warning", found: reason, figures: [] },
      remedy:
        "Use a machine with hardware virtualization (or nested virtualization); emulation is slow and no security boundary.",
    });
}
