import { schema } from "openapi:MachineCreateRequest";
import { skerry } from "../api.ts";
import { go, query } from "../router.ts";
import { asFilledIn, CreateForm } from "../ui/create-form.tsx";
import { DEFAULT_TEMPLATE, useVmChoices } from "../vm/use-vm-choices.ts";

export function View() {
  return (
    <CreateForm
      title="New machine"
      schema={schema}
      labels={{ template: "Template", name: "Name", size: "Size", command: "Command" }}
      initial={{ template: query.value.get("template") ?? DEFAULT_TEMPLATE }}
      choices={useVmChoices()}
      path="/v1/machines"
      method="machines.create"
      {...asFilledIn("skerry machine create")}
      needs="machines:write"
      create={async (fields) => go(`/machines/${(await skerry.machines.create(fields)).id}`)}
    />
  );
}
