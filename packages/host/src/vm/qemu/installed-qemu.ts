// The QEMU that is installed on this machine. Distributions upgrade it at night, under a host that runs; what starts after that is another
// build, for which no template is frozen yet.

import { stat } from "node:fs/promises";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { runProgram } from "../../system/run.ts";
import { tscKhz } from "./accelerator.ts";
import { guestCpu, type GuestCpu } from "./guest-cpu.ts";
import type { Accelerator } from "./qemu-arguments.ts";
import { editionOf } from "./smaller-qemu.ts";

/** What state that a QEMU has saved depends on. */
export interface QemuBuild {
  /** `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`. */
  readonly version: string;
  readonly accelerator: Accelerator;
  readonly cpu: GuestCpu;
  /** The rate that an emulated guest is told; undefined where it uses the TSC of the hardware. */
  readonly tscKhz: number | undefined;
}

/** How the questions are put to the program; tests answer themselves. */
export interface QemuQuestions {
  readonly version: (path: string) => Promise<string>;
  readonly cpu: (path: string, accelerator: Accelerator) => Promise<GuestCpu>;
  readonly tscKhz: (accelerator: Accelerator) => Promise<number | undefined>;
}

const VERSION_DEADLINE_MS = 10_000;

export class InstalledQemu {
  readonly path: string;
  readonly #accelerator: Accelerator;
  readonly #questions: QemuQuestions;
  #asked: { readonly file: string; readonly build: Promise<QemuBuild> } | undefined;

  private constructor(path: string, accelerator: Accelerator, questions: QemuQuestions) {
    this.path = path;
    this.#accelerator = accelerator;
    this.#questions = questions;
  }

  static async open(
    path: string,
    accelerator: Accelerator,
    questions: QemuQuestions = { version: qemuVersion, cpu: guestCpu, tscKhz: tscKhzFor },
  ): Promise<InstalledQemu> {
    const installed = new InstalledQemu(path, accelerator, questions);
    await installed.current();
    return installed;
  }

  /** The build that would be started now: one `stat`, and questions where the file is another than the last time. Rejects while it is
   *  missing or does not answer, as in the middle of an upgrade; the next call asks again. */
  async current(): Promise<QemuBuild> {
    const { dev, ino, mtimeNs, size } = await stat(this.path, { bigint: true });
    const file = [dev, ino, mtimeNs, size].join(" ");
    if (this.#asked?.file === file) return this.#asked.build;
    const asked = { file, build: this.#ask() };
    this.#asked = asked;
    asked.build.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return asked.build;
  }

  async #ask(): Promise<QemuBuild> {
    const { path } = this;
    const accelerator = this.#accelerator;
    const { version, cpu, tscKhz } = this.#questions;
    return {
      accelerator,
      version: await version(path),
      cpu: await cpu(path, accelerator),
      tscKhz: await tscKhz(accelerator),
    };
  }
}

/** What a guest depends on that this build runs. */
export function compatibilityOf({ accelerator, version, cpu, tscKhz }: QemuBuild): HostCompatibility {
  return { accelerator, qemu_version: version, cpu: cpu.model, tsc_khz: tscKhz ?? null };
}

async function tscKhzFor(accelerator: Accelerator): Promise<number | undefined> {
  return accelerator === "tcg" ? tscKhz() : undefined;
}

/** With the edition, where it is the smaller one. */
export async function qemuVersion(path: string): Promise<string> {
  const printed = await runProgram(path, ["--version"], { deadlineMs: VERSION_DEADLINE_MS });
  return `${versionOf(printed)}${editionOf(path)}`;
}

/** `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)` of what `--version` prints. */
export function versionOf(output: string): string {
  return /version (.+)/.exec(output)?.[1]?.trim() ?? output.trim();
}
