// What finds a version: its tags, each of which can be given to another one.

import type { Template } from "@skerry/sdk";
import { TEMPLATE_TAG_MAX_CHARS } from "@skerry/contract/templates/template-name";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { Action } from "../ui/action.tsx";
import { command } from "../ui/copy-as.tsx";
import { Form } from "../ui/form.tsx";
import { Panel } from "../ui/panel.tsx";
import { requestOf } from "../ui/request-of.ts";

const schema = {
  properties: {
    tag: {
      maxLength: TEMPLATE_TAG_MAX_CHARS,
      description: "Where another version of the name has it, it means this one from then on.",
    },
  },
};

export function Tags({ template }: { readonly template: Template }) {
  const { id, name, tags } = template;
  return (
    <Panel title="Tags">
      {tags.length === 0 && <p class="muted">None: its id alone finds it.</p>}
      <ul class="plain">
        {tags.map((tag) => (
          <li key={tag}>
            <code>
              {name}:{tag}
            </code>{" "}
            <Untag template={template} tag={tag} />
          </li>
        ))}
      </ul>
      <Form
        schema={schema}
        labels={{ tag: "New tag" }}
        submit={["Tag", "Tagging…"]}
        needs="templates:write"
        request={({ tag = "" }) =>
          requestOf("tagTemplate", {
            at: [name, tag],
            json: { template: id },
            cli: command("skerry template tag", `${name}:${tag}`, id),
          })
        }
        send={async ({ tag = "" }) =>
          void resources.template.put(await skerry.templates.tag(name, tag, { template: id }))
        }
      />
    </Panel>
  );
}

function Untag({ template, tag }: { readonly template: Template; readonly tag: string }) {
  const { name, tags } = template;
  return (
    <Action
      label="Remove"
      of={`${name}:${tag}`}
      danger
      needs="templates:write"
      confirm={`${name}:${tag} finds nothing any more. The version stays, and its id finds it.`}
      request={requestOf("untagTemplate", {
        at: [name, tag],
        cli: command("skerry template untag", `${name}:${tag}`),
      })}
      run={async () => {
        await skerry.templates.untag(name, tag);
        resources.template.put({ ...template, tags: tags.filter((one) => one !== tag) });
      }}
    />
  );
}
