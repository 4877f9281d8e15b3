// A form that makes something: its fields are those of the request's schema, and what it sends can be copied.

import { useSignal } from "@preact/signals";
import { SkerryApiError } from "@skerry/sdk";
import { noteFailure } from "../session.ts";
import { CopyAs, quoted } from "./copy-as.tsx";
import { Failure } from "./failure.tsx";
import { Field, type RequestSchema } from "./fields.tsx";
import { Page } from "./page.tsx";

export type Given = Readonly<Record<string, string>>;

interface CreateFormProps {
  readonly title: string;
  readonly schema: RequestSchema;
  /** Fields, in their order, with their labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly initial?: Given;
  /** In the place of the schema's: names that the server knows. */
  readonly choices?: Readonly<Record<string, readonly string[] | undefined>>;
  /** As one would ask for it elsewhere: `POST` here, this command, this method of the client. */
  readonly path: string;
  readonly command: string;
  readonly method: string;
  /** Given what was filled in. */
  readonly create: (fields: Given) => Promise<void>;
}

export function CreateForm({ title, schema, labels, initial = {}, choices = {}, ...words }: CreateFormProps) {
  const given = useSignal<Given>(initial);
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const fields = Object.entries(given.value).filter(([, value]) => value !== "");
  const json = Object.fromEntries(fields);
  const send = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    error.value = undefined;
    try {
      await words.create(json);
    } catch (failure) {
      error.value = failure;
      noteFailure(failure);
    } finally {
      isBusy.value = false;
    }
  };
  const fault = faultOf(error.value);
  const flags = fields.map(([name, value]) => ` --${name.replaceAll("_", "-")} ${quoted(value)}`);
  const request = {
    method: "POST",
    path: words.path,
    json,
    cli: words.command + flags.join(""),
    typescript: `await skerry.${words.method}(${JSON.stringify(json)});`,
  } as const;
  return (
    <Page title={title} name={title} actions={<CopyAs request={request} />}>
      <form class="panel" onSubmit={(event) => void send(event)}>
        {Object.entries(labels).map(([name, label]) => (
          <Field
            key={name}
            {...{ schema, name, label, value: given.value[name] ?? "" }}
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
