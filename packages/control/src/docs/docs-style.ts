// The look of the API's page: readable at any width, by day and by night, and without a script.

export const docsStyle = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6575; --line: #e2e6ec; --paper: #fff; --panel: #f6f8fa; --accent: #0b63ce;
  --get: #1a7f4b; --post: #0b63ce; --put: #9a6700; --patch: #8250df; --delete: #c4314b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #9aa5b5; --line: #2c3441; --paper: #12161d; --panel: #1a2029; --accent: #6cb0ff;
  --get: #56c98d; --post: #6cb0ff; --put: #d9a648; --patch: #b794f6; --delete: #ff7a90; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
.page { display: grid; grid-template-columns: 19rem minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
.wide { position: sticky; top: 0; align-self: start; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem 3rem 1.5rem; border-right: 1px solid var(--line); }
.narrow, .up { display: none; }
nav { font-size: .875rem; }
nav h2 { margin: 1.25rem 0 .25rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
nav a:hover { color: var(--accent); }
main { padding: 1.5rem 2.5rem 6rem; min-width: 0; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; letter-spacing: -.01em; }
main > section > h2 { margin: 3.5rem 0 0; padding-bottom: .4rem; border-bottom: 2px solid var(--line); font-size: 1.4rem; text-transform: capitalize; }
article { padding: 1.75rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 0 0 .35rem; font-size: 1.1rem; line-height: 1.4; }
h4 { margin: 1.25rem 0 .4rem; font-size: .8rem; letter-spacing: .04em; text-transform: uppercase; color: var(--soft); }
p { margin: .5rem 0; max-width: 46rem; }
a { color: var(--accent); }
code, pre { font: .85em/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
pre { margin: .4rem 0; padding: .8rem 1rem; overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; }
.call { margin: 0 0 .6rem; max-width: none; }
.method { display: inline-block; min-width: 3.6rem; font-weight: 700; font-size: .8em; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.tags { display: flex; flex-wrap: wrap; gap: .4rem; margin: .6rem 0; padding: 0; list-style: none; font-size: .8rem; }
.tags li { padding: .1rem .6rem; border: 1px solid var(--line); border-radius: 999px; color: var(--soft); background: var(--panel); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .8rem; }
th, td { padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td p { margin: 0; }
td:first-child { white-space: nowrap; }
td:first-child code { overflow-wrap: normal; white-space: nowrap; }
td:last-child { min-width: 12rem; padding-right: 0; }
.type, .soft { color: var(--soft); }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 56rem) {
  .page { display: block; }
  .wide { display: none; }
  .narrow { display: block; margin: 0; padding: .75rem 1.25rem; border-bottom: 1px solid var(--line); }
  .narrow summary { font-size: 1rem; font-weight: 600; color: inherit; }
  .narrow nav { padding: .75rem 0; font-size: 1rem; }
  .narrow nav a { padding: .35rem 0; }
  .up { display: block; position: fixed; right: 1rem; bottom: 1rem; padding: .45rem .9rem; font-size: .85rem; text-decoration: none; background: var(--panel);
    border: 1px solid var(--line); border-radius: 999px; }
  main { padding: 1.25rem 1.25rem 5rem; }
  /* Nothing lies beyond the edge, where no one would look for it: lines break, and each field is a paragraph of its own. */
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table, tbody, tr, td { display: block; }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  td { padding: 0; border: 0; }
  td:first-child, td:first-child code { white-space: normal; overflow-wrap: anywhere; }
}
@media print { .wide, .narrow, .up { display: none; } .page { display: block; } }
`;
