// A form: its fields are those of the request's schema, and what it sends can be copied.

import { useSignal } from "@preact/signals";
import { SkerryApiError, type Scope } from "@skerry/sdk";
import { refusalOf } from "../session.ts";
import { CopyAs, type RequestWords } from "./copy-as.tsx";
import { Failure } from "./failure.tsx";
import { Checks, Field, type RequestSchema } from "./fields.tsx";
import { useDeed } from "./use-deed.ts";

/** What was filled in, by the field's name; of a field with several choices, those that are chosen, with spaces between. */
export type Given = Readonly<Record<string, string>>;

export interface FormProps {
  readonly schema: RequestSchema;
  /** Fields, in their order, with their labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly initial?: Given;
  /** In the place of the schema's: names that the server knows. */
  readonly choices?: Readonly<Record<string, readonly string[] | undefined>>;
  /** Fields of which several choices can be taken. */
  readonly several?: readonly string[];
  /** Of the button, also while it works: `Create` and `Creating…`. */
  readonly submit: readonly [label: string, busy: string];
  /** What it changes, where the page has several such forms. */
  readonly of?: string;
  /** Without it, the button is there and says so. */
  readonly needs?: Scope;
  /** The field of the form that has what the server names so, where that is another name. */
  readonly fieldOf?: (named: string) => string;
  /** What `send` sends. */
  readonly request: (given: Given) => RequestWords;
  readonly send: (given: Given) => Promise<unknown>;
}

export function Form({
  schema,
  labels,
  initial = {},
  choices = {},
  several = [],
  fieldOf,
  ...deed
}: FormProps) {
  const filled = useSignal<Given>(initial);
  const { isBusy, error, act } = useDeed();
  const given = Object.fromEntries(Object.entries(filled.value).filter(([, value]) => value !== ""));
  const send = (event: Event) => {
    event.preventDefault();
    void act(() => deed.send(given));
  };
  const fault = faultOf(error, fieldOf);
  const name = deed.of === undefined ? deed.submit[0] : `${deed.submit[0]} ${deed.of}`;
  const refusal = refusalOf(deed.needs);
  return (
    <form class="sheet" onSubmit={send}>
      {Object.entries(labels).map(([name, label]) => {
        const Input = several.includes(name) ? Checks : Field;
        return (
          <Input
            key={name}
            {...{ schema, name, label, value: filled.value[name] ?? "" }}
            {...(choices[name] === undefined ? {} : { choices: choices[name] })}
            fault={fault?.field === name ? fault.message : undefined}
            onInput={(value) => (filled.value = { ...filled.value, [name]: value })}
          />
        );
      })}
      <div class="actions">
        <button
          type="submit"
          class="primary"
          aria-label={name}
          disabled={isBusy || refusal !== ""}
          title={refusal}
        >
          {deed.submit[isBusy ? 1 : 0]}
        </button>
        <CopyAs request={deed.request(given)} of={name} />
      </div>
      {refusal !== "" && <p class="help">{refusal}</p>}
      {error !== undefined && <Failure error={error} />}
    </form>
  );
}

/** The field that the server has something against. */
function faultOf(
  error: unknown,
  fieldOf: FormProps["fieldOf"] = (named) => named,
): { readonly field: string; readonly message: string } | undefined {
  const field = error instanceof SkerryApiError ? error.context?.["field"] : undefined;
  return error instanceof Error && typeof field === "string"
    ? { field: fieldOf(field), message: error.message }
    : undefined;
}
