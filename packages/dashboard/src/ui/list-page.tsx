// A page that is a list: filters that stand in the address, counts that the server has made, and what is new above.

import type { ComponentChildren } from "preact";
import type { ResourceEventKind } from "@skerry/sdk";
import { NEWER_MAX, type List } from "../live/use-list.ts";
import type { ResourceOf } from "../live/resources.ts";
import { query, setQuery } from "../router.ts";
import { CopyAs, type RequestWords } from "./copy-as.tsx";
import { Failure } from "./failure.tsx";
import { Empty, Loading, Page } from "./page.tsx";
import { StatusMark } from "./status-mark.tsx";
import { Table, type Column } from "./table.tsx";
import { countText } from "./text.ts";

interface ListPageProps<Kind extends ResourceEventKind> {
  readonly title: string;
  readonly list: List<Kind>;
  readonly columns: readonly Column<ResourceOf<Kind>>[];
  readonly to?: (item: ResourceOf<Kind>) => string;
  readonly request: RequestWords;
  readonly empty: { readonly what: string; readonly command?: string };
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function ListPage<Kind extends ResourceEventKind>(props: ListPageProps<Kind>) {
  const { title, list, columns, to, request, empty, actions, children } = props;
  const isEmpty = list.rows.length === 0 && !list.isLoading && list.error === undefined;
  return (
    <Page
      title={title}
      name={title}
      actions={
        <>
          <CopyAs request={request} />
          {actions}
        </>
      }
    >
      <div class="filters">
        {children}
        <Counts counts={list.counts} />
      </div>
      {list.error !== undefined && <Failure error={list.error} retry={list.reload} />}
      <Newer list={list} />
      {isEmpty && <Empty {...empty} />}
      {list.rows.length > 0 && (
        <Table label={title} columns={columns} rows={list.rows} onEnd={list.loadMore} {...(to && { to })} />
      )}
      {list.isLoading && list.rows.length === 0 && <Loading />}
    </Page>
  );
}

/** What has appeared since the list was read waits until it is asked for. */
export function Newer({ list }: { readonly list: Pick<List<ResourceEventKind>, "newer" | "reload"> }) {
  if (list.newer === 0) return null;
  return (
    <button type="button" class="newer" onClick={list.reload}>
      {countText(list.newer)}
      {list.newer === NEWER_MAX && "+"} new
    </button>
  );
}

/** Each leads to the list of what it counts. */
function Counts({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const chosen = query.value.get("status");
  return (
    <div class="counts" role="group" aria-label="By status">
      {Object.entries(counts)
        .filter(([status, count]) => count > 0 || status === chosen)
        .map(([status, count]) => (
          <button
            type="button"
            key={status}
            aria-pressed={status === chosen}
            onClick={() => setQuery({ status: status === chosen ? undefined : status })}
          >
            <StatusMark status={status} /> {countText(count)}
          </button>
        ))}
    </div>
  );
}

/** One filter, in the address as `name`. */
export function Filter({ name, label }: { readonly name: string; readonly label: string }) {
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={query.value.get(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
      />
    </label>
  );
}

/** A filter of which the values are known. */
export function Choice({
  name,
  label,
  options,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly string[];
}) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select
        name={name}
        value={query.value.get(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
      >
        <option value="">all</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What of the address is a filter of a list. */
export function filtersOf(...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = query.value.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
}
