// All hosts together: what is promised, what is used, and what still fits.

import type { Host } from "@skerry/sdk";
import type { Size } from "@skerry/contract/sizes";
import { Panel, Facts } from "../ui/panel.tsx";
import { bytesText, countText } from "../ui/text.ts";
import { Bar } from "./bar.tsx";
import { fitsText, takesNew, whatFits } from "./room.ts";

const MIB = 1024 * 1024;

interface CapacityProps {
  readonly hosts: readonly Host[];
  readonly sizes: readonly Size[] | undefined;
}

/** Of hosts that are there: one that is away promises nothing. */
export function Capacity({ hosts, sizes }: CapacityProps) {
  const there = hosts.filter(({ status }) => status !== "offline");
  const sum = (read: (host: Host) => number) => there.reduce((all, host) => all + read(host), 0);
  return (
    <Panel title="Capacity">
      <Bar
        name="Memory promised"
        used={sum(({ used }) => used.memory_mib)}
        of={sum(({ capacity }) => capacity.memory_mib)}
        text={(mib) => bytesText(mib * MIB)}
      />
      <Bar
        name="vCPUs promised"
        used={sum(({ used }) => used.vcpus)}
        of={sum(({ capacity }) => capacity.vcpus)}
        text={countText}
      />
      <UsedBar hosts={there} />
      <Facts
        facts={[
          ["Still fits", sizes === undefined ? null : fitsText(whatFits(hosts, sizes))],
          [
            "Take new guests",
            `${countText(hosts.filter(takesNew).length)} of ${countText(hosts.length)} hosts`,
          ],
        ]}
      />
    </Panel>
  );
}

/** What the machines have really used, of all their memory; nothing where none has told it. */
export function UsedBar({ hosts }: { readonly hosts: readonly Host[] }) {
  const told = hosts.flatMap(({ usage }) => (usage === null ? [] : [usage]));
  if (told.length === 0) return null;
  const all = told.reduce((sum, usage) => sum + usage.memory_bytes, 0);
  const available = told.reduce((sum, usage) => sum + usage.memory_available_bytes, 0);
  return <Bar name="Memory used" used={Math.max(0, all - available)} of={all} text={bytesText} />;
}
