// A page that makes something.

import { call, command, flags } from "./copy-as.tsx";
import { Form, type FormProps, type Given } from "./form.tsx";
import { Page } from "./page.tsx";

interface CreateFormProps extends Pick<FormProps, "schema" | "labels" | "initial" | "choices"> {
  readonly title: string;
  /** As one would ask for it elsewhere: `POST` here, this command, this method of the client. */
  readonly path: string;
  readonly command: string;
  readonly method: string;
  readonly create: (fields: Given) => Promise<void>;
}

export function CreateForm({ title, path, command: start, method, create, ...fields }: CreateFormProps) {
  return (
    <Page title={title} name={title}>
      <section class="panel">
        <Form
          {...fields}
          submit={["Create", "Creating…"]}
          request={(json) => ({
            method: "POST",
            path,
            json,
            cli: command(start, ...flags(json)),
            typescript: call(method, json),
          })}
          send={create}
        />
      </section>
    </Page>
  );
}
