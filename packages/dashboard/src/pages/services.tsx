import { skerry } from "../api.ts";
import { nowMs } from "../clock.ts";
import { resources } from "../live/resources.ts";
import { useList } from "../live/use-list.ts";
import { Action } from "../ui/action.tsx";
import { command } from "../ui/copy-as.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { durationText } from "../ui/text.ts";
import { serviceCondition } from "../why/service-condition.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import type { BackgroundService } from "@skerry/sdk";
import { requestOf } from "../ui/request-of.ts";

const columns = [
  { name: "Name", width: "minmax(10rem, 2fr)", cell: ({ name }: BackgroundService) => name },
  { name: "State", width: "10rem", cell: (one: BackgroundService) => <State service={one} /> },
  {
    name: "Last run",
    width: "7rem",
    cell: (one: BackgroundService) => <When at={one.last_run?.ended_at ?? null} />,
  },
  {
    name: "Took",
    width: "5rem",
    cell: ({ last_run: run }: BackgroundService) => (run === null ? "" : tookText(run.duration_ms)),
  },
  { name: "Report", width: "minmax(10rem, 2fr)", cell: reportText },
  { name: "Next", width: "6rem", cell: ({ due_at: due }: BackgroundService) => <When at={due} /> },
  {
    name: "Now",
    width: "7rem",
    cell: ({ name }: BackgroundService) => (
      <Action
        label="Run"
        of={name}
        request={requestOf("runBackgroundService", {
          at: [name],
          cli: command("skerry background-service run", name),
        })}
        needs="platform:write"
        run={async () => resources.background_service.put(await skerry.backgroundServices.run(name))}
      />
    ),
  },
];

export function View() {
  const list = useList({
    kind: "background_service",
    key: "all",
    takes: () => true,
    load: async (_cursor, signal) => ({
      items: await skerry.backgroundServices.list({ signal }),
      next_cursor: null,
    }),
  });
  return (
    <ListPage
      title="Background services"
      list={list}
      columns={columns}
      request={requestOf("listBackgroundServices", { cli: "skerry background-service list" })}
      empty={{ what: "None has begun yet." }}
    />
  );
}

function State({ service }: { readonly service: BackgroundService }) {
  const condition = serviceCondition(service, nowMs.value);
  return (
    <>
      <StatusMark status={condition.replaceAll("_", " ")} /> <Why kind="background_service" of={service} />
    </>
  );
}

function tookText(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : durationText(ms);
}

function reportText({ last_run: run }: BackgroundService): string {
  if (run === null) return "";
  const parts: readonly (readonly [string, number | null])[] = [
    ["looked at", run.examined],
    ["changed", run.changed],
    ["failed", run.failed],
  ];
  return parts.flatMap(([name, count]) => (count === null ? [] : [`${name} ${count}`])).join(", ");
}
