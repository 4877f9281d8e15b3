import type { SandboxInfo } from "@skerry/sdk";
import { schema } from "openapi:SandboxUpdateRequest";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { Action } from "../ui/action.tsx";
import { call, command, type RequestWords } from "../ui/copy-as.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { Change } from "../vm/change.tsx";
import { sandboxKind } from "../vm/vm-kind.ts";
import { vmPage } from "../vm/vm-page.tsx";
import { deed } from "../vm/vm-requests.ts";
import { secretsText } from "../vm/secrets-text.ts";

const LONGER = "10m";

interface OfSandbox {
  readonly of: SandboxInfo;
}

export const View = vmPage<SandboxInfo>({
  kind: sandboxKind,
  read: async (id, signal) => resources.sandbox.put((await skerry.sandboxes.get(id, { signal })).info),
  tabs: ["Details"],
  Tab: Details,
  Beside,
  Actions,
});

function Beside({ of }: OfSandbox) {
  return (
    <>
      · ends <When at={of.expires_at} /> <Why kind="sandbox" of={of} />
    </>
  );
}

function Actions({ of: { id, mode, status } }: OfSandbox) {
  const needs = sandboxKind.writeScope;
  const note = (changed: { readonly info: SandboxInfo }) => resources.sandbox.put(changed.info);
  return (
    <>
      {status === "running" && (
        <Action
          label="+10 min"
          needs={needs}
          request={keepaliveRequest(id)}
          run={async () => note(await skerry.sandboxes.keepalive(id, LONGER))}
        />
      )}
      {mode === "persistent" && status === "running" && (
        <Action
          label="Pause"
          needs={needs}
          request={deed(sandboxKind, id, "pause")}
          run={async () => note(await skerry.sandboxes.pause(id))}
        />
      )}
      {status === "paused" && (
        <Action
          label="Resume"
          needs={needs}
          request={deed(sandboxKind, id, "resume")}
          run={async () => note(await skerry.sandboxes.resume(id))}
        />
      )}
    </>
  );
}

function keepaliveRequest(id: string): RequestWords {
  return {
    ...deed(sandboxKind, id, "keepalive"),
    json: { timeout: LONGER },
    cli: command("skerry sandbox keepalive", id, "--timeout", LONGER),
    typescript: call("sandboxes.keepalive", id, LONGER),
  };
}

function Details({ of: sandbox }: OfSandbox) {
  const labels = (fields: Readonly<Record<string, string | null>>) =>
    Object.entries(fields)
      .map(([key, value]) => `${key}=${value ?? "(hidden)"}`)
      .join(", ") || null;
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ["Mode", sandbox.mode],
          ["Host", sandbox.host_id],
          ["Snapshot", sandbox.snapshot_id],
          ["Timeout", sandbox.timeout],
          ["Pauses after idle", sandbox.pause_after_idle],
          ["Created", <When at={sandbox.created_at} />],
          ["Started", <When at={sandbox.started_at} />],
          ["Metadata", labels(sandbox.metadata)],
          ["Environment", labels(sandbox.env)],
          ["Secrets", secretsText(sandbox.secrets)],
        ]}
      />
      {sandbox.status !== "destroyed" && sandbox.status !== "failed" && <ChangeSandbox sandbox={sandbox} />}
    </Panel>
  );
}

function ChangeSandbox({ sandbox }: { readonly sandbox: SandboxInfo }) {
  const { id, name, mode, pause_after_idle } = sandbox;
  const isPersistent = mode === "persistent";
  return (
    <Change
      kind={sandboxKind}
      id={id}
      schema={schema}
      labels={{ name: "Name", ...(isPersistent && { pause_after_idle: "Pause after idle" }) }}
      now={{ name, ...(isPersistent && { pause_after_idle }) }}
      send={async (changes) => resources.sandbox.put((await skerry.sandboxes.update(id, changes)).info)}
    />
  );
}
