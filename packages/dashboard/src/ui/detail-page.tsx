// A page about one thing: it is read once, its events change it, and what is gone is said to be.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLoaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { Failure } from "./failure.tsx";
import { Empty, Loading, Page } from "./page.tsx";
import { StatusMark } from "./status-mark.tsx";

interface DetailPageProps<Item> {
  /** Of the address. */
  readonly id: string;
  /** Puts it among the resources, where events change it. */
  readonly read: (id: string, signal: AbortSignal) => Promise<ReadonlySignal<Item | null>>;
  /** Of all of its kind. */
  readonly list: { readonly path: string; readonly title: string };
  readonly nameOf: (item: Item) => string;
  readonly actions: (item: Item) => ComponentChildren;
  readonly children: (item: Item) => ComponentChildren;
}

export function DetailPage<Item extends { readonly status: string }>(props: DetailPageProps<Item>) {
  const { id, list, nameOf, actions, children } = props;
  const read = useLoaded(`${list.path}/${id}`, (signal) => props.read(id, signal));
  const above = <a href={href(list.path)}>{list.title}</a>;
  const item = read.value?.value;
  if (item == null)
    return (
      <Page title={above} name={id}>
        {read.error !== undefined && <Failure error={read.error} retry={read.reload} />}
        {read.error === undefined && item === undefined && <Loading />}
        {item === null && <Empty what="It is not there any more." />}
      </Page>
    );
  return (
    <Page
      name={nameOf(item)}
      title={
        <>
          {above} / {nameOf(item)} <StatusMark status={item.status} />
        </>
      }
      actions={actions(item)}
    >
      {children(item)}
    </Page>
  );
}
