import { schema } from "openapi:BuildRequest";
import { skerry } from "../api.ts";
import { bodyOf, commandOf, fieldOf, type BuildWay } from "../builds/build-form.ts";
import { go, query, type Params } from "../router.ts";
import { CreateForm } from "../ui/create-form.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { DEFAULT_TEMPLATE, useVmChoices } from "../vm/use-vm-choices.ts";

const begin = { name: "Template", tag: "Tag" };
const end = {
  ...{ start: "Start", ready_port: "Ready by port", ready_http: "Ready by path" },
  ...{ size: "Size", timeout: "Timeout" },
};

/** What it is made of, by the last part of the address; the first is that of the address without one. */
const ways = {
  steps: { from: "Stands on", steps: "Commands" },
  image: { image: "Image", steps: "Commands" },
  repository: { git: "Repository", dockerfile: "Dockerfile" },
} as const satisfies Record<BuildWay, object>;

const { properties } = schema;
/** Those that are objects in a request are filled in as lines here. */
const fields = {
  properties: {
    ...properties,
    steps: {
      rows: 5,
      description:
        "One on each line, run in its order by a shell as root. A line that ends with \\ goes on in the next.",
    },
    dockerfile: {
      description: "Its path in the repository. Where it is empty, what the repository is is detected.",
    },
    start: { description: "A command that is frozen while it runs: each clone wakes with it running." },
    ready_port: {
      description: "Frozen once it takes connections on this port.",
      minimum: 1,
      maximum: 65_535,
    },
    ready_http: { description: "Frozen once a GET of this path is answered well, on that port or on 80." },
  },
};

export function View({ params: { way = "steps" } }: { readonly params: Params }) {
  const chosen = Object.hasOwn(ways, way) ? (way as BuildWay) : "steps";
  const from = query.value.get("from") ?? DEFAULT_TEMPLATE;
  const { template, size } = useVmChoices(from);
  return (
    <CreateForm
      key={chosen}
      title="New build"
      above={
        <Tabs label="Built of" at="/builds/new" names={["Steps", "Image", "Repository"]} chosen={chosen} />
      }
      schema={{
        properties: {
          ...fields.properties,
          steps: { ...fields.properties.steps, required: chosen === "steps" },
        },
      }}
      labels={{ ...begin, ...ways[chosen], ...end }}
      initial={chosen === "steps" ? { from } : {}}
      choices={{ from: template, size }}
      needs="templates:write"
      submit={["Build", "Beginning…"]}
      path="/v1/templates"
      method="templates.beginBuild"
      bodyOf={bodyOf}
      commandOf={commandOf}
      fieldOf={fieldOf}
      create={async (request) => go(`/builds/${(await skerry.templates.beginBuild(request)).id}`)}
    />
  );
}
