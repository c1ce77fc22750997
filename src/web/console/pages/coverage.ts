import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import { type Html, html } from '../../../values/html.ts'
import { isDay, localDay } from '../../../values/instant.ts'
import { plural } from '../../../values/text.ts'
import {
  calendarAxis,
  calendarLegend,
  calendarPatterns,
  calendarRow,
  spanWords,
} from '../charts/calendar.ts'
import { dayName } from '../charts/scale.ts'
import {
  type Frame,
  frameSpan,
  moved,
  readFrame,
  type Zoom,
  zoomed,
  zooms,
} from '../coverage/frame.ts'
import { countUnplaced, findDoubts, readSpans, type Span, spanSummary } from '../coverage/spans.ts'
import { countNights, type DayEnd, nightStrip, readDayEnds } from '../morning/nights.ts'
import { definePage, Redirect } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { choice, filterForm, hiddenFields } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { pictures, table } from '../parts/table.ts'

const rooftopsOnPage = 50
/** Rows of the list below the chart. */
const maxListed = 100
/** Nights of a stream without windows. */
const nightCount = 14

/** What the page shows; it is also the query that leads to it. */
interface View {
  readonly stream: string
  readonly group: string
  readonly page: number
  readonly frame: Frame
}

export const coverage = definePage({
  path: '/coverage',
  question: 'Which days do I have, of every rooftop?',
  roles: ['engineer', 'viewer'],
  navigation: 'Coverage',
  async read({ db, config, query, now }) {
    const { uid = '', day = '' } = query
    const known = config.rooftops.some((rooftop) => rooftop.uid === uid)
    const zone = config.console!.timezone
    const stream = allStreams.find(({ name }) => name === query['stream']) ?? firstStream
    if (known && isDay(day))
      return new Redirect(dayPath(uid, day, stream.name).slice('/console'.length))
    const group = query['group'] ?? ''
    const matching = config.rooftops.filter((one) => group === '' || one.group === group)
    const pages = Math.max(1, Math.ceil(matching.length / rooftopsOnPage))
    const page = Math.min(pages, Math.max(1, Math.floor(Number(query['page'])) || 1))
    const rooftops = matching.slice((page - 1) * rooftopsOnPage, page * rooftopsOnPage)
    const uids = rooftops.map((rooftop) => rooftop.uid)
    const frame = readFrame(query, { zone, now })
    const isWindowed = stream.records !== undefined
    const view: View = { stream: stream.name, group, page, frame }
    return {
      ...{
        view,
        pages,
        isWindowed,
        rooftops: rooftops.map(({ uid, name, timezone }) => ({ uid, name, timezone })),
      },
      spans: isWindowed ? await readSpans(db, stream.name, uids, frameSpan(frame, zone)) : [],
      unplaced: await countUnplaced(db, stream.name, uids),
      ends: isWindowed ? [] : await readDayEnds(db, uids, { zone, now, count: nightCount }),
    }
  },
  title: ({ view }) => `Coverage of ${view.stream}`,
  draw(data, { config, now }) {
    const { view, pages, isWindowed } = data
    const zone = config.console!.timezone
    return html`${drawFilter(view, config)}
${isWindowed ? drawCalendar(data, zone) : drawNights(data, { zone, now })}
${drawPages(view, pages)}
${drawUnplaced(data.unplaced, view)}
<h2>One day</h2>
${drawDayForm(view, data.rooftops, localDay(now, zone))}`
  },
})

const firstStream = allStreams.find(({ records }) => records !== undefined)!

type Rooftop = Pick<Config['rooftops'][number], 'uid' | 'name' | 'timezone'>

interface Data {
  readonly view: View
  readonly rooftops: readonly Rooftop[]
  readonly spans: readonly Span[]
  readonly ends: readonly DayEnd[]
}

/** The address of a day of a rooftop. */
function dayPath(uid: string, day: string, stream: string): string {
  return `/console/coverage/${encodeURIComponent(uid)}/${day}?stream=${stream}`
}

function viewPath({ stream, group, page, frame }: View): string {
  const query = new URLSearchParams({ stream, from: frame.from, to: frame.to })
  if (group !== '') query.set('group', group)
  if (page > 1) query.set('page', String(page))
  return `/console/coverage?${query}`
}

function drawFilter(view: View, { rooftops }: Config): Html {
  const streams = Object.fromEntries(allStreams.map(({ name }) => [name, name]))
  const groups = [...new Set(rooftops.map(({ group }) => group))].sort()
  const options = { '': 'all', ...Object.fromEntries(groups.map((group) => [group, group])) }
  return filterForm('/coverage', 'What to show', [
    choice('Stream', 'stream', view.stream, streams),
    groups.length > 1 && choice('Group', 'group', view.group, options),
    hiddenFields({ from: view.frame.from, to: view.frame.to }),
  ])
}

function drawCalendar({ view, rooftops, spans }: Data, zone: string): Html {
  const frame = frameSpan(view.frame, zone)
  const byRooftop = Map.groupBy(spans, ({ uid }) => uid)
  return html`${calendarPatterns}${calendarLegend}
${drawZoom(view)}
${table({
  caption: `${view.stream} by rooftop, ${frameText(view.frame)}`,
  hidesCaption: true,
  columns: [
    'Rooftop',
    pictures([html`<span class="hidden">Days</span>`, calendarAxis(frame, zone)]),
  ],
  rows: rooftops.map(({ uid, name, timezone }) => {
    const rooftopSpans = byRooftop.get(uid) ?? []
    const words = spanSummary(rooftopSpans)
    return [
      html`<a href="/console/rooftops/${encodeURIComponent(uid)}">${name}</a><small>${words}, ${timezone}</small>`,
      calendarRow({
        summary: `${name}: ${words}`,
        ...{ frame, zone: timezone, spans: rooftopSpans },
      }),
    ]
  }),
  empty: 'No rooftop of the config is in this group.',
})}
${spans.length === 0 && html`<p class="empty">Nothing was asked for in this time yet. Load it with <code>forecourt sync</code>, or older days with <code>forecourt backfill ${view.stream} --from ${view.frame.from}</code>.</p>`}
<h2>Missing or in doubt</h2>
${drawDoubts({ view, rooftops, spans })}`
}

/** What the chart shows as a list, for those who do not see it: what is missing, doubts and quarantine, with links. */
function drawDoubts({ view, rooftops, spans }: Omit<Data, 'ends'>): Html {
  const found = findDoubts(spans)
  const byUid = new Map(rooftops.map((rooftop) => [rooftop.uid, rooftop]))
  return html`${table({
    caption: `What is missing, doubts and quarantine, the worst first${found.length > maxListed ? `; the first ${maxListed} of ${found.length.toLocaleString('en')}` : ''}`,
    columns: ['Rooftop', 'From', 'To', 'State', ''],
    rows: found.slice(0, maxListed).map((span) => {
      const { uid, state, from, until, records } = span
      const { name, timezone } = byUid.get(uid)!
      const { word, tone } = spanWords[state]
      const count = state === 'quarantine' ? `${records.toLocaleString('en')} ` : ''
      const day = localDay(from, timezone)
      return [
        name,
        instant(from, timezone),
        instant(until, timezone),
        badge(`${count}${word}`, tone),
        html`<a class="button" href="${dayPath(uid, day, view.stream)}">Show ${dayName(day)}</a>`,
      ]
    }),
    empty: 'Nothing: everything that was asked for is loaded.',
  })}
<p class="note">Provisional spans are loaded, and not settled yet: they are listed again until they are old enough to be final. They need nothing. A run lists those that are not listed yet.</p>`
}

/** A stream without windows: how its runs ended, night by night. */
function drawNights(
  { view, rooftops, ends }: Data,
  { zone, now }: { readonly zone: string; readonly now: Date },
): Html {
  const byRooftop = Map.groupBy(
    ends.filter(({ stream }) => stream === view.stream),
    ({ uid }) => uid,
  )
  return html`<p class="note">${view.stream} lists no windows of time: each run reads what is due. These are its last ${nightCount} nights.</p>
${table({
  caption: `The last ${nightCount} nights of ${view.stream} by rooftop`,
  hidesCaption: true,
  columns: ['Rooftop', pictures(`Last ${nightCount} nights`)],
  rows: rooftops.map(({ uid, name }) => [
    html`<a href="/console/rooftops/${encodeURIComponent(uid)}">${name}</a>`,
    nightStrip(countNights(byRooftop.get(uid) ?? [], { zone, now, count: nightCount }), 5),
  ]),
  empty: 'No rooftop of the config is in this group.',
})}`
}

function drawZoom(view: View): Html {
  const { frame } = view
  const to = (next: Frame, text: string) =>
    html`<a href="${viewPath({ ...view, frame: next })}">${text}</a>`
  const sizes = (Object.keys(zooms) as Zoom[]).map((zoom) =>
    zoom === frame.zoom ? html`<strong>${zoom}</strong>` : to(zoomed(frame, zoom), zoom),
  )
  return html`<p class="zoom"><span>${to(moved(frame, -1), 'Earlier')} · <strong>${frameText(frame)}</strong> · ${to(moved(frame, 1), 'Later')}</span> <span>${sizes.map((size, at) => [at > 0 && ' · ', size])}</span></p>`
}

function frameText({ from, to, zoom }: Frame): string {
  const month = (day: string) =>
    new Date(`${day}T00:00:00Z`).toLocaleDateString('en-AU', {
      timeZone: 'UTC',
      month: 'long',
      year: 'numeric',
    })
  if (zoom === null) return `${from} to ${to}`
  const last = new Date(Date.parse(to) - 1).toISOString().slice(0, 10)
  return zoom === 'month' ? month(from) : `${month(from)} to ${month(last)}`
}

function drawPages(view: View, pages: number): Html | null {
  if (pages === 1) return null
  const to = (page: number, text: string) =>
    html`<a href="${viewPath({ ...view, page })}">${text}</a> `
  return html`<p>Page ${view.page} of ${pages}, ${rooftopsOnPage} rooftops each. ${view.page > 1 && to(view.page - 1, 'Before')}${view.page < pages && to(view.page + 1, 'Next')}</p>`
}

/** Records that no window holds, so that no chart can show them. */
function drawUnplaced(count: number, { stream }: View): Html | null {
  if (count === 0) return null
  return html`<p><a href="/console/quarantine?stream=${stream}">${plural(count, 'record')}</a> in quarantine without a window.</p>`
}

function drawDayForm({ stream }: View, rooftops: readonly Rooftop[], today: string): Html {
  const names = Object.fromEntries(rooftops.map(({ uid, name }) => [uid, name]))
  return filterForm('/coverage', 'A day of a rooftop', [
    choice('Rooftop', 'uid', '', names),
    html`<label>Day <input type="date" name="day" value="${today}" required></label>`,
    hiddenFields({ stream }),
  ])
}
