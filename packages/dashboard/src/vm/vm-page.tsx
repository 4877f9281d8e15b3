// What the page of a sandbox and that of a machine have in common: the head, the tabs that both have, and what can be done with both.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { resources } from "../live/resources.ts";
import { go, href, type Params } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { Copy } from "../ui/copy.tsx";
import { CopyAs } from "../ui/copy-as.tsx";
import { DetailPage } from "../ui/detail-page.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { nameOf, shortId } from "../ui/text.ts";
import { Waits } from "../ui/waits.tsx";
import type { VmKind } from "./vm-kind.ts";
import { deed, destroyRequest, tabRequest, takeSnapshot } from "./vm-requests.ts";
import { vmTab, vmTabs, type AnyVm } from "./vm-tabs.tsx";

interface VmPage<Vm extends AnyVm> {
  readonly kind: VmKind;
  /** Puts it among the resources, where events change it. */
  readonly read: (id: string, signal: AbortSignal) => Promise<ReadonlySignal<Vm | null>>;
  /** Its own tabs; the first is the one that its address without a tab shows. */
  readonly tabs: readonly string[];
  readonly Tab: ComponentType<{ readonly name: string; readonly of: Vm }>;
  /** What stands behind its template and size. */
  readonly Beside: ComponentType<{ readonly of: Vm }>;
  /** What can be done with this kind alone. */
  readonly Actions: ComponentType<{ readonly of: Vm }>;
}

export function vmPage<Vm extends AnyVm>(page: VmPage<Vm>): ComponentType<{ readonly params: Params }> {
  const { kind, tabs, Tab, Beside, Actions } = page;
  return function View({ params }) {
    const { id = "", tab = tabs[0]?.toLowerCase() ?? "" } = params;
    return (
      <DetailPage
        id={id}
        read={page.read}
        list={{ path: kind.path, title: kind.plural }}
        nameOf={nameOf}
        actions={(vm) => (
          <CommonActions kind={kind} vm={vm} tab={tab}>
            <Actions of={vm} />
          </CommonActions>
        )}
      >
        {(vm) => (
          <>
            <p class="muted">
              <code>{vm.id}</code> <Copy text={vm.id} label="the id" />{" "}
              <a href={href(`/templates/${encodeURIComponent(vm.template)}`)}>{shortId(vm.template)}</a> ·{" "}
              {vm.size} <Beside of={vm} />
            </p>
            {vm.reason !== null && <p class="reason">{vm.reason}</p>}
            <Waits what={vm.waits_for} />
            <Tabs
              label={`Parts of the ${kind.noun}`}
              at={`${kind.path}/${vm.id}`}
              names={[...tabs, ...vmTabs]}
              chosen={tab}
            />
            {vmTab(tab, kind, vm) ?? <Tab name={tab} of={vm} />}
          </>
        )}
      </DetailPage>
    );
  };
}

interface CommonActionsProps {
  readonly kind: VmKind;
  readonly vm: AnyVm;
  readonly tab: string;
  /** Those of its kind alone. */
  readonly children: ComponentChildren;
}

function CommonActions({ kind, vm: { id, status }, tab, children }: CommonActionsProps) {
  const needs = kind.writeScope;
  const isRunning = status === "running";
  return (
    <>
      <CopyAs request={tabRequest(kind, id, tab)} />
      {children}
      {isRunning && (
        <Action
          label="Fork"
          request={deed(kind, id, "fork")}
          needs={needs}
          run={async () => {
            const fork = await kind.fork(id);
            if (fork !== undefined) go(`${kind.path}/${fork}`);
          }}
        />
      )}
      {isRunning && (
        <Action
          label="Snapshot"
          request={takeSnapshot(kind, id)}
          needs={needs}
          run={async () => void resources.snapshot.put(await kind.calls.snapshot(id))}
        />
      )}
      {status !== "destroyed" && (
        <Action
          label="Destroy"
          danger
          needs={needs}
          confirm="Its memory and its disk are lost. Its snapshots stay."
          request={destroyRequest(kind, id)}
          run={() => kind.calls.destroy(id)}
        />
      )}
    </>
  );
}
