// VMs of a host that has no control plane, asked for as control asks: sandboxes, and the microVMs of builds.

import { expect } from "vitest";
import type { PlannedStep } from "@skerry/build-plan/build-plan";
import type { ErrorBody } from "@skerry/contract/errors";
import { FrameParser, frameTypes, parseJsonPayload } from "@skerry/contract/frames";
import type { DiskImage, Sealed, VmBuild } from "@skerry/contract/host-api/templates";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type { Answer, LoneHost } from "./lone-host.ts";
import { until } from "./platform.ts";

const MINUTE_MS = 60_000;
/** Against hanging: where the CPU is emulated, a step that copies a whole template takes minutes, and longer beside other builds. */
const COMMAND_DEADLINE_MS = 20 * MINUTE_MS;

export interface Started {
  readonly id: string;
  readonly executionId: string;
}

interface Ended {
  readonly code: number;
  /** Both of its outputs, in one. */
  readonly output: string;
}

/** What is not said is a small VM of its own, which reaches nothing. */
type SomeSpec = Pick<VmSpec, "template"> & Partial<VmSpec>;

const egress: VmSpec["egress"] = {
  mode: "deny_all",
  allow_cidrs: [],
  deny_cidrs: [],
  allow_ports: [],
  dns: false,
};

export class LoneVms {
  readonly #host: LoneHost;
  #starts = 0;

  constructor(host: LoneHost) {
    this.#host = host;
  }

  put(id: string, spec: SomeSpec): Promise<Answer<Vm & ErrorBody>> {
    const whole: VmSpec = {
      execution_id: `exe_${(this.#starts += 1)}`,
      size: "shared-cpu-1x",
      hostname: id.replace("_", "-"),
      ...{ env: {}, egress, egress_version: 1 },
      ...spec,
    };
    return this.#host.call<Vm & ErrorBody>("PUT", `/vms/${id}`, whole);
  }

  async start(id: string, spec: SomeSpec): Promise<Started> {
    const { status, body } = await this.put(id, spec);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: "running" } });
    return { id, executionId: body.execution_id };
  }

  startBuild(id: string, build: VmBuild): Promise<Started> {
    return this.start(id, { template: "builder", build });
  }

  /** Starts it as soon as the host has built the images of its templates. */
  async startOnceReady(id: string, spec: SomeSpec): Promise<Started> {
    let executionId = "";
    await until(
      `the templates of ${id} are ready`,
      async () => {
        const { status, body } = await this.put(id, spec);
        executionId = body.execution_id;
        if (status !== 200) expect(body).toMatchObject({ code: "template_not_ready" });
        return status === 200;
      },
      20 * MINUTE_MS,
    );
    return { id, executionId };
  }

  /** What a command says; its failure is an error. */
  sh({ id, executionId }: Started, command: string): Promise<string> {
    return this.#host.execute(id, executionId, command, COMMAND_DEADLINE_MS);
  }

  async run(
    { id, executionId }: Started,
    { command, env }: Pick<PlannedStep, "command" | "env">,
  ): Promise<Ended> {
    const { body } = await this.#host.call<Buffer>("POST", `/vms/${id}/execute`, {
      ...{ execution_id: executionId, command, workdir: null, env },
      ...{ timeout_ms: COMMAND_DEADLINE_MS, output_limit: 0 },
    });
    const frames = [...new FrameParser().push(body)];
    const end = frames.at(-1);
    if (end?.type !== frameTypes.close) throw new Error(body.toString("latin1"));
    const output = frames.slice(0, -1).map(({ payload }) => payload.toString());
    return { code: Number(parseJsonPayload(end.payload)["exit_code"]), output: output.join("") };
  }

  /** Each has to succeed. */
  async carryOut(vm: Started, steps: readonly PlannedStep[]): Promise<void> {
    for (const step of steps)
      expect({ step: step.name, ...(await this.run(vm, step)) }).toMatchObject({ code: 0 });
  }

  /** These files and no others are the context of a build. */
  async sendContext(vm: Started, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
    const commands = Object.entries(files).map(([name, content]) => {
      const bytes = Buffer.from(content).toString("base64");
      return `mkdir -p "$(dirname "/context/${name}")" && echo ${bytes} | base64 -d >"/context/${name}"`;
    });
    await this.sh(vm, ["rm -rf /context && mkdir /context", ...commands].join(" && "));
  }

  async seal({ id, executionId }: Started, sealId = "last"): Promise<DiskImage> {
    const order = { execution_id: executionId, seal_id: sealId };
    const { status, body } = await this.#host.call<Sealed & ErrorBody>("POST", `/vms/${id}/seal`, order);
    expect({ status, body }).toMatchObject({ status: 200 });
    return body.image;
  }

  async destroy({ id, executionId }: Started): Promise<void> {
    await this.#host.call("DELETE", `/vms/${id}?execution_id=${executionId}`);
  }
}
