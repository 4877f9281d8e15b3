import { useSignal } from "@preact/signals";
import { schema } from "openapi:SandboxCreateRequest";
import { SkerryApiError, type SandboxCreateRequest } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { go } from "../router.ts";
import { CopyAs, quoted } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Field } from "../ui/fields.tsx";
import { Page } from "../ui/page.tsx";

const names = ["template", "name", "size", "mode", "timeout"] as const;
const labels = {
  template: "Template",
  name: "Name",
  size: "Size",
  mode: "Mode",
  timeout: "Timeout",
} as const;

export function View() {
  const given = useSignal<Readonly<Record<string, string>>>({ template: "base", mode: "ephemeral" });
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const templates = useLoaded("templates", (signal) => skerry.templates.list({ signal }));
  const sizes = useLoaded("sizes", (signal) => skerry.sizes.list({ signal }));
  const fields = Object.entries(given.value).filter(([, value]) => value !== "");
  const json = Object.fromEntries(fields) as SandboxCreateRequest;
  const choices: Readonly<Record<string, readonly string[] | undefined>> = {
    template: templates.value?.map(({ name }) => name) ?? ["base"],
    size: sizes.value && ["", ...sizes.value.map(({ name }) => name)],
  };
  const create = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    error.value = undefined;
    try {
      const sandbox = await skerry.sandboxes.create(json);
      go(`/sandboxes/${sandbox.id}`);
    } catch (failure) {
      error.value = failure;
    } finally {
      isBusy.value = false;
    }
  };
  const fault = faultOf(error.value);
  const request = {
    method: "POST",
    path: "/v1/sandboxes",
    json,
    cli: ["skerry create", ...fields.map(([name, value]) => `--${name} ${quoted(value)}`)].join(" "),
    typescript: `const sandbox = await skerry.sandboxes.create(${JSON.stringify(json)});`,
  } as const;
  return (
    <Page title="New sandbox" name="New sandbox" actions={<CopyAs request={request} />}>
      <form class="panel" onSubmit={(event) => void create(event)}>
        {names.map((name) => (
          <Field
            key={name}
            {...{ schema, name, label: labels[name], value: given.value[name] ?? "" }}
            {...(choices[name] === undefined ? {} : { choices: choices[name] })}
            fault={fault?.field === name ? fault.message : undefined}
            onInput={(value) => (given.value = { ...given.value, [name]: value })}
          />
        ))}
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? "Creating…" : "Create"}
        </button>
      </form>
      {error.value !== undefined && <Failure error={error.value} />}
    </Page>
  );
}

/** The field that the server has something against. */
function faultOf(error: unknown): { readonly field: string; readonly message: string } | undefined {
  const field = error instanceof SkerryApiError ? error.context?.["field"] : undefined;
  return error instanceof Error && typeof field === "string" ? { field, message: error.message } : undefined;
}
