// Variables of an app by their names, and secrets of its own. No page can show a value.

import { useSignal } from "@preact/signals";
import type { App, Release } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { secretSchema, VALUE_FILE } from "../organization/secret-form.ts";
import { refusalOf } from "../session.ts";
import { Action } from "../ui/action.tsx";
import { command } from "../ui/copy-as.tsx";
import { Form } from "../ui/form.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { requestOf } from "../ui/request-of.ts";
import { Waiting } from "../ui/waiting.tsx";
import { When } from "../ui/when.tsx";

interface EnvironmentProps {
  readonly app: App;
  readonly live: Release | undefined;
}

export function Environment({ app, live }: EnvironmentProps) {
  const refusal = refusalOf("secrets:read");
  const told = useSignal("");
  const timesSet = useSignal(0);
  const secrets = useLoaded(`secrets of ${app.id}`, async (signal) =>
    refusal === "" ? skerry.apps.secrets(app.id, { signal }) : [],
  );
  const change = (text: string) => {
    told.value = `${text} The next deploy has the change.`;
    timesSet.value += 1;
    secrets.reload();
  };
  return (
    <Panel title="Environment">
      <Facts
        facts={[
          ["Variables", live === undefined || live.variables.length === 0 ? null : live.variables.join(", ")],
          [
            "Secrets of the live release",
            live === undefined || live.secrets.length === 0 ? null : live.secrets.join(", "),
          ],
          ["Changed by the next deploy", stagedText(app)],
        ]}
      />
      <details class="more">
        <summary>Set a secret of the app</summary>
        <SetForm key={timesSet.value} app={app} done={change} />
      </details>
      <p class="help" role="status">
        {told.value || refusal}
      </p>
      <Waiting of={secrets}>
        <ul class="plain">
          {secrets.value?.map(({ name, version, set_at: at }) => (
            <li key={name}>
              <strong>{name}</strong>{" "}
              <span class="muted">
                version {version} · set <When at={at} />
              </span>{" "}
              <Action
                label="Delete"
                of={name}
                danger
                needs="secrets:write"
                confirm={`${name} and all of its versions are gone. Instances keep it until the next deploy.`}
                request={requestOf("deleteAppSecret", {
                  at: [app.id, name],
                  cli: command("skerry secret delete", name, "--app", app.name),
                })}
                run={async () => {
                  await skerry.apps.deleteSecret(app.id, name);
                  change(`${name} is deleted.`);
                }}
              />
            </li>
          ))}
        </ul>
      </Waiting>
    </Panel>
  );
}

function stagedText({ staged_variables: { set, unset } }: App): string | null {
  const words = [...set, ...unset.map((name) => `${name} is taken away`)];
  return words.length === 0 ? null : words.join(", ");
}

function SetForm({ app, done }: { readonly app: App; readonly done: (text: string) => void }) {
  return (
    <Form
      schema={secretSchema}
      labels={{ name: "Name", value: "Value" }}
      submit={["Set", "Setting…"]}
      of="the secret"
      needs="secrets:write"
      request={({ name = "NAME" }) => ({
        ...requestOf("setAppSecret", {
          at: [app.id, name],
          cli: command("skerry secret set", name, "--app", app.name, "--stage", "--from-file", VALUE_FILE),
        }),
        file: VALUE_FILE,
        typescript:
          'import { readFile } from "node:fs/promises";\n' +
          `await skerry.apps.setSecret(${JSON.stringify(app.id)}, ${JSON.stringify(name)}, { value: await readFile("${VALUE_FILE}", "utf8") });`,
      })}
      send={async ({ name = "", value = "" }) => {
        const { version } = await skerry.apps.setSecret(app.id, name, { value });
        done(`${name} has version ${version} now.`);
      }}
    />
  );
}
