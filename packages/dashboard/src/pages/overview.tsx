import { skerry } from "../api.ts";
import { hasCome, useLoaded } from "../live/use-loaded.ts";
import { NeedsYou, useNeeds } from "../overview/needs-you.tsx";
import { href } from "../router.ts";
import { may } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { Loading, Page } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { bytesText, countText } from "../ui/text.ts";

const LOOK_EVERY_MS = 10_000;
const USAGE_EVERY_MS = 60_000;
const LIMITS = "/organization";
const MIB = 1024 * 1024;

export function View() {
  const needs = useNeeds();
  const status = useLoaded("status", (signal) => skerry.status({ signal }), { everyMs: LOOK_EVERY_MS });
  const usage = useLoaded("usage", (signal) => skerry.usage({ step: "15m" }, { signal }), {
    everyMs: USAGE_EVERY_MS,
  });
  const machines = useLoaded("machines", countMachines, { everyMs: LOOK_EVERY_MS });
  const points = usage.value?.items ?? [];
  const [first] = points;
  const since = first && new URLSearchParams({ created_after: first.at }).toString();
  const found = status.value;
  return (
    <Page title="Overview" name="Overview">
      <NeedsYou found={needs} />
      {status.error !== undefined && <Failure error={status.error} retry={status.reload} />}
      {usage.error !== undefined && <Failure error={usage.error} retry={usage.reload} />}
      {!(hasCome(needs) && hasCome(status)) && <Loading />}
      {hasCome(needs) && found !== undefined && (
        <div class="cards">
          <Counted
            title="Sandboxes"
            to="/sandboxes"
            all="/sandboxes?owner=any"
            counts={found.sandboxes}
            past={points.map((point) => point.sandboxes)}
          />
          <Counted
            title="Machines"
            to="/machines"
            all="/machines?owner=any"
            counts={machines.value ?? {}}
            past={points.map((point) => point.machines)}
          />
          <Counted title="Hosts" to="/hosts" counts={found.hosts} past={[]} />
          <Past
            title="vCPUs at most"
            to={LIMITS}
            values={points.map(({ vcpus }) => vcpus)}
            text={countText}
          />
          <Past
            title="Memory at most"
            to={LIMITS}
            values={points.map(({ memory_mib: mib }) => mib)}
            text={(mib) => bytesText(mib * MIB)}
          />
          <Panel title="Made in the last day">
            <p class="big">{countText(points.reduce((sum, { created }) => sum + created, 0))}</p>
            <Sparkline values={points.map(({ created }) => created)} />
            {since !== undefined && (
              <p class="help">
                All <a href={href(`/sandboxes?${since}`)}>sandboxes</a> and{" "}
                <a href={href(`/machines?${since}`)}>machines</a> made since then, also those that have ended.
              </p>
            )}
          </Panel>
          <Panel title="Denied packets in the last day">
            <p class="big">{countText(points.reduce((sum, { denied }) => sum + denied, 0))}</p>
            <Sparkline values={points.map(({ denied }) => denied)} />
            <p class="help">
              Which, and by which rule, is on the Egress page of a <a href={href("/sandboxes")}>sandbox</a> or
              a <a href={href("/machines")}>machine</a>.
            </p>
          </Panel>
        </div>
      )}
    </Page>
  );
}

/** By status; of a session that may not read them, none. */
async function countMachines(signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
  if (!may("machines:read")) return {};
  return (await skerry.machines.page({ alive: true, counts: true, limit: 1 }, { signal })).counts ?? {};
}

interface PastProps {
  /** What counts them now, against what there may be. */
  readonly to: string;
  readonly title: string;
  readonly values: readonly number[];
  readonly text: (value: number) => string;
}

/** The most of a step, in the last day; the figure is the last one. */
function Past({ title, to, values, text }: PastProps) {
  return (
    <Panel title={title}>
      <p class="big">
        <a href={href(to)}>{text(values.at(-1) ?? 0)}</a>
      </p>
      <Sparkline values={values} />
    </Panel>
  );
}

interface CountedProps {
  readonly title: string;
  readonly to: string;
  /** Address of the list of all; default: `to`. */
  readonly all?: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly past: readonly number[];
}

/** Every number leads to the list of what it counts. */
function Counted({ title, to, all = to, counts, past }: CountedProps) {
  const entries = Object.entries(counts).filter(([, count]) => count > 0);
  return (
    <Panel title={title}>
      <p class="big">
        <a href={href(all)}>{countText(entries.reduce((sum, [, count]) => sum + count, 0))}</a>
      </p>
      <ul class="plain">
        {entries.map(([status, count]) => (
          <li key={status}>
            <a href={href(`${to}?status=${status}`)}>
              <StatusMark status={status} /> {countText(count)}
            </a>
          </li>
        ))}
      </ul>
      <Sparkline values={past} />
    </Panel>
  );
}
