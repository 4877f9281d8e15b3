import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** Share of a host's disk that the cache leaves free. */
const FREE_SHARE = 0.1;

export interface CachedOnHost {
  /** Of the host. */
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  /** Bytes of its disk that should be free and are not; 0 where enough is, or that is not known. */
  readonly lacking: number;
}

/** What hosts have of the cache. A layer that several entries stand on counts once, and the lowest ones, which are built in, do not. */
export async function cachedByHost(db: Queries): Promise<CachedOnHost[]> {
  const { rows } = await sql<CachedOnHost>`
    with layers as (
      select distinct on (host_id, layer ->> 'digest') host_id, (layer ->> 'bytes')::bigint as bytes
      from build_cache, jsonb_array_elements(image -> 'layers') with ordinality as found (layer, height)
      where status = 'ready' and height > 1
      order by host_id, layer ->> 'digest'
    )
    select hosts.id, hosts.name, coalesce(sum(layers.bytes), 0)::float8 as bytes, greatest(0, coalesce(
      (usage ->> 'disk_bytes')::float8 * ${FREE_SHARE} - (usage ->> 'disk_free_bytes')::float8, 0)) as lacking
    from hosts left join layers on layers.host_id = hosts.id
    where removed_at is null group by hosts.id order by hosts.name`.execute(db);
  return rows;
}
