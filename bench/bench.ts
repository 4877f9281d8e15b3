// What measures are taken with: the platforms, the bare script and podman, each made when first asked for, and all of them ended
// together.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { startPlatform, type Platform } from "../tests/support/platform.ts";
import { Floor } from "./floor.ts";
import { Podman } from "./podman.ts";
import { poolAtRest, WARM_MIN } from "./pool.ts";
import type { Series } from "./series.ts";
import type { Scale } from "./scale.ts";

export const root = join(import.meta.dirname, "..");
export const cache = join(root, ".cache");
export const assets = join(cache, "assets");

const UNLIMITED = "100000000";

/** What differs from a platform as `skerry up` starts it: guests share pages and CPUs, so 200 small ones fit this machine. */
export const settings = {
  SKERRY_VM_MEMORY_MIB: "65536",
  SKERRY_VCPUS_PER_CPU: "128",
  SKERRY_WARM_MIN: String(WARM_MIN),
} as const;

/** One client measures, whom no limit per token or organization may stop. They are checked all the same. */
const lifted = {
  SKERRY_RATE_READ_PER_MINUTE: UNLIMITED,
  SKERRY_RATE_READ_BURST: UNLIMITED,
  SKERRY_RATE_WRITE_PER_MINUTE: UNLIMITED,
  SKERRY_RATE_WRITE_BURST: UNLIMITED,
  SKERRY_RATE_EXPENSIVE_PER_MINUTE: UNLIMITED,
  SKERRY_RATE_EXPENSIVE_BURST: UNLIMITED,
  SKERRY_QUOTA_SANDBOXES: UNLIMITED,
  SKERRY_QUOTA_VCPUS: UNLIMITED,
  SKERRY_QUOTA_MEMORY_MIB: UNLIMITED,
  SKERRY_QUOTA_DISK_GIB: UNLIMITED,
} as const;

export class Bench implements AsyncDisposable {
  readonly scale: Scale;
  /** With clones that wait. */
  readonly platform: Platform;
  /** Of the chapter that is being measured, those that have begun: what they have is told also where it is interrupted. */
  begun: Series[] = [];
  readonly #stack: AsyncDisposableStack;
  #cold: Promise<Platform> | undefined;
  #floor: Promise<Floor> | undefined;
  #podman: Promise<Podman | string> | undefined;

  private constructor(scale: Scale, platform: Platform, stack: AsyncDisposableStack) {
    this.scale = scale;
    this.platform = platform;
    this.#stack = stack;
  }

  static async open(scale: Scale): Promise<Bench> {
    await mkdir(assets, { recursive: true });
    const stack = new AsyncDisposableStack();
    const platform = await startPlatform({ assets, env: { ...settings, ...lifted } });
    stack.defer(() => platform.stop());
    return new Bench(scale, platform, stack);
  }

  /** A platform where no clone ever waits. */
  cold(): Promise<Platform> {
    this.#cold ??= startPlatform({ assets, env: { ...settings, ...lifted, SKERRY_WARM_MAX: "0" } }).then(
      (platform) => {
        this.#stack.defer(() => platform.stop());
        return platform;
      },
    );
    return this.#cold;
  }

  floor(): Promise<Floor> {
    this.#floor ??= poolAtRest(this.platform)
      .then(() => Floor.like(this.platform))
      .then((floor) => this.#stack.use(floor));
    return this.#floor;
  }

  /** A string says why there is none here. */
  podman(): Promise<Podman | string> {
    this.#podman ??= Podman.open({ cache, assets }).then((podman) =>
      typeof podman === "string" ? podman : this.#stack.use(podman),
    );
    return this.#podman;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

export function create(platform: Platform): Promise<Sandbox> {
  return platform.client.sandboxes.create({ template: "base", timeout: "2h" });
}

export async function expectSuccess(sandbox: Sandbox): Promise<void> {
  const { exit_code: exitCode } = await sandbox.execute("true");
  if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`);
}
