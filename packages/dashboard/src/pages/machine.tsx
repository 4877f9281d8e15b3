import type { Machine } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { useLoaded } from "../live/use-loaded.ts";
import type { Params } from "../pages.ts";
import { href } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { Copy } from "../ui/copy.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading, Page } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../ui/why.tsx";
import { machineKind } from "../vm/vm-kind.ts";
import { vmTab, vmTabs } from "../vm/vm-tabs.tsx";

const LOG_LINES = 500;
const LOOK_EVERY_MS = 3_000;

export function View({ params }: { readonly params: Params }) {
  const { id = "", tab = "console" } = params;
  const read = useLoaded(`machine ${id}`, async (signal) =>
    resources.machine.put(await skerry.machines.get(id, { signal })),
  );
  const machine = read.value?.value ?? undefined;
  if (machine === undefined)
    return (
      <Page title={shortId(id)} name={id}>
        {read.error === undefined ? <Loading /> : <Failure error={read.error} retry={read.reload} />}
      </Page>
    );
  const name = machine.name ?? shortId(machine.id);
  return (
    <Page
      name={name}
      title={
        <>
          <a href={href("/machines")}>Machines</a> / {name} <StatusMark status={machine.status} />
        </>
      }
      actions={<Actions machine={machine} />}
    >
      <p class="muted">
        <code>{machine.id}</code> <Copy text={machine.id} label="the id" /> {machine.template} ·{" "}
        {machine.size} <Why kind="machine" of={machine} />
      </p>
      {machine.reason !== null && <p class="reason">{machine.reason}</p>}
      <Tabs
        label="Parts of the machine"
        at={`/machines/${machine.id}`}
        names={["Console", "Restarts", "Details", ...vmTabs]}
        chosen={tab}
      />
      {vmTab(tab, { vm: machineKind, id: machine.id }) ?? <Part tab={tab} machine={machine} />}
    </Page>
  );
}

function Part({ tab, machine }: { readonly tab: string; readonly machine: Machine }) {
  if (tab === "restarts") return <Restarts id={machine.id} />;
  if (tab === "details") return <Details machine={machine} />;
  return <Console id={machine.id} />;
}

function Actions({ machine: { id, status } }: { readonly machine: Machine }) {
  const needs = machineKind.writeScope;
  const act = (verb: "start" | "stop" | "restart") => async () =>
    void resources.machine.put(await skerry.machines[verb](id));
  const isStopped = status === "stopped" || status === "failed";
  return (
    <>
      {isStopped && <Action label="Start" needs={needs} run={act("start")} />}
      {status === "running" && <Action label="Restart" needs={needs} run={act("restart")} />}
      {status === "running" && <Action label="Stop" needs={needs} run={act("stop")} />}
      {status !== "destroyed" && (
        <Action
          label="Destroy"
          danger
          needs={needs}
          confirm="Its memory and its disk are lost. Its snapshots stay."
          run={() => skerry.machines.destroy(id)}
        />
      )}
    </>
  );
}

/** As text: a program can have printed control characters. */
function Console({ id }: { readonly id: string }) {
  const load = (signal: AbortSignal) => skerry.machines.logs(id, { lines: LOG_LINES, signal });
  const { value, error } = useLoaded(`console ${id}`, load, { everyMs: LOOK_EVERY_MS });
  if (value === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  return (
    <Panel title="Console">
      <pre class="log" tabIndex={0} aria-label="Console">
        {value.length === 0 ? "Nothing was printed yet." : value.map(readable).join("\n")}
      </pre>
    </Panel>
  );
}

/** Without what would colour a terminal or move its cursor. */
function readable(line: string): string {
  // eslint-disable-next-line no-control-regex
  return line.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
}

function Restarts({ id }: { readonly id: string }) {
  const { value, error } = useLoaded(`restarts ${id}`, (signal) =>
    skerry.machines.restarts(id, {}, { signal }),
  );
  if (value === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  return (
    <Panel title="How it has ended">
      {value.items.length === 0 && <p class="muted">It has not ended yet.</p>}
      <ol class="events">
        {value.items.map((end) => (
          <li key={end.id}>
            <strong>{end.reason}</strong>
            <span class="muted">
              {" "}
              <When at={end.ended_at} />
              {end.restarted_at !== null && (
                <>
                  , ran again <When at={end.restarted_at} />
                </>
              )}
            </span>
            {end.out_of_memory && <p>Out of memory: a larger size gives it more.</p>}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Details({ machine }: { readonly machine: Machine }) {
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ["Wanted", machine.desired],
          ["Main process", machine.command],
          ["Restart policy", machine.restart.policy],
          ["Restarts", machine.restarts],
          ["Exit code", machine.exit_code],
          ["Next start", machine.restart_at === null ? null : <When at={machine.restart_at} />],
          ["Host", machine.host_id],
          ["Created", <When at={machine.created_at} />],
          ["Started", <When at={machine.started_at} />],
        ]}
      />
    </Panel>
  );
}
