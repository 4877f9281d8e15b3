import type { ComponentChildren } from "preact";
import type { Machine, MachineUpdateRequest } from "@skerry/sdk";
import { schema } from "openapi:MachineUpdateRequest";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { Action } from "../ui/action.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { printable } from "../ui/text.ts";
import { StatusMark } from "../ui/status-mark.tsx";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { Change } from "../vm/change.tsx";
import { machineKind } from "../vm/vm-kind.ts";
import { vmPage } from "../vm/vm-page.tsx";
import { CONSOLE_LINES, deed } from "../vm/vm-requests.ts";
import { secretsText } from "../vm/secrets-text.ts";

const LOOK_EVERY_MS = 3_000;

export const View = vmPage<Machine>({
  kind: machineKind,
  read: async (id, signal) => resources.machine.put(await skerry.machines.get(id, { signal })),
  tabs: ["Console", "Restarts", "Details"],
  Tab,
  Beside: ({ of }) => <Why kind="machine" of={of} />,
  Actions,
});

function Tab({ name, of: machine }: { readonly name: string; readonly of: Machine }) {
  if (name === "restarts") return <Restarts id={machine.id} />;
  if (name === "details") return <Details machine={machine} />;
  return <Console id={machine.id} />;
}

function Actions({ of: { id, status } }: { readonly of: Machine }) {
  const act = (verb: "start" | "stop" | "restart") => ({
    needs: machineKind.writeScope,
    request: deed(machineKind, id, verb),
    run: async () => void resources.machine.put(await skerry.machines[verb](id)),
  });
  const isStopped = status === "stopped" || status === "failed";
  return (
    <>
      {isStopped && <Action label="Start" {...act("start")} />}
      {status === "running" && <Action label="Restart" {...act("restart")} />}
      {status === "running" && <Action label="Stop" {...act("stop")} />}
    </>
  );
}

/** As text: a program can have printed control characters. */
function Console({ id }: { readonly id: string }) {
  const load = (signal: AbortSignal) => skerry.machines.logs(id, { lines: CONSOLE_LINES, signal });
  const { value, error } = useLoaded(`console ${id}`, load, { everyMs: LOOK_EVERY_MS });
  if (value === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  return (
    <Panel title="Console">
      <pre class="log" tabIndex={0} aria-label="Console">
        {value.length === 0 ? "Nothing was printed yet." : value.map(printable).join("\n")}
      </pre>
    </Panel>
  );
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
          ["Size", machine.size],
          ["Main process", machine.command],
          ["Waits for its next start", waiting(machine)],
          ["Health", healthText(machine)],
          ["Health check", checkText(machine)],
          ["Restart policy", machine.restart.policy],
          ["Stops by itself", autostopText(machine)],
          ["Restarts", machine.restarts],
          ["Exit code", machine.exit_code],
          ["Next start", machine.restart_at === null ? null : <When at={machine.restart_at} />],
          ["Secrets", secretsText(machine.secrets)],
          ["Host", machine.host_id],
          ["Created", <When at={machine.created_at} />],
          ["Started", <When at={machine.started_at} />],
        ]}
      />
      {machine.status !== "destroyed" && <ChangeMachine machine={machine} />}
    </Panel>
  );
}

/** A control of a version before tells of none. */
function healthText({ health }: Machine): ComponentChildren {
  if (health == null) return null;
  return (
    <>
      <StatusMark status={health.status} /> since <When at={health.since} />
      {health.reason !== null && `: ${health.reason}`}
    </>
  );
}

function autostopText({ autostop, autostart }: Machine): string | null {
  if (autostop == null) return null;
  return `after ${autostop.idle} without a use${autostart ? ", and a call starts it" : ""}`;
}

function checkText({ check }: Machine): string | null {
  if (check == null) return null;
  const what = check.command ?? `GET ${check.path} of port ${check.port}`;
  return `${what}, every ${check.interval}${check.restart ? ", restarts it" : ""}`;
}

function waiting({ pending }: Machine): string | null {
  // A control of a version before tells of none.
  if (pending == null) return null;
  const { env, ...others } = pending;
  const texts = Object.entries(others).map(([name, value]) => `${name} ${value ?? "(none)"}`);
  return [...texts, ...(env === undefined ? [] : ["environment"])].join(", ");
}

function ChangeMachine({ machine }: { readonly machine: Machine }) {
  const { id, name, size, command, stop_timeout } = { ...machine, ...machine.pending };
  const sizes = useLoaded("sizes", (signal) => skerry.sizes.list({ signal }));
  return (
    <Change
      kind={machineKind}
      id={id}
      schema={schema}
      labels={{ name: "Name", size: "Size", command: "Command", stop_timeout: "Stop timeout" }}
      choices={{ size: sizes.value?.map((one) => one.name) ?? [size] }}
      now={{ name, size, command, stop_timeout }}
      send={async (changes) => resources.machine.put(await skerry.machines.update(id, changes as Changes))}
    />
  );
}

/** The form has a size always. */
type Changes = Omit<MachineUpdateRequest, "size" | "stop_timeout">;
