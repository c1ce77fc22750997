import { createHash } from 'node:crypto'
import { Html, html } from '../../values/html.ts'
import type { LinkKind, LinkOutcome, VanishedReason } from './link.ts'

/** An answer for a person: plain words, no markup. `name` is for programs. */
export interface Page {
  readonly status: number
  readonly name: string
  readonly title: string
  readonly lines: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

type PageOutcome = Exclude<LinkOutcome, { readonly is: 'live' }>

const things: Readonly<Record<LinkKind, string>> = {
  ppsr_pdf: 'PPSR certificate',
  car_history_pdf: 'Car History report',
  photo: 'photo',
}

const whyGone: Readonly<Record<Exclude<VanishedReason, 'erased'>, string>> = {
  gone: 'the appraisal that it belongs to is not there any more',
  unlisted: 'it is not listed for the vehicle any more',
  bare: 'it is listed, but without a document to open',
}

/** The same for every request, so that it does not show what exists. */
export const refusedPage: Page = {
  status: 401,
  name: 'unauthorised',
  title: 'This link needs its access token',
  lines: [
    'The access token is missing or wrong, so nothing can be shown.',
    'Open the link from your dashboard again, or ask the person who manages the dashboard for the current address.',
  ],
  headers: { 'www-authenticate': 'Bearer' },
}

export const tooManyPage: Page = {
  status: 429,
  name: 'too-many',
  title: 'Too many links without a valid access token',
  lines: ['Wait a minute, then open the link from your dashboard again.'],
  headers: { 'retry-after': '60' },
}

export const notFoundPage: Page = {
  status: 404,
  name: 'not-found',
  title: 'There is nothing at this address',
  lines: ['Check the address: a part of it may be missing.'],
}

/** The page for a fault of ours; the error itself is in the log alone. */
export const brokenPage: Page = {
  status: 503,
  name: 'unavailable',
  title: 'This cannot be opened just now',
  lines: [
    'Something went wrong on our side, and it has been noted.',
    'Try again in a minute. If that does not help, ask the person who manages your dashboards.',
  ],
  headers: { 'retry-after': '60' },
}

/** The page for a dealer's employee when there is no live link. `kind` null: there is no such kind of link. */
export function outcomePage(kind: LinkKind | null, outcome: PageOutcome): Page {
  const thing = kind === null ? 'document' : things[kind]
  if (outcome.is === 'vanished') return vanishedPage(thing, outcome.reason)
  if (outcome.is === 'unknown') return unknownPage(thing)
  if (outcome.is === 'ambiguous') return ambiguousPage(thing, outcome.rooftops)
  return {
    ...brokenPage,
    lines: [
      `The appraisal service, which keeps the ${thing}, did not answer as it should. Nothing is lost.`,
      `Try again in ${waitText(outcome.retryAfterSeconds)}. If that does not help, ask the person who manages your dashboards.`,
    ],
    headers: { 'retry-after': String(outcome.retryAfterSeconds) },
  }
}

function vanishedPage(thing: string, reason: VanishedReason): Page {
  if (reason === 'erased')
    return {
      status: 410,
      name: 'erased',
      title: `This ${thing} was erased`,
      lines: [
        `The customer's personal data was erased on request, and the link to this ${thing} with it.`,
        'Your link is right, and trying again will not help.',
      ],
    }
  return {
    status: 410,
    name: 'vanished',
    title: `This ${thing} is no longer available`,
    lines: [
      `The appraisal service does not give this ${thing} out any more: ${whyGone[reason]}.`,
      'Your link is right, and trying again will not help. If you need it, ask whoever made the appraisal for a copy.',
    ],
  }
}

function unknownPage(thing: string): Page {
  return {
    status: 404,
    name: 'unknown',
    title: `This ${thing} is not known here`,
    lines: [
      'The address may be incomplete or mistyped.',
      'If it belongs to something very new, try again tomorrow: new records arrive every night.',
    ],
  }
}

function ambiguousPage(thing: string, rooftops: readonly { uid: string; name: string }[]): Page {
  return {
    status: 409,
    name: 'ambiguous',
    title: `More than one ${thing} has this number`,
    lines: [
      'Several rooftops have one. Add ?rooftop= (or &rooftop=) and the code of yours to the address:',
      ...rooftops.map(({ uid, name }) => `${name}: rooftop=${encodeURIComponent(uid)}`),
    ],
  }
}

function waitText(seconds: number): string {
  if (seconds <= 90) return 'a minute'
  return seconds < 3600 ? `${Math.round(seconds / 60)} minutes` : 'an hour'
}

const style = `
:root { color-scheme: light dark; }
body { max-width: 38rem; margin: 18vh auto 0; padding: 0 1.5rem; font: 1.05rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.3; }
`

/** Allows only the style of the page itself, and loads nothing. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`

/** The page as a document that loads nothing from anywhere. */
export function pageHtml({ title, lines }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${lines.map(
  (line) => html`<p>${line}</p>
`,
)}</main>
</body>
</html>
`.text
}

/** The page for a program. */
export function pageJson({ name, title, lines }: Page): string {
  return JSON.stringify({ error: name, title, message: lines.join(' ') })
}
