import type { SandboxInfo } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { useLoaded } from "../live/use-loaded.ts";
import type { Params } from "../pages.ts";
import { go, href } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { Copy } from "../ui/copy.tsx";
import { CopyAs } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading, Page } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../ui/why.tsx";
import { sandboxKind } from "../vm/vm-kind.ts";
import { vmTab, vmTabs } from "../vm/vm-tabs.tsx";

export function View({ params }: { readonly params: Params }) {
  const { id = "", tab = "details" } = params;
  const read = useLoaded(`sandbox ${id}`, async (signal) =>
    resources.sandbox.put((await skerry.sandboxes.get(id, { signal })).info),
  );
  // Events put it there too.
  const sandbox = read.value?.value ?? undefined;
  if (read.value === undefined || sandbox === undefined)
    return (
      <Page title={shortId(id)} name={id}>
        {read.error === undefined ? <Loading /> : <Failure error={read.error} retry={read.reload} />}
      </Page>
    );
  const name = sandbox.name ?? shortId(sandbox.id);
  const note = (changed: { readonly info: SandboxInfo }) => resources.sandbox.put(changed.info);
  return (
    <Page
      name={name}
      title={
        <>
          <a href={href("/sandboxes")}>Sandboxes</a> / {name} <StatusMark status={sandbox.status} />
        </>
      }
      actions={<Actions sandbox={sandbox} note={note} />}
    >
      <p class="muted">
        <code>{sandbox.id}</code> <Copy text={sandbox.id} label="the id" /> {sandbox.template} ·{" "}
        {sandbox.size} · ends <When at={sandbox.expires_at} /> <Why kind="sandbox" of={sandbox} />
      </p>
      {sandbox.reason !== null && <p class="reason">{sandbox.reason}</p>}
      <Tabs
        label="Parts of the sandbox"
        at={`/sandboxes/${sandbox.id}`}
        names={["Details", ...vmTabs]}
        chosen={tab}
      />
      {vmTab(tab, { vm: sandboxKind, id: sandbox.id }) ?? <Details sandbox={sandbox} />}
    </Page>
  );
}

interface ActionsProps {
  readonly sandbox: SandboxInfo;
  readonly note: (changed: { readonly info: SandboxInfo }) => unknown;
}

function Actions({ sandbox: { id, mode, status }, note }: ActionsProps) {
  const needs = sandboxKind.writeScope;
  const isPersistent = mode === "persistent";
  const cli = (verb: string) => `skerry sandbox ${verb} ${id}`;
  return (
    <>
      <CopyAs
        request={{
          method: "GET",
          path: `/v1/sandboxes/${id}`,
          cli: cli("get"),
          typescript: `const sandbox = await skerry.sandboxes.get(${JSON.stringify(id)});`,
        }}
      />
      {status === "running" && (
        <Action
          label="+10 min"
          needs={needs}
          run={async () => note(await skerry.sandboxes.keepalive(id, "10m"))}
        />
      )}
      {status === "running" && (
        <Action
          label="Fork"
          needs={needs}
          run={async () => {
            const [fork] = await skerry.sandboxes.fork(id);
            if (fork !== undefined) go(`/sandboxes/${fork.id}`);
          }}
        />
      )}
      {status === "running" && (
        <Action
          label="Snapshot"
          needs={needs}
          run={async () => void resources.snapshot.put(await skerry.sandboxes.snapshot(id))}
        />
      )}
      {isPersistent && status === "running" && (
        <Action label="Pause" needs={needs} run={async () => note(await skerry.sandboxes.pause(id))} />
      )}
      {status === "paused" && (
        <Action label="Resume" needs={needs} run={async () => note(await skerry.sandboxes.resume(id))} />
      )}
      {status !== "destroyed" && (
        <Action
          label="Destroy"
          danger
          needs={needs}
          confirm="Its memory and its disk are lost. Its snapshots stay."
          run={() => skerry.sandboxes.destroy(id)}
        />
      )}
    </>
  );
}

function Details({ sandbox }: { readonly sandbox: SandboxInfo }) {
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
        ]}
      />
    </Panel>
  );
}
