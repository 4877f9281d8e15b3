import type { VmMetrics } from "@skerry/sdk";
import { useLoaded } from "../live/use-loaded.ts";
import { Failure } from "../ui/failure.tsx";
import { Empty, Loading } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { bytesText } from "../ui/text.ts";
import type { VmKind } from "./vm-kind.ts";
import { METRICS_STEP_S } from "./vm-requests.ts";

/** What it has used, minute by minute. */
export function Metrics({ vm, id }: { readonly vm: VmKind; readonly id: string }) {
  const load = (signal: AbortSignal) => vm.calls.metrics(id, { step: `${METRICS_STEP_S}s` }, { signal });
  const { value, error } = useLoaded(`metrics ${id}`, load, { everyMs: METRICS_STEP_S * 1_000 });
  if (value === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  if (value.items.length === 0)
    return <Empty what="Nothing was measured yet. Its host measures once a minute." />;
  return (
    <Panel title="Metrics">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Last minute</th>
            <th scope="col">Since its beginning</th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(value).map(({ name, values, text }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{text(values.at(-1) ?? 0)}</td>
              <td>
                <Sparkline values={values} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

interface Row {
  readonly name: string;
  readonly values: readonly number[];
  readonly text: (value: number) => string;
}

function rowsOf({ items }: VmMetrics): readonly Row[] {
  const of = (name: string, read: (point: VmMetrics["items"][number]) => number, text = bytesText): Row => ({
    name,
    values: items.map(read),
    text,
  });
  return [
    of(
      "CPU",
      ({ cpu_seconds: s }) => s / METRICS_STEP_S,
      (share) => `${Math.round(share * 100)} % of one`,
    ),
    of("Memory", ({ memory_bytes: bytes }) => bytes),
    of("Disk", ({ disk_bytes: bytes }) => bytes),
    of("Received", ({ network_received_bytes: bytes }) => bytes),
    of("Sent", ({ network_sent_bytes: bytes }) => bytes),
  ];
}
