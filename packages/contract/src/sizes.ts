// VM presets. A size is part of a template's frozen state, so the list is closed.

export interface Size {
  readonly name: string;
  readonly vcpus: number;
  readonly memory_mib: number;
  /** `shared`: competes for the host's CPUs by weight. `performance`: gets its CPUs' whole time. */
  readonly cpu: "shared" | "performance";
}

/** What the compiler can tell of a size's name. A newer server may have larger ones. */
export type SizeName = `shared-cpu-${bigint}x` | `performance-${bigint}x`;

function size(cpu: Size["cpu"], vcpus: number, mibPerCpu: number): Size {
  const prefix = cpu === "shared" ? "shared-cpu" : "performance";
  return { name: `${prefix}-${vcpus}x`, vcpus, memory_mib: vcpus * mibPerCpu, cpu };
}

export const sizes: readonly Size[] = [
  ...[1, 2, 4, 8].map((vcpus) => size("shared", vcpus, 256)),
  ...[1, 2, 4, 8, 16].map((vcpus) => size("performance", vcpus, 2048)),
];

export const DEFAULT_SIZE = "shared-cpu-1x";

export function findSize(name: string): Size | undefined {
  return sizes.find((candidate) => candidate.name === name);
}
