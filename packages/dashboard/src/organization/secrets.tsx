// Secrets of the organization: set, rolled back and deleted here. No page can show a value, and what can be
// copied has none.

import { useSignal } from "@preact/signals";
import type { Secret, SecretHistory } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded, type Loaded } from "../live/use-loaded.ts";
import { refusalOf } from "../session.ts";
import { secretSchema, VALUE_FILE } from "./secret-form.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Form } from "../ui/form.tsx";
import { Panel } from "../ui/panel.tsx";
import { requestOf } from "../ui/request-of.ts";
import { Waiting } from "../ui/waiting.tsx";
import { When } from "../ui/when.tsx";

export const useSecrets = (): Loaded<readonly Secret[]> =>
  useLoaded("secrets", async (signal) => (refusal() === "" ? skerry.secrets.list({ signal }) : []));

/** Browsers report a call that is refused as a fault of the page. */
const refusal = (): string => refusalOf("secrets:read");

export function Secrets({ secrets }: { readonly secrets: Loaded<readonly Secret[]> }) {
  const told = useSignal("");
  const timesSet = useSignal(0);
  const request = requestOf("listSecrets", { cli: "skerry secret list" });
  return (
    <Panel title="Secrets" actions={<CopyAs request={request} of="the secrets" />}>
      <details class="more">
        <summary>Set a secret</summary>
        {/* The form of before goes, with the value in it. */}
        <SetForm
          key={timesSet.value}
          done={(name, version) => {
            timesSet.value += 1;
            told.value = `${name} has version ${version} now.`;
            secrets.reload();
          }}
        />
      </details>
      <p class="help" role="status">
        {told.value || refusal()}
      </p>
      <Waiting of={secrets}>
        <ul class="plain">
          {secrets.value?.map((secret) => (
            <Line key={secret.name} {...{ secret, told }} reload={secrets.reload} />
          ))}
        </ul>
      </Waiting>
    </Panel>
  );
}

function SetForm({ done }: { readonly done: (name: string, version: number) => void }) {
  return (
    <Form
      schema={secretSchema}
      labels={{ name: "Name", value: "Value" }}
      submit={["Set", "Setting…"]}
      of="the secret"
      needs="secrets:write"
      request={({ name = "NAME" }) => ({
        ...requestOf("setSecret", {
          at: [name],
          cli: command("skerry secret set", name, "--from-file", VALUE_FILE),
        }),
        file: VALUE_FILE,
        typescript:
          'import { readFile } from "node:fs/promises";\n' +
          `await skerry.secrets.set(${JSON.stringify(name)}, { value: await readFile("${VALUE_FILE}", "utf8") });`,
      })}
      send={async ({ name = "", value = "" }) =>
        done(name, (await skerry.secrets.set(name, { value })).version)
      }
    />
  );
}

interface LineProps {
  readonly secret: Secret;
  readonly told: { value: string };
  readonly reload: () => void;
}

function Line({ secret: { name, version, digest, set_at }, told, reload }: LineProps) {
  const isOpen = useSignal(false);
  return (
    <li>
      <strong>{name}</strong>{" "}
      <span class="muted">
        version {version} · <code>{digest}</code> · set <When at={set_at} />
      </span>
      <details class="more" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary aria-label={`Versions of ${name}`}>Versions</summary>
        {isOpen.value && <Versions {...{ name, version, told, reload }} />}
      </details>
      <Action
        label="Delete"
        of={name}
        danger
        needs="secrets:write"
        confirm={`${name} and all of its versions are gone. What runs with it keeps it until it ends or starts again.`}
        request={requestOf("deleteSecret", { at: [name], cli: command("skerry secret delete", name) })}
        run={async () => {
          const { still_in: vms } = await skerry.secrets.delete(name);
          told.value = `${name} is deleted${vms.length === 0 ? "." : `, and still in ${vms.join(", ")}.`}`;
          reload();
        }}
      />
    </li>
  );
}

interface VersionsProps extends Omit<LineProps, "secret"> {
  readonly name: string;
  readonly version: number;
}

function Versions({ name, version, told, reload }: VersionsProps) {
  const history = useLoaded<SecretHistory>(`${name} ${version}`, (signal) =>
    skerry.secrets.get(name, { signal }),
  );
  return (
    <Waiting of={history}>
      <ul class="plain">
        {history.value?.versions.map((one) => (
          <li key={one.version}>
            version {one.version}{" "}
            <span class="muted">
              <code>{one.digest}</code> · set <When at={one.set_at} />
              {one.rolled_back_to !== null && ` with the value of version ${one.rolled_back_to}`}
            </span>
            {one.version !== version && (
              <Action
                label="Roll back"
                of={`${name} to version ${one.version}`}
                needs="secrets:write"
                request={requestOf("rollBackSecret", {
                  at: [name],
                  json: { version: one.version },
                  cli: command("skerry secret rollback", name, String(one.version)),
                })}
                run={async () => {
                  const now = await skerry.secrets.rollBack(name, { version: one.version });
                  told.value = `${name} has version ${now.version} now.`;
                  reload();
                }}
              />
            )}
          </li>
        ))}
      </ul>
    </Waiting>
  );
}
