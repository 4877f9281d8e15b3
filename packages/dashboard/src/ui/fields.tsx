// Inputs of a form from the schema of the request that it sends: bounds, defaults and words are the API's own.

export interface RequestSchema {
  readonly properties: Readonly<Record<string, FieldSchema>>;
}

interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
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
  const common = {
    id: name,
    name,
    value,
    "aria-describedby": `${name}-help`,
    "aria-invalid": fault !== undefined,
  };
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {options === undefined ? (
        <input
          {...common}
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
      <p id={`${name}-help`} class={fault === undefined ? "help" : "fault"}>
        {help}
      </p>
    </div>
  );
}
