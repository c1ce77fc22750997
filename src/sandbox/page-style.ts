/** The style sheet of the page: light or dark as the reader prefers, one column on a phone. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --paper: #fff; --raised: #f1f3f6; --line: #dde2e9; --ink: #1b2330; --soft: #55617380;
  --muted: #556173; --accent: #0b5fae; --focus: #0b5fae;
  --read: #1d6b45; --read-bg: #e2f4ea; --write: #85500a; --write-bg: #fdf0d8; --bill: #a3262b; --bill-bg: #fde7e7;
  --region: #4a3f9e; --region-bg: #ebe9fb; --code: #182230; --code-bg: #f4f6f9;
  --get: #0b5fae; --post: #1d6b45; --put: #85500a; --delete: #a3262b;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #11151b; --paper: #191f27; --raised: #212933; --line: #303a47; --ink: #e6ebf2; --soft: #9aa7b880;
    --muted: #a3b0c0; --accent: #7cb8f5; --focus: #7cb8f5;
    --read: #86d9ac; --read-bg: #17382a; --write: #f2c277; --write-bg: #3d2d12; --bill: #ff9f9f; --bill-bg: #45201f;
    --region: #c0b8ff; --region-bg: #2c2853; --code: #dde5ef; --code-bg: #12171e;
    --get: #7cb8f5; --post: #86d9ac; --put: #f2c277; --delete: #ff9f9f;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
}
a { color: var(--accent); text-underline-offset: .18em; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; z-index: 2; }
header.top { border-bottom: 1px solid var(--line); background: var(--paper); }
.wrap { max-width: 76rem; margin: 0 auto; padding: 0 1.5rem; }
header.top .wrap { padding-block: 2rem 1.6rem; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.02em; }
h1 span { color: var(--muted); font-weight: 400; }
.lead { margin: .5rem 0 0; max-width: 46rem; color: var(--muted); }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin: 1rem 0 0; padding: 0; list-style: none; font-size: .92rem; }
.facts b { font-weight: 600; }
.layout { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 2.5rem; align-items: start; padding-block: 1.5rem 4rem; }
nav { position: sticky; top: 1.5rem; font-size: .92rem; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav a { display: block; padding: .22rem .6rem; border-radius: 6px; color: var(--ink); text-decoration: none; }
nav a:hover { background: var(--raised); }
nav ul ul a { padding-left: 1.4rem; color: var(--muted); }
h2 { margin: 2.6rem 0 .4rem; font-size: 1.35rem; letter-spacing: -.01em; }
h3 { margin: 1.8rem 0 .5rem; font-size: 1.02rem; }
h3 small { margin-left: .4rem; color: var(--muted); font-weight: 400; font-size: .85rem; }
main > section:first-child h2 { margin-top: 0; }
section p { margin: .3rem 0 .9rem; max-width: 48rem; }
.cite { color: var(--muted); white-space: nowrap; }
code { font: .875em/1.5 var(--mono); overflow-wrap: anywhere; }
.card .copyable { white-space: normal; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
.card { padding: 1.1rem 1.3rem; border: 1px solid var(--line); border-radius: 12px; background: var(--paper); }
.card h2 { margin: 0; font-size: 1rem; }
.card .url { margin: .35rem 0 .6rem; }
.card .url code { font-size: 1.08rem; font-weight: 600; color: var(--accent); }
.card p:last-child { margin: 0; color: var(--muted); font-size: .92rem; }
.table { margin: .8rem 0 1.3rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; background: var(--paper); }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
caption { padding: .6rem .9rem; text-align: left; font-weight: 600; color: var(--ink); }
th, td { padding: .42rem .9rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
th { background: var(--raised); color: var(--muted); font-weight: 600; font-size: .82rem; white-space: nowrap; }
td code, td:first-child { white-space: nowrap; }
#wire table { min-width: 38rem; table-layout: fixed; }
#wire td code, #wire td:first-child { white-space: normal; }
#wire th:first-child { width: 32%; }
.filter { display: flex; gap: .6rem; align-items: center; }
.filter[hidden] { display: none; }
.filter label { font-weight: 600; font-size: .92rem; }
input[type='search'] {
  flex: 1; max-width: 26rem; padding: .5rem .75rem; border: 1px solid var(--soft); border-radius: 8px;
  background: var(--paper); color: var(--ink); font: inherit;
}
details.operation, details.part { margin: .4rem 0; border: 1px solid var(--line); border-radius: 10px; background: var(--paper); }
details.part { padding: 0 1rem; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
.part > summary { padding: .65rem 0; font-weight: 600; }
.part > summary small { color: var(--muted); font-weight: 400; }
.part > summary::before { content: '▸'; display: inline-block; width: 1.2em; color: var(--muted); }
.part[open] > summary::before { content: '▾'; }
.operation > summary {
  display: grid; grid-template-columns: 4.2rem minmax(0, 1fr) auto; gap: .1rem .8rem; align-items: center; padding: .6rem 1rem;
  border-radius: 10px;
}
.operation > summary:hover { background: var(--raised); }
.operation[open] > summary { border-bottom: 1px solid var(--line); border-radius: 10px 10px 0 0; }
.operation .about { grid-column: 2 / -1; color: var(--muted); font-size: .9rem; line-height: 1.4; }
.path { font-size: .95rem; font-weight: 600; }
.method { font: 700 .76rem/1 var(--mono); letter-spacing: .03em; color: var(--muted); }
.method.get { color: var(--get); } .method.post { color: var(--post); } .method.put { color: var(--put); } .method.delete { color: var(--delete); }
.badges { display: flex; gap: .35rem; flex-direction: row-reverse; }
.badge { padding: .12rem .55rem; border-radius: 99px; font-size: .74rem; font-weight: 600; line-height: 1.5; }
.badge.read { color: var(--read); background: var(--read-bg); }
.badge.write, .badge.changed { color: var(--write); background: var(--write-bg); }
.badge.bill { color: var(--bill); background: var(--bill-bg); }
.badge.region { color: var(--region); background: var(--region-bg); }
.inside { padding: .9rem 1rem .4rem; }
.inside > p { margin-top: 0; color: var(--muted); font-size: .92rem; }
.inside .table { border-radius: 8px; }
.need { color: var(--bill); font-size: .78rem; }
.status { font: 600 .85rem var(--mono); } .s2 { color: var(--read); } .s4 { color: var(--write); } .s5 { color: var(--bill); }
figure.code { margin: 0 0 .9rem; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: var(--code-bg); }
figcaption { padding: .35rem .9rem; font-size: .78rem; font-weight: 600; color: var(--muted); background: var(--raised); border-bottom: 1px solid var(--line); }
figure.code { position: relative; }
pre { margin: 0; padding: .75rem .9rem; overflow-x: auto; color: var(--code); }
pre code { font-size: .83rem; white-space: pre-wrap; }
.copyable { white-space: nowrap; }
button.copy {
  margin-left: .4rem; padding: .05rem .5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--raised);
  color: var(--muted); font: 600 .72rem/1.6 system-ui, sans-serif; cursor: pointer; vertical-align: middle;
}
button.copy:hover { color: var(--accent); border-color: currentColor; }
figure.code > button.copy { position: absolute; top: .25rem; right: .4rem; background: var(--paper); }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--muted); font-size: .88rem; }
[hidden] { display: none !important; }
@media (max-width: 60rem) {
  .layout { grid-template-columns: minmax(0, 1fr); gap: .5rem; padding-top: .5rem; }
  nav { position: static; }
  nav > ul { display: flex; flex-wrap: wrap; gap: .1rem .2rem; }
  nav ul ul { display: none; }
}
@media (max-width: 40rem) {
  .wrap { padding-inline: 1rem; }
  header.top .wrap { padding-block: 1.4rem 1.1rem; }
  h1 { font-size: 1.5rem; }
  .operation > summary { grid-template-columns: minmax(0, 1fr) auto; padding: .65rem .8rem; }
  .operation .method { grid-column: 1; } .operation .badges { grid-column: 2; grid-row: 1; }
  .operation .path { grid-column: 1 / -1; } .operation .about { grid-column: 1 / -1; }
  .inside { padding-inline: .8rem; }
  th, td { padding-inline: .7rem; }
}
@media print { nav, .filter, button.copy { display: none; } }
`
