// Inputs of a form from the schema of the request that it sends: bounds, defaults and words are the API's own.

import { useId } from "preact/hooks";

export interface RequestSchema {
  readonly properties: Readonly<Record<string, FieldSchema>>;
}

interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  /** Of a list. */
  readonly items?: { readonly enum?: readonly string[] };
  readonly default?: string | number | boolean;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Of a text of several lines: how many of them are seen. */
  readonly rows?: number;
  /** Shows a text as dots: it is not to be read over a shoulder. */
  readonly masked?: boolean;
  readonly required?: boolean;
}

interface FieldProps {
  readonly schema: RequestSchema;
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** In the place of the schema's: names that the server knows. */
  readonly choices?: readonly string[];
  /** What the server has against it. */
  readonly fault?: string | undefined;
}

export function Field({ schema, name, label, value, onInput, choices, fault }: FieldProps) {
  const field = schema.properties[name] ?? {};
  const options = choices ?? field.enum;
  const help = fault ?? field.description;
  const id = useId();
  const common = {
    id,
    name,
    value,
    "aria-describedby": `${id}-help`,
    "aria-invalid": fault !== undefined,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options === undefined && field.rows !== undefined ? (
        <textarea
          {...common}
          rows={field.rows}
          class={field.masked === true ? "masked" : ""}
          autocomplete="off"
          required={field.required === true}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : options === undefined ? (
        <input
          {...common}
          {...(field.minimum !== undefined && { type: "number", min: field.minimum, max: field.maximum })}
          maxLength={field.maxLength}
          placeholder={field.default === undefined ? "" : String(field.default)}
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <select {...common} onInput={(event) => onInput(event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      )}
      <p id={`${id}-help`} class={fault === undefined ? "help" : "fault"}>
        {help}
      </p>
    </div>
  );
}

/** Of which several can be taken: `value` has their names, with spaces between. */
export function Checks({ schema, name, label, value, onInput, choices, fault }: FieldProps) {
  const field = schema.properties[name] ?? {};
  const chosen = value.split(" ").filter((one) => one !== "");
  const toggle = (option: string, isOn: boolean) =>
    onInput((isOn ? [...chosen, option] : chosen.filter((one) => one !== option)).join(" "));
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {(choices ?? field.items?.enum ?? []).map((option) => (
        <label key={option} class="check">
          <input
            type="checkbox"
            name={name}
            value={option}
            checked={chosen.includes(option)}
            onChange={(event) => toggle(option, event.currentTarget.checked)}
          />{" "}
          {option}
        </label>
      ))}
      <p class={fault === undefined ? "help" : "fault"}>{fault ?? field.description}</p>
    </fieldset>
  );
}
