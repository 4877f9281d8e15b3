// A page that makes something.

import type { ComponentChildren } from "preact";
import { call, command, flags } from "./copy-as.tsx";
import { Form, type FormProps, type Given } from "./form.tsx";
import { Page } from "./page.tsx";

interface CreateFormProps<Body extends object> extends Pick<
  FormProps,
  "schema" | "labels" | "initial" | "choices" | "needs" | "fieldOf"
> {
  readonly title: string;
  readonly above?: ComponentChildren;
  readonly submit?: FormProps["submit"];
  /** As one would ask for it elsewhere: `POST` here, this method of the client. */
  readonly path: string;
  readonly method: string;
  /** What is sent of the fields that were filled in. */
  readonly bodyOf: (fields: Given) => Body;
  /** Undefined where no command sends that. */
  readonly commandOf: (body: Body) => string | undefined;
  readonly create: (body: Body) => Promise<void>;
}

export function CreateForm<Body extends object>(props: CreateFormProps<Body>) {
  const { title, above, submit = ["Create", "Creating…"], path, method, ...form } = props;
  const { bodyOf, commandOf, create, ...fields } = form;
  return (
    <Page title={title} name={title}>
      {above}
      <section class="panel">
        <Form
          {...fields}
          submit={submit}
          request={(given) => {
            const json = bodyOf(given);
            const cli = commandOf(json);
            return {
              ...{ method: "POST", path, json, typescript: call(method, json) },
              ...(cli !== undefined && { cli }),
            };
          }}
          send={(given) => create(bodyOf(given))}
        />
      </section>
    </Page>
  );
}

/** Of a request that has the fields as they were filled in, each of which is a flag of the command. */
export function asFilledIn(start: string) {
  return {
    bodyOf: (fields: Given) => fields,
    commandOf: (fields: Given) => command(start, ...flags(fields)),
  };
}
