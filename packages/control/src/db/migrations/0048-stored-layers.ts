// Layers of templates in an object store.

export const storedLayers = `
create table stored_layers (
  -- Names its objects in the store.
  id text primary key,
  org_id text not null references organizations (id),
  digest text not null,
  -- What it takes on the disk of a host.
  bytes bigint not null,
  -- storing, ready, or deleting.
  status text not null,
  -- Null before it is stored, and once it is to be deleted.
  sealed_key bytea,
  -- Objects that it consists of, once it is ready.
  pieces integer not null default 0,
  -- Objects that there may be: as many URLs were handed out, and until then they are good.
  urls integer not null default 0,
  urls_until timestamptz not null default now(),
  -- Why a host could not use what is there; null: it was not seen to be damaged.
  damage text,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
create unique index stored_layers_under_way on stored_layers (org_id, digest) where status = 'storing';
create index stored_layers_by_digest on stored_layers (org_id, digest);
create index stored_layers_due on stored_layers (status, due_at) where status <> 'ready';
`;
