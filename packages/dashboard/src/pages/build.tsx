import type { Build } from "@skerry/sdk";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import { skerry } from "../api.ts";
import { BuildEgress } from "../builds/build-egress.tsx";
import { BuildLog } from "../builds/build-log.tsx";
import { BuildSteps } from "../builds/build-steps.tsx";
import { tookOf } from "../builds/took.tsx";
import { resources } from "../live/resources.ts";
import { go, href, type Params } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs, type RequestWords } from "../ui/copy-as.tsx";
import { Copy } from "../ui/copy.tsx";
import { DetailPage } from "../ui/detail-page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { printable, shortId } from "../ui/text.ts";
import { Waits } from "../ui/waits.tsx";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { requestOf } from "../ui/request-of.ts";

export function View({ params: { id = "" } }: { readonly params: Params }) {
  return (
    <DetailPage
      id={id}
      read={async (id, signal) => resources.build.put(await skerry.builds.get(id, { signal }))}
      list={{ path: "/builds", title: "Builds" }}
      nameOf={({ name, tag }) => `${name}:${tag}`}
      actions={(build) => <Actions build={build} />}
    >
      {(build) => (
        <>
          <p class="muted">
            <code>{build.id}</code> <Copy text={build.id} label="the id" /> {build.size} ·{" "}
            <When at={build.created_at} /> <Why kind="build" of={build} />
          </p>
          <Waits what={build.waits_for} />
          <Failed build={build} />
          <BuildSteps build={build} />
          <BuildLog id={build.id} />
          <BuildEgress build={build} />
          <Details build={build} />
        </>
      )}
    </DetailPage>
  );
}

function Actions({ build: { id, status } }: { readonly build: Build }) {
  const needs = "templates:write";
  return (
    <>
      <CopyAs request={requestOf("getBuild", { at: [id], cli: command("skerry build show", id) })} />
      {isBuildOver(status) ? (
        <Action
          label="Try again"
          needs={needs}
          request={deed(id, "retry")}
          run={async () => go(`/builds/${(await skerry.builds.retry(id)).id}`)}
        />
      ) : (
        <Action
          label="Cancel the build"
          danger
          needs={needs}
          confirm="What its steps have done is lost; its log stays."
          request={deed(id, "cancel")}
          run={async () => void resources.build.put(await skerry.builds.cancel(id))}
        />
      )}
    </>
  );
}

function deed(id: string, verb: "cancel" | "retry"): RequestWords {
  return requestOf(`${verb}Build`, { at: [id], cli: command(`skerry build ${verb}`, id) });
}

/** Which step it was, and what that said last. */
function Failed({ build: { error } }: { readonly build: Build }) {
  if (error === null) return null;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{error.message}</strong> <code>{error.code}</code>
      </p>
      {error.last_lines.length > 0 && (
        <pre class="log" tabIndex={0} aria-label="Its last lines">
          {error.last_lines.map(printable).join("\n")}
        </pre>
      )}
    </div>
  );
}

function Details({ build }: { readonly build: Build }) {
  const { pushed } = build;
  const template = pushed?.template_id ?? build.template_id;
  return (
    <Panel title="Details">
      <Facts
        facts={[
          [
            "Version",
            template === null ? null : <a href={href(`/templates/${template}`)}>{shortId(template)}</a>,
          ],
          ...(pushed ? ([["Pushed to", pushed.image]] as const) : []),
          ...(pushed?.digest ? ([["Digest", <code>{pushed.digest}</code>]] as const) : []),
          [
            "Builds of the name",
            <a href={href(`/builds?name=${encodeURIComponent(build.name)}`)}>{build.name}</a>,
          ],
          ["Host", build.host_id],
          ["Begun", <When at={build.started_at} />],
          ["Took", tookOf(build)],
          ["Ends at the latest", <When at={build.ends_by} />],
        ]}
      />
    </Panel>
  );
}
