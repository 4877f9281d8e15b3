import type { Template } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { href, type Params } from "../router.ts";
import { Dependents } from "../templates/dependents.tsx";
import { DeleteTemplate } from "../templates/delete-template.tsx";
import { Tags } from "../templates/tags.tsx";
import { versionName } from "../templates/version-name.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { DetailPage } from "../ui/detail-page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { bytesText, printable, shortId } from "../ui/text.ts";
import { Waits } from "../ui/waits.tsx";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { requestOf } from "../ui/request-of.ts";

export function View({ params: { id = "" } }: { readonly params: Params }) {
  return (
    <DetailPage
      id={id}
      read={async (id, signal) => resources.template.put(await skerry.templates.get(id, { signal }))}
      list={{ path: "/templates", title: "Templates" }}
      nameOf={versionName}
      actions={(template) => <Actions template={template} />}
    >
      {(template) => (
        <>
          <p>
            {template.description} <Why kind="template" of={template} />
          </p>
          <Waits what={template.waits_for} />
          <Making template={template} />
          <Details template={template} />
          {template.build_id !== null && <Tags template={template} />}
          <Dependents template={template} />
        </>
      )}
    </DetailPage>
  );
}

function Actions({ template }: { readonly template: Template }) {
  const { id, build_id: build } = template;
  return (
    <>
      <CopyAs request={requestOf("getTemplate", { at: [id], cli: command("skerry template show", id) })} />
      <a class="button primary" href={href(`/sandboxes/new?template=${encodeURIComponent(asked(template))}`)}>
        New sandbox
      </a>
      <a class="button" href={href(`/builds/new?from=${encodeURIComponent(asked(template))}`)}>
        Build on it
      </a>
      {build === null && template.status !== "ready" && <Prepare name={template.name} />}
      {build !== null && <DeleteTemplate template={template} />}
    </>
  );
}

function Prepare({ name }: { readonly name: string }) {
  return (
    <Action
      label="Make its image now"
      needs="hosts:write"
      request={requestOf("prepareTemplate", { at: [name], cli: command("skerry template prepare", name) })}
      run={async () => void resources.template.put(await skerry.templates.prepare(name))}
    />
  );
}

/** How far its image is, and the last lines of the attempt that failed. */
function Making({ template: { progress, failure } }: { readonly template: Template }) {
  return (
    <>
      {progress != null && <p class="muted">Its image is being made: {progress}.</p>}
      {failure != null && failure.last_lines.length > 0 && (
        <pre class="log" tabIndex={0} aria-label="The last lines of the attempt that failed">
          {failure.last_lines.map(printable).join("\n")}
        </pre>
      )}
    </>
  );
}

/** Built-in ones are asked for by name, versions by id: a tag may come to mean another one. */
const asked = ({ id, name, build_id: build }: Template): string => (build === null ? name : id);

function Details({ template }: { readonly template: Template }) {
  const { bytes, frozen_bytes: frozen, build_id: build } = template;
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ["Id", <code>{template.id}</code>],
          ["Disk", `${template.disk_gib} GiB`],
          ["Files", bytes === null ? null : bytesText(bytes)],
          ["Frozen memory", frozen === null ? null : bytesText(frozen)],
          ["User", template.user],
          ["Working directory", template.workdir],
          ["Digest", template.digest === null ? null : <code>{template.digest}</code>],
          ["Build", build === null ? null : <a href={href(`/builds/${build}`)}>{shortId(build)}</a>],
          ["Made", <When at={template.created_at} />],
        ]}
      />
    </Panel>
  );
}
