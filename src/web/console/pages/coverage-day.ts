import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import type { Stream } from '../../../sync/run/stream.ts'
import { type Html, html } from '../../../values/html.ts'
import { addDays, isDay, startOfDay } from '../../../values/instant.ts'
import { toUnixSeconds } from '../../../values/unix-seconds.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { readSourceNow } from '../../../warehouse/db/source-now.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import {
  calendarAxis,
  calendarLegend,
  calendarPatterns,
  calendarRow,
  spanWords,
} from '../charts/calendar.ts'
import { dayName, type TimeSpan } from '../charts/scale.ts'
import { findDoubts, readSpans, type Span, spanSummary } from '../coverage/spans.ts'
import { ActionRefused, definePage } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { actionButton } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'
import { hasWorker } from '../parts/workers.ts'
import { startRunForWorkers } from '../start-run.ts'

/** What one listing of a window proved. */
interface Certificate {
  readonly from: Date
  readonly until: Date
  readonly listedAt: Date
  readonly listed: number
  readonly loaded: number
  readonly quarantined: number
  readonly vanished: number
  readonly proof: 'plain' | 'halved' | 'unprovable'
  readonly isSettled: boolean
  readonly runId: number
}

/** A day of a rooftop, by the clock of its zone. */
interface CoverageDay {
  readonly rooftop: Config['rooftops'][number]
  readonly stream: Stream
  readonly day: string
  readonly span: TimeSpan
}

/** null: no such rooftop, day or stream. */
function findCoverageDay(
  { rooftops }: Config,
  { uid = '', day = '' }: Readonly<Record<string, string>>,
  name: string | undefined,
): CoverageDay | null {
  const rooftop = rooftops.find((one) => one.uid === uid)
  const windowed = allStreams.filter(({ records }) => records !== undefined)
  const stream = name === undefined ? windowed[0] : windowed.find((one) => one.name === name)
  if (rooftop === undefined || stream === undefined || !isDay(day)) return null
  const from = startOfDay(day, rooftop.timezone)
  return {
    rooftop,
    stream,
    day,
    span: { from, until: startOfDay(addDays(day, 1), rooftop.timezone) },
  }
}

export const coverageDay = definePage({
  path: '/coverage/:uid/:day',
  question: 'What was listed of this day, what was loaded, and what is missing?',
  roles: ['engineer', 'viewer'],
  async read({ db, config, params, query }) {
    const coverageDay = findCoverageDay(config, params, query['stream'])
    if (coverageDay === null) return null
    const { rooftop, stream, day, span } = coverageDay
    const { uid, name, timezone } = rooftop
    return {
      ...{ uid, name, timezone, day, stream: stream.name },
      span,
      certificates: await readCertificates(db, coverageDay),
      spans: await readSpans(db, stream.name, [uid], span),
      hasWorker: hasWorker(await readProcesses(db, config)),
    }
  },
  title: ({ name, day }) => `${name}, ${dayName(day)} ${day.slice(0, 4)}`,
  head: ({ name, day, stream }) =>
    html`<h1>${dayName(day)} ${day.slice(0, 4)}: ${stream} of ${name}</h1>`,
  zone: ({ timezone }) => timezone,
  draw(data, { person, now }) {
    const { uid, name, stream } = data
    const isFuture = data.span.from > now
    return html`<p>${dayLink(data, -1, 'The day before')} · ${dayLink(data, 1, 'The day after')} · <a href="/console/coverage?stream=${stream}">Coverage of all rooftops</a> · <a href="/console/rooftops/${encodeURIComponent(uid)}">${name}</a></p>
${drawDay(data)}
<h2>What is missing</h2>
${drawMissing(data)}
${person.role === 'engineer' && !isFuture && drawAction(data)}
<h2>What was listed</h2>
${drawCertificates(data)}`
  },
  actions: {
    'read-again': {
      roles: ['engineer'],
      async run({ db, config, context, params, form }) {
        const coverageDay = findCoverageDay(config, params, form['stream'])
        if (coverageDay === null)
          throw new ActionRefused('This rooftop is no longer in the config: load the page again.')
        const { from, until } = await spanToRead(db, coverageDay)
        if (until !== null && from >= until)
          throw new ActionRefused(
            'This day has not started at the source yet: there is nothing to read.',
          )
        const plan = { command: 'backfill', mode: 'backfill', lane: 'background' } as const
        return await startRunForWorkers(
          { context },
          {
            plan: { ...plan, from, until, relists: true },
            ...{ streams: [coverageDay.stream], rooftops: [coverageDay.rooftop] },
          },
        )
      },
    },
  },
})

type Data = Readonly<Record<'uid' | 'name' | 'timezone' | 'day' | 'stream', string>> & {
  readonly span: TimeSpan
  readonly certificates: readonly Certificate[]
  readonly spans: readonly Span[]
  readonly hasWorker: boolean
}

function dayLink({ uid, day, stream }: Data, days: number, text: string): Html {
  return html`<a href="/console/coverage/${encodeURIComponent(uid)}/${addDays(day, days)}?stream=${stream}">${text}</a>`
}

function drawDay(data: Data): Html {
  const { name, timezone, span: frame, spans } = data
  const words = spanSummary(spans)
  return html`${calendarPatterns}${calendarLegend}
<figure><figcaption>${words}</figcaption><div class="scroll" role="group" tabindex="0" aria-label="The hours of the day">${calendarAxis(frame, timezone)}
${calendarRow({ summary: `${name}: ${words}`, frame, zone: timezone, spans })}</div></figure>`
}

function drawMissing({ timezone, spans, stream, uid }: Data): Html {
  return table({
    caption: 'Spans of the day that are neither settled nor provisional',
    hidesCaption: true,
    columns: ['From', 'To', 'State', 'Meaning'],
    rows: findDoubts(spans).map((span) => {
      const { word, tone, meaning } = spanWords[span.state]
      const records = html`<a href="/console/quarantine?stream=${stream}&rooftop=${encodeURIComponent(uid)}">${badge(`${span.records} ${word}`, tone)}</a>`
      return [
        instant(span.from, timezone),
        instant(span.until, timezone),
        span.state === 'quarantine' ? records : badge(word, tone),
        meaning,
      ]
    }),
    empty:
      spans.length === 0
        ? 'Nothing was asked for on this day yet.'
        : 'Nothing: all that was asked for is loaded.',
  })
}

function drawCertificates({ certificates, timezone }: Data): Html {
  return table({
    caption:
      'The newest listing of each window that touches the day. Listed = loaded + quarantined + vanished',
    columns: [
      ...['Window', 'State', numbers('Listed'), numbers('Loaded'), numbers('Quarantined')],
      ...[numbers('Vanished'), 'Adds up', 'Proof', 'Listed at', 'Run'],
    ],
    rows: certificates.map((one) => [
      html`${instant(one.from, timezone)} to ${instant(one.until, timezone)}`,
      one.isSettled ? badge('settled', 'ok') : badge('provisional', 'quiet'),
      ...[one.listed, one.loaded, one.quarantined, one.vanished].map((count) =>
        count.toLocaleString('en'),
      ),
      one.listed === one.loaded + one.quarantined + one.vanished
        ? badge('yes', 'ok')
        : badge('no', 'bad'),
      proofs[one.proof],
      instant(one.listedAt, timezone),
      html`<a href="/console/runs/${one.runId}">${one.runId}</a>`,
    ]),
    empty: 'This day has not been listed yet.',
  })
}

const proofs: Readonly<Record<Certificate['proof'], Html>> = {
  plain: html`plain<small>shorter than the longest list</small>`,
  halved: html`halved<small>both halves list the same</small>`,
  unprovable: html`${badge('unprovable', 'warn')}<small>a second has more than the source lists</small>`,
}

function drawAction({ uid, name, day, stream, hasWorker: isWorkerAlive }: Data): Html {
  const label = `Read ${stream} of ${dayName(day)} of ${name} again`
  const path = `/coverage/${encodeURIComponent(uid)}/${day}`
  return html`<p>${actionButton({ path, action: 'read-again', label, fields: { stream } })}</p>
<p class="note">Lists the windows of this one day at this one rooftop again, and reads what is new or has changed. It costs no paid call. A <code>forecourt worker</code> does it.${!isWorkerAlive && html` ${badge('No worker is alive', 'bad')} The run waits until one is: start <code>forecourt worker</code>.`}</p>`
}

async function readCertificates(
  db: Db,
  { rooftop, stream, span }: CoverageDay,
): Promise<Certificate[]> {
  const { rows } = await sql<Certificate>`
    select window_from as "from", window_until as until, listed_at as "listedAt",
      listed, loaded, quarantined, vanished, proof, settled as "isSettled", run_id::float8 as "runId"
    from ops.window_certificate
    where rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = ${rooftop.uid}) and stream = ${stream.name}
      and window_from < ${span.until}::timestamptz and window_until > ${span.from}::timestamptz
    order by window_from`.execute(db)
  return rows
}

/** The day, extended to the ends of the windows that touch it: a part of a window would leave the rest without a certificate. */
async function spanToRead(
  db: Db,
  { rooftop, stream, span }: CoverageDay,
): Promise<{ from: number; until: number | null }> {
  const { rows } = await sql<{ from: Date; until: Date }>`
    select least(min(window_from), ${span.from}::timestamptz) as "from", greatest(max(window_until), ${span.until}::timestamptz) as until
    from ops.window_certificate join core.rooftop using (rooftop_id)
    where rooftop_uid = ${rooftop.uid} and stream = ${stream.name}
      and window_from < ${span.until}::timestamptz and window_until > ${span.from}::timestamptz`.execute(
    db,
  )
  const { from, until } = rows[0]!
  const now = await readSourceNow(db)
  // Up to now, the newest window stays open.
  return { from: toUnixSeconds(from), until: until >= now ? null : toUnixSeconds(until) }
}
