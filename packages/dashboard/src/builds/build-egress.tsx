import type { Build, BuildEgress as Report } from "@skerry/sdk";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import { useEffect } from "preact/hooks";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { DenialFacts, denialKey, ruleFacts } from "../vm/egress-facts.tsx";
import { requestOf } from "../ui/request-of.ts";

const LOOK_EVERY_MS = 5_000;

/** What it may reach, and what it was denied: as it goes, and what is kept of it after its end. */
export function BuildEgress({ build: { id, status } }: { readonly build: Build }) {
  const report = useLoaded(
    `egress ${id}`,
    (signal) => skerry.builds.egress(id, { signal }),
    isBuildOver(status) ? {} : { everyMs: LOOK_EVERY_MS },
  );
  useEffect(report.reload, [status]);
  return (
    <Panel
      title="Egress"
      actions={
        <CopyAs
          of="the egress"
          request={requestOf("getBuildEgress", { at: [id], cli: command("skerry build egress", id) })}
        />
      }
    >
      {report.error !== undefined && <Failure error={report.error} retry={report.reload} />}
      {report.value === undefined ? (
        report.error === undefined && <Loading />
      ) : (
        <Told report={report.value} />
      )}
    </Panel>
  );
}

function Told({ report }: { readonly report: Report }) {
  return (
    <>
      <Facts facts={ruleFacts(report)} />
      {report.denied.length === 0 ? (
        <p class="muted">Nothing was refused.</p>
      ) : (
        <ul class="denials" aria-label="Denied">
          {report.denied.map((denial) => (
            <li key={denialKey(denial)}>
              <DenialFacts denial={denial} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
