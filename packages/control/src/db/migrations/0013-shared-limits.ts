// Limits of an organization beside those of its tokens, and audit events that stand for several equal refusals.

export const sharedLimits = `
-- Takes as many tickets, up to "wanted", as every one of these buckets has, from all of them. In one call, because a request waits for one
-- round trip at most. Callers name the buckets in the same order (a token's, then its organization's), so none waits for another in a circle.
create function take_tickets(
  owners text[], of_class text, wanted integer, per_minutes double precision[], brims double precision[]
) returns table (given integer, left_over double precision[]) language plpgsql as $$
declare
  bucket record;
  now_is timestamptz;
begin
  given := wanted;
  for n in 1 .. cardinality(owners) loop
    loop
      select b.available, b.refilled_at into bucket from rate_buckets b
      where b.token_id = owners[n] and b.class = of_class for update;
      exit when found;
      insert into rate_buckets (token_id, class, available, granted, refilled_at)
      values (owners[n], of_class, brims[n], 0, clock_timestamp()) on conflict do nothing;
    end loop;
    -- The clock and not now(), which is from before this call waited for the row.
    now_is := clock_timestamp();
    left_over[n] := least(
      brims[n],
      bucket.available + greatest(0, extract(epoch from now_is - bucket.refilled_at)) * per_minutes[n] / 60.0
    );
    given := least(given, floor(left_over[n]));
  end loop;
  for n in 1 .. cardinality(owners) loop
    left_over[n] := left_over[n] - given;
    -- Also where that is earlier, after the machine's clock was set back: otherwise nothing flows in until the old time comes again.
    update rate_buckets b
    set available = left_over[n], granted = given, refilled_at = now_is
    where b.token_id = owners[n] and b.class = of_class;
  end loop;
  return next;
end $$;

-- Counts the tokens of an organization that are valid, without those that have expired.
create index api_tokens_valid on api_tokens (org_id, expires_at) where revoked_at is null;

-- How many equal refusals an event stands for. Without a check, which would read the whole table and block its writers meanwhile.
alter table audit_events add column count integer not null default 1;
`;
