// docs/supported.md as text.

import {
  accelerators,
  cellVerdict,
  qemuBranches,
  systems,
  type SystemTrial,
} from "../packages/contract/src/platform/supported-systems.ts";
import { markdownTable } from "./markdown-table.ts";

const titles = { tcg: "Without KVM (emulated)", kvm: "With KVM" } as const;

/** The branch of QEMU in the packages of each system. */
const packaged: Readonly<Record<(typeof systems)[number], (typeof qemuBranches)[number]>> = {
  "Debian 12": "7.2",
  "Debian 13": "10.0",
  "Ubuntu 22.04": "6.2",
  "Ubuntu 24.04": "8.2",
};

const trialTitles: Readonly<Record<SystemTrial["trial"], string>> = {
  "first-sandbox": "first sandbox",
  "end-to-end": "end-to-end tests",
  kvm: "KVM tests",
};

export function supportedPage(trials: readonly SystemTrial[]): string {
  return `# Where it runs

What was tried, on which system, and what came of it. Nothing here is a promise about a cell that says _not tried_. This page is written by
\`node setup/write-supported.ts\` from recorded trials; \`skerry doctor\` says for a machine what is known of its cell.

- **run here**: both trials below passed, the end-to-end tests as a whole
- **run in parts**: some of it passed; the list of trials says what
- **not tried**: nothing passed, or nobody has tried. It may work; \`npm test\` tells

${accelerators.map((accelerator) => `## ${titles[accelerator]}\n\n${matrix(trials, accelerator)}`).join("\n\n")}

_Italic_: this system's own packages do not have this QEMU. That of Debian 12 with QEMU 10.0 is from bookworm-backports.

## The trials

- **First sandbox**: \`npm run quickstart\`, which installs what is missing and builds the native pieces with the system's compiler, and \`skerry up\`; a
  sandbox, a file, a program, its result; \`skerry down\`. A new root begins with little more than npm
- **End-to-end tests**: the test project \`end-to-end\`, with the large matrices sampled as in \`npm test\`
- **KVM tests**: the test project \`kvm\`, with a guest kernel made for a KVM that has no VT-x and no SVM

A Debian runs in a root of its own as in a container: its own QEMU, firmware, C library, compiler, npm and PostgreSQL, on the kernel of the machine
where it was tried. Ubuntu's packages, and with them QEMU 6.2 and 8.2, were out of reach.

${trials.length === 0 ? "None yet." : trialTable(trials)}

## What only hardware with VT-x or SVM can show

${onHardware.map((line) => `- ${line}`).join("\n")}

## Trying a cell

\`\`\`sh
npm run try-system -- trixie first-sandbox --record
npm run try-system -- trixie end-to-end --record
npm run try-system -- bookworm end-to-end --qemu-from bookworm-backports --record
npm run try-system -- here end-to-end --record        # this machine as it is
\`\`\`

As root. The roots of Debian are made with mmdebstrap from the sources that apt has on this machine, which must be a Debian's; \`here\` needs Debian or
Ubuntu. \`--record\` writes what came of it into \`packages/contract/src/platform/system-trials.json\` and renews this page.
`;
}

const onHardware = [
  "an unchanged Linux booting under KVM, and how long boot, freeze and clone take on it; everything timed",
  "the CPU that `-cpu host` gives to a guest on a given model, and a template that meets another CPU after a machine's restart",
  "what the kernel says where `vmx`, `svm` and `pmu` are off in guests, and nested virtualization below a cloud's hypervisor",
  "AVX state over task switches and over freeze, clone and move",
  "kvm-clock and TSC after a rest, a restore, and a suspended host; the TSC-deadline timer",
  "live moves of busy guests with gigabytes of memory, and between hosts whose kernels or CPUs differ",
  "vCPUs of different guests on the threads of one core, and core scheduling",
  "page tables of a large guest (EPT, NPT) within its memory limit",
] as const;

function matrix(trials: readonly SystemTrial[], accelerator: SystemTrial["accelerator"]): string {
  const rows = systems.map((system) => [
    system,
    ...qemuBranches.map((qemu) => {
      const verdict = cellVerdict({ system, qemu, accelerator }, trials);
      const text = verdict === "not tried" ? verdict : `**${verdict}**`;
      return packaged[system] === qemu ? text : `_${verdict}_`;
    }),
  ]);
  return markdownTable(["", ...qemuBranches.map((branch) => `QEMU ${branch}`)], rows);
}

function trialTable(trials: readonly SystemTrial[]): string {
  const rows = trials.map((one) => [
    one.system,
    one.qemu.replace(/^(\S+) \(Debian 1:(\S+)\)$/, "$2"),
    one.accelerator,
    `${trialTitles[one.trial]}${one.only.length === 0 ? "" : ` (${one.only.join(", ")})`}`,
    `${one.passed ? "" : "**failed**: "}${one.result}${one.note === undefined ? "" : ` (${one.note})`}`,
    `${one.date}, ${one.commit}`,
    Object.entries(one.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", "),
  ]);
  return markdownTable(["system", "QEMU", "guests on", "trial", "result", "when, commit", "with"], rows);
}
