import { schema } from "openapi:SandboxCreateRequest";
import { skerry } from "../api.ts";
import { go, query } from "../router.ts";
import { asFilledIn, CreateForm } from "../ui/create-form.tsx";
import { DEFAULT_TEMPLATE, useVmChoices } from "../vm/use-vm-choices.ts";

export function View() {
  return (
    <CreateForm
      title="New sandbox"
      schema={schema}
      labels={{ template: "Template", name: "Name", size: "Size", mode: "Mode", timeout: "Timeout" }}
      initial={{ template: query.value.get("template") ?? DEFAULT_TEMPLATE, mode: "ephemeral" }}
      choices={useVmChoices()}
      path="/v1/sandboxes"
      method="sandboxes.create"
      {...asFilledIn("skerry sandbox create")}
      needs="sandboxes:write"
      create={async (fields) => go(`/sandboxes/${(await skerry.sandboxes.create(fields)).id}`)}
    />
  );
}
