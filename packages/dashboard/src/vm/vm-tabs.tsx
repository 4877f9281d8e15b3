import type { Machine, SandboxInfo } from "@skerry/sdk";
import type { ComponentChildren } from "preact";
import { lazily } from "../ui/lazily.tsx";
import type { VmKind } from "./vm-kind.ts";

export type AnyVm = SandboxInfo | Machine;

interface TabProps {
  readonly vm: VmKind;
  readonly id: string;
}

const Terminal = lazily<TabProps>(async () => (await import("./terminal.tsx")).Terminal);
const Files = lazily<TabProps>(async () => (await import("./files.tsx")).Files);
const Ports = lazily<TabProps>(async () => (await import("./ports.tsx")).Ports);
const Egress = lazily<TabProps>(async () => (await import("./egress.tsx")).Egress);
const Events = lazily<TabProps>(async () => (await import("./events.tsx")).Events);
const Metrics = lazily<TabProps>(async () => (await import("./metrics.tsx")).Metrics);
const Snapshots = lazily<{ readonly kind: VmKind; readonly vm: AnyVm }>(
  async () => (await import("./snapshots.tsx")).Snapshots,
);

export const vmTabs = ["Terminal", "Files", "Ports", "Egress", "Snapshots", "Events", "Metrics"] as const;

/** What a tab of a sandbox or a machine shows; undefined for one that is not common to both. */
export function vmTab(name: string, kind: VmKind, vm: AnyVm): ComponentChildren {
  const props = { vm: kind, id: vm.id };
  if (name === "terminal") return <Terminal {...props} />;
  if (name === "files") return <Files {...props} />;
  if (name === "ports") return <Ports {...props} />;
  if (name === "egress") return <Egress {...props} />;
  if (name === "snapshots") return <Snapshots kind={kind} vm={vm} />;
  if (name === "events") return <Events {...props} />;
  if (name === "metrics") return <Metrics {...props} />;
  return undefined;
}
