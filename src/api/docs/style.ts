/** The stylesheet of all pages: system fonts, light and dark colours, and a layout for phones. */
export const style = `
:root {
  --ground: #ffffff; --raised: #f6f7f7; --line: #dfe4e4; --ink: #15201f; --soft: #556163; --accent: #14616f;
  --code: #f6f7f7;
  --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', sans-serif;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Code', 'JetBrains Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101415; --raised: #171c1e; --line: #2a3234; --ink: #e6ebea; --soft: #9aa7a8; --accent: #6cc3d0;
    --code: #0c1011;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 var(--sans);
  display: grid; grid-template-columns: 17rem minmax(0, 1fr); min-height: 100vh;
}
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.2em; }
a:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: 0.5rem 1rem; z-index: 1; }

nav {
  position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 2rem 1.25rem 3rem 1.75rem;
  border-right: 1px solid var(--line); background: var(--raised); font-size: 0.875rem; line-height: 1.45;
}
nav a { color: inherit; text-decoration: none; }
nav a:hover { color: var(--accent); }
.brand { display: block; font-size: 1.125rem; font-weight: 650; letter-spacing: -0.01em; margin-bottom: 1.25rem; }
.pages { display: grid; gap: 0.375rem; padding-bottom: 1.25rem; border-bottom: 1px solid var(--line); }
.pages a { color: var(--soft); }
.pages a[aria-current] { color: var(--ink); font-weight: 600; }
nav h2 { margin: 1.5rem 0 0.5rem; font-size: 0.75rem; font-weight: 600; letter-spacing: 0.04em; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: 0.5rem; align-items: baseline; padding: 0.2rem 0; overflow-wrap: anywhere; }

main { padding: 3rem 3.5rem 6rem; max-width: 82rem; min-width: 0; }
h1 { font-size: 2rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 0.75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.4rem; line-height: 1.3; letter-spacing: -0.01em; margin: 3.5rem 0 0.75rem; }
h3 { font-size: 1.05rem; line-height: 1.4; margin: 0 0 0.5rem; }
h4 { font-size: 0.875rem; margin: 1.75rem 0 0.5rem; color: var(--soft); font-weight: 600; }
p { margin: 0 0 1rem; max-width: 42rem; }
main > .code, main > .table { max-width: 58rem; }
.lead { font-size: 1.125rem; color: var(--soft); }
.anchor { color: var(--soft); text-decoration: none; font-weight: 400; opacity: 0; }
h1:hover .anchor, h2:hover .anchor, h3:hover .anchor, .anchor:focus { opacity: 1; }

code { font-family: var(--mono); font-size: 0.875em; overflow-wrap: anywhere; }
p code, td code, li code, dd code { background: var(--raised); border-radius: 4px; padding: 0.1em 0.3em; }
.code {
  margin: 0 0 1.25rem; border: 1px solid var(--line); border-radius: 8px; background: var(--code); overflow: hidden;
}
.sample { margin: 0 0 1.5rem; }
.sample video { display: block; width: 100%; max-width: 640px; height: auto; border-radius: 8px; background: #000; }
.sample figcaption { padding: 0.45rem 0; border: 0; font-size: 0.875rem; }
.code figcaption { padding: 0.45rem 1rem; font-size: 0.75rem; color: var(--soft); border-bottom: 1px solid var(--line); }
.code pre { margin: 0; padding: 0.9rem 1rem; overflow-x: auto; font-size: 0.8125rem; line-height: 1.6; tab-size: 2; }
.code code { font-size: inherit; overflow-wrap: normal; }

.table { overflow-x: auto; margin: 0 0 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; line-height: 1.5; }
th { text-align: left; font-size: 0.75rem; font-weight: 600; color: var(--soft); padding: 0.4rem 1rem 0.4rem 0; }
td { vertical-align: top; padding: 0.55rem 1rem 0.55rem 0; border-top: 1px solid var(--line); }
td:first-child, th:first-child { width: 11rem; min-width: 8rem; } td:first-child code { overflow-wrap: break-word; }
td:first-child:nth-last-child(6) { width: 24rem; min-width: 14rem; }
td:last-child, th:last-child { padding-right: 0; }
td p { margin: 0 0 0.35rem; } td p:last-child { margin: 0; }
.type { color: var(--soft); font-size: 0.8125rem; display: block; }
.facts { display: grid; grid-template-columns: 11rem minmax(0, 1fr); margin: 0 0 1.5rem; max-width: 52rem; }
.facts dt { color: var(--soft); padding: 0.5rem 1rem 0.5rem 0; border-top: 1px solid var(--line); }
.facts dd { margin: 0; padding: 0.5rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
@media (max-width: 52rem) {
  body { display: block; }
  nav { position: static; height: auto; padding: 1.1rem 1.25rem; border: 0; border-bottom: 1px solid var(--line); }
  .brand { margin-bottom: 0.75rem; }
  .pages { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding: 0; border: 0; }
  nav h2 { margin: 0.75rem 0 0; font-size: 0.875rem; letter-spacing: 0; font-weight: 400; }
  nav section { display: inline-block; margin-right: 1rem; } nav section ul { display: none; }
  main { padding: 1.75rem 1.25rem 4rem; }
  h1 { font-size: 1.6rem; } .lead { font-size: 1rem; }
  td:first-child, th:first-child { width: 8.5rem; }
  .facts { grid-template-columns: minmax(0, 1fr); }
  .facts dt { padding-bottom: 0; } .facts dd { border: 0; padding-top: 0; }
}
@media print { nav { display: none; } body { display: block; } }
`
