// Small apps of every kind that is detected are built, and answer in what was built: one after the other in one builder for each built-in template
// that they stand on. That clones of such a template wake with its app running, `planned-builds.test.ts` and `build-folder.test.ts` say.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { PlannedStep } from "@skerry/build-plan/build-plan";
import { DETECTED_FILES, detectApp } from "@skerry/build-plan/detect/detect-app";
import { planBuild } from "@skerry/build-plan/plan/plan-build";
import type { VmBuild } from "@skerry/contract/host-api/templates";
import { apps, type App } from "../packages/build-plan/tests/support/apps.ts";
import { answeringApps, type AnsweringApp } from "./support/answering-apps.ts";
import { LoneHost } from "./support/lone-host.ts";
import { LoneVms, type Started } from "./support/lone-vms.ts";
import { isFullRun } from "./support/sampling.ts";
import { nothingWaits } from "./support/platform.ts";

const MINUTE_MS = 60_000;
/** The images of the others take minutes to build, once on a machine. */
const templates = isFullRun ? ["base", "node", "python"] : ["base"];

let host: LoneHost;
let vms: LoneVms;

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), nothingWaits);
  vms = new LoneVms(host);
}, 10 * MINUTE_MS);
afterAll(() => host.close());

/** What the template has from now on is all that an app before it has left. */
const CLEAR = "rm -rf /app /opt/venv";

/** The last step of what these make of a template: its command sees what they set. */
function lastStep(steps: Parameters<typeof planBuild>[0]["steps"]): PlannedStep {
  const step = planBuild({ steps: steps ?? [] }).steps.at(-2);
  if (step === undefined) throw new Error("there is no step");
  return step;
}

/** Its start command, and then each path until it answers. */
function probeOf(command: string, paths: readonly string[]): string {
  const asks = paths.map(
    (path) =>
      `for try in $(seq 300); do curl -sf -o /tmp/answer http://127.0.0.1:8080${path} && break; sleep 0.1; done; echo "${path} answers:"; cat /tmp/answer; echo; rm -f /tmp/answer`,
  );
  return [`( ${command} ) >/tmp/said 2>&1 &`, ...asks, "cat /tmp/said"].join("\n");
}

async function buildAndAsk(vm: Started, { files, answers }: AnsweringApp): Promise<void> {
  const texts = Object.entries(files).filter(([name]) => DETECTED_FILES.includes(name));
  const detected = detectApp({
    files: Object.keys(files),
    texts: Object.fromEntries(texts.map(([name, content]) => [name, Buffer.from(content).toString()])),
  });
  const { steps, config } = planBuild(detected.request);
  await vms.sendContext(vm, files);
  await vms.run(vm, lastStep([{ run: CLEAR }]));
  await vms.carryOut(vm, steps.slice(0, -1));
  const probe = probeOf(config.start?.command ?? "false", Object.keys(answers));
  const { output } = await vms.run(
    vm,
    lastStep([{ env: { ...config.env } }, { workdir: config.workdir ?? "/app" }, { run: probe }]),
  );
  const parts = output.split(/^(\S+) answers:$/m);
  for (const [path, text] of Object.entries(answers)) {
    const answer = parts[parts.indexOf(path) + 1] ?? "";
    expect({ path, answer, output }).toMatchObject({ answer: expect.stringContaining(text) as string });
  }
}

/** Those of all apps that stand on it. */
async function appsOn(template: string): Promise<[string, AnsweringApp][]> {
  const detected = Object.entries<App>(apps).flatMap(([name, { files, answers }]) => {
    if (answers === undefined) return [];
    const plan = planBuild(detectApp({ files: Object.keys(files), texts: files }).request);
    return plan.on?.template === template ? [[name, { files, answers }] as [string, AnsweringApp]] : [];
  });
  return [...detected, ...Object.entries(await answeringApps(template))];
}

/** At least so many, of which each is built and asked. */
const least: Readonly<Record<string, number>> = { base: 5, node: 10, python: 7 };

test.each(templates)(
  "each app that stands on %s is built, and answers",
  async (template) => {
    const found = await appsOn(template);
    expect(found.length).toBeGreaterThanOrEqual(least[template] ?? 1);
    const build: VmBuild = {
      on: { kind: "template", template },
      disk_gib: template === "base" ? 4 : 8,
    };
    const vm = await vms.startOnceReady(`bld_${template}`, { template: "builder", build });
    const failed: string[] = [];
    for (const [name, app] of found)
      await buildAndAsk(vm, app).catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
    expect(failed).toEqual([]);
    await vms.destroy(vm);
  },
  25 * MINUTE_MS,
);
