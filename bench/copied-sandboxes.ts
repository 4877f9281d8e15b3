/**
 * SQL that copies the row of a sandbox, for each number `n` of `numbers` (a set-returning call). `changes` is
 * an expression of the copy's own columns as JSON, with the row as `s`.
 */
export function copiedSandboxes(id: string, changes: string, numbers: string): string {
  return `
    do $do$ declare
      -- Its place is not a column that a row can be written with.
      columns text := (select string_agg(column_name, ', ') from information_schema.columns
                       where table_name = 'sandboxes' and column_name <> 'ctid');
    begin
      execute 'insert into sandboxes (' || columns || ') select ' || columns || $copies$ from (
        select (jsonb_populate_record(s, ${changes})).*
        from sandboxes s, ${numbers} n where s.id = '${id}'
      ) copies $copies$;
    end $do$;`;
}
