// What was refused and why, and what can be done about it: the change is shown before it is made, and what came of it after.

import { useSignal } from "@preact/signals";
import type { EgressDenial, EgressReport, EgressRequest } from "@skerry/sdk";
import { useLoaded } from "../live/use-loaded.ts";
import { may, noteFailure } from "../session.ts";
import { CopyAs, type RequestWords } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { bytesText, countText } from "../ui/text.ts";
import { allowing, policyOf, type Allowed } from "./allow.ts";
import { DenialFacts, denialKey, placeOf, ruleFacts } from "./egress-facts.tsx";
import type { VmKind } from "./vm-kind.ts";
import { egressRequest } from "./vm-requests.ts";

const LOOK_EVERY_MS = 5_000;

interface Since {
  readonly packets: number;
  readonly denied: number;
}

export function Egress({ vm, id }: { readonly vm: VmKind; readonly id: string }) {
  const report = useLoaded(`egress ${id}`, (signal) => vm.calls.egress(id, { signal }), {
    everyMs: LOOK_EVERY_MS,
  });
  const proposed = useSignal<Allowed | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const since = useSignal<Since | undefined>(undefined);
  const found = report.value;
  if (found === undefined) return report.error === undefined ? <Loading /> : <Failure error={report.error} />;
  const apply = async (policy: EgressRequest) => {
    error.value = undefined;
    try {
      await vm.calls.setEgress(id, policy, { ifVersion: found.version });
      since.value = { packets: found.counters.packets_out, denied: deniedIn(found) };
      proposed.value = undefined;
    } catch (failure) {
      error.value = failure;
      noteFailure(failure);
    }
    report.reload();
  };
  return (
    <>
      <div class="columns">
        <Panel title="Denied">
          {found.denied.length === 0 ? (
            <p class="muted">Nothing was refused.</p>
          ) : (
            <ul class="denials">
              {found.denied.map((denial) => (
                <Denial
                  key={denialKey(denial)}
                  denial={denial}
                  report={found}
                  scope={vm.writeScope}
                  choose={(allowed) => (proposed.value = allowed)}
                />
              ))}
            </ul>
          )}
        </Panel>
        <Panel title="Policy in force">
          <Facts facts={[...ruleFacts(found), ["Passed", passedText(found)]]} />
          {since.value !== undefined && (
            <p role="status">
              Since then: {countText(found.counters.packets_out - since.value.packets)} passed,{" "}
              {countText(Math.max(0, deniedIn(found) - since.value.denied))} denied
            </p>
          )}
        </Panel>
      </div>
      {proposed.value !== undefined && (
        <Proposal
          allowed={proposed.value}
          request={egressRequest(vm, id, proposed.value.policy, found.version)}
          apply={apply}
          cancel={() => (proposed.value = undefined)}
        />
      )}
      {error.value !== undefined && <Failure error={error.value} />}
    </>
  );
}

interface DenialProps {
  readonly denial: EgressDenial;
  readonly report: EgressReport;
  readonly scope: VmKind["writeScope"];
  readonly choose: (allowed: Allowed) => void;
}

function Denial({ denial, report, scope, choose }: DenialProps) {
  const allowed = allowing(denial, policyOf(report));
  const place = placeOf(denial);
  return (
    <li>
      <DenialFacts denial={denial} />
      {"why" in allowed ? (
        <span class="help">{allowed.why}</span>
      ) : (
        <button
          type="button"
          disabled={!may(scope)}
          title={may(scope) ? "" : `Needs the scope ${scope}.`}
          aria-label={`Allow this: ${place}`}
          onClick={() => choose(allowed)}
        >
          Allow this
        </button>
      )}
    </li>
  );
}

interface ProposalProps {
  readonly allowed: Allowed;
  readonly request: RequestWords;
  readonly apply: (policy: EgressRequest) => Promise<void>;
  readonly cancel: () => void;
}

function Proposal({ allowed, request, apply, cancel }: ProposalProps) {
  return (
    <Panel title={allowed.title}>
      <ul class="diff" aria-label="What changes">
        {allowed.changes.map((change) => (
          <li key={change}>
            <code>+ {change}</code>
          </li>
        ))}
      </ul>
      <p class="help">{allowed.note} It applies at once; connections that are open stay open.</p>
      <button type="button" class="primary" onClick={() => void apply(allowed.policy)}>
        Apply
      </button>
      <button type="button" onClick={cancel}>
        Cancel
      </button>
      <CopyAs request={request} of="Apply" />
    </Panel>
  );
}

function deniedIn({ denied }: EgressReport): number {
  return denied.reduce((sum, { count }) => sum + count, 0);
}

function passedText({ counters }: EgressReport): string {
  return `${bytesText(counters.bytes_out)} out, ${bytesText(counters.bytes_in)} in`;
}
