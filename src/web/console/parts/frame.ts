import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Content, type Html, html } from '../../../values/html.ts'
import type { Person } from '../access/people.ts'
import { instant } from './instant.ts'

/** The folder of what browsers load. */
export const assetFolder = fileURLToPath(new URL('../browser', import.meta.url))

// The version is in the address, so that a browser never shows a new page with an old style.
const [style, script] = ['console.css', 'console.js'].map((name) => {
  const content = readFileSync(`${assetFolder}/${name}`)
  return `/console/assets/${name}?v=${createHash('sha256').update(content).digest('hex').slice(0, 12)}`
})

/** Changes with every asset. */
export const assetVersion = `${style} ${script}`

/** An entry of the navigation. */
interface NavigationItem {
  readonly label: string
  readonly path: string
  readonly isHere: boolean
  readonly isMinor: boolean
}

/** More entries than this do not fit into a line. */
const maxInLine = 9

/** What is around every page. */
interface Frame {
  readonly title: string
  /** Default: the title. */
  readonly head?: Html | undefined
  /** What the page answers. */
  readonly question?: Content
  /** null: no one is signed in. */
  readonly person: Person | null
  readonly navigation: readonly NavigationItem[]
  /** When the page was read, and the zone of its times; null: it has no data. */
  readonly asOf: { readonly at: Date; readonly zone: string } | null
  /** Whether the browser asks for it again every few seconds. */
  readonly isLive?: boolean
}

/** The document: the same title, navigation and foot for every page, also for errors. */
export function frame(
  { title, head, question, person, navigation, asOf, isLive }: Frame,
  body: Content,
): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Forecourt</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script src="${script}" type="module"></script>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header class="bar">
<strong><a href="/console/">Forecourt</a></strong>
${drawNavigation(navigation)}
${person !== null && person.role !== 'stock' && searchForm}
</header>
<main id="content"${isLive === true ? html` data-live="3"` : ''} tabindex="-1">
${head ?? html`<h1>${title}</h1>`}
${question != null && html`<p class="question">${question}</p>\n`}${body}
</main>
<footer>
${asOf !== null && html`<p>As of ${instant(asOf.at, asOf.zone, { seconds: true })}. Times in ${asOf.zone}.</p>`}
${person !== null && signedIn(person)}
</footer>
</body>
</html>
`
}

/** The pages in a line; where they are many, the minor ones are under More. */
function drawNavigation(items: readonly NavigationItem[]): Html {
  const isFolded = ({ isMinor }: NavigationItem) => items.length > maxInLine && isMinor
  const more = items.filter(isFolded)
  const list = (some: readonly NavigationItem[]) => html`<ul>${some.map(navigationItem)}</ul>`
  return html`<nav aria-label="Pages">${list(items.filter((item) => !isFolded(item)))}${
    more.length > 0 && html`<details><summary>${menuName(more)}</summary>${list(more)}</details>`
  }</nav>`
}

/** The name of the list, with the page that is open where it is one of them. */
function menuName(more: readonly NavigationItem[]): Html {
  const here = more.find(({ isHere }) => isHere)
  return here === undefined ? html`More` : html`More: <strong>${here.label}</strong>`
}

function navigationItem({ label, path, isHere }: NavigationItem): Html {
  const current = isHere ? html` aria-current="page"` : ''
  return html`<li><a href="/console${path}"${current}>${label}</a></li>`
}

const searchForm = html`<form class="search" role="search" action="/console/search"><label><span class="hidden">Find</span>
<input type="search" name="q" placeholder="ID, VIN, name" required></label> <button>Find</button></form>`

function signedIn({ email, role }: Person): Html {
  return html`<form method="post" action="/console/sign-out"><p>${email}, ${role}. <button class="quiet">Sign out</button></p></form>`
}
