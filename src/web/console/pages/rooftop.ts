import { sql } from 'kysely'
import { appraisalKey, shortKey } from '../../../api/sources/key-advice.ts'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import { readCauses } from '../../../sync/explain/quarantine-list.ts'
import { freshWithinHours } from '../../../sync/explain/status.ts'
import { type Covered, readCovered } from '../../../sync/explain/status-facts.ts'
import { rereadWithinNights } from '../../../sync/records/reread.ts'
import { retriableBy } from '../../../sync/records/retry-quarantined.ts'
import { readKeyStates } from '../../../sync/run/key-states.ts'
import { findRooftops } from '../../../sync/run/rooftops.ts'
import { type Html, html } from '../../../values/html.ts'
import { localDay } from '../../../values/instant.ts'
import { plural } from '../../../values/text.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { readStreamStates, type StreamState } from '../../morning/stream-states.ts'
import { spanWords } from '../charts/calendar.ts'
import { dayName } from '../charts/scale.ts'
import { readSpans, type Span } from '../coverage/spans.ts'
import {
  countNights,
  type DayEnd,
  endedNights,
  nightStrip,
  readDayEnds,
} from '../morning/nights.ts'
import { definePage } from '../page.ts'
import { badge, statusBadge } from '../parts/badge.ts'
import { agoText, instant, shortInstant } from '../parts/instant.ts'
import { keyStateText } from '../parts/key-state.ts'
import { numbers, pictures, table } from '../parts/table.ts'

const nightCount = 30
const maxGaps = 20
const maxIssues = 20

/** Records with one cause, in quarantine or with a warning. */
interface Issue {
  readonly stream: string
  readonly cause: string
  readonly records: number
  readonly since: Date
  /** The page that lists them, below /console. */
  readonly path: string
}

export const rooftop = definePage({
  path: '/rooftops/:uid',
  question: 'How is this rooftop, stream by stream?',
  roles: ['engineer', 'viewer'],
  async read({ db, config, params, now }) {
    const rooftop = config.rooftops.find(({ uid }) => uid === params['uid'])
    if (rooftop === undefined) return null
    const { uid, name, timezone: zone, group, key, currency, dealerId } = rooftop
    const [known] = await findRooftops(db, [rooftop])
    const nights = { zone, now, count: nightCount }
    const windowed = allStreams.filter(({ records }) => records !== undefined)
    const gaps: (Span & { stream: string })[] = []
    const rereads: (Covered & { stream: string })[] = []
    const withinNights = rereadWithinNights(config.sync)
    const allTime = { from: new Date(0), until: new Date(now.getTime() + 86_400_000) }
    for (const { name: stream } of windowed) {
      const spans = await readSpans(db, stream, [uid], allTime)
      gaps.push(
        ...spans
          .filter(({ state }) => state === 'gap' || state === 'unlisted')
          .map((span) => ({ ...span, stream })),
      )
      const covered = await readCovered(db, stream, [known!], config.sync.start, withinNights)
      rereads.push(...[...covered.values()].map((one) => ({ ...one, stream })))
    }
    const [keyState] = await readKeyStates(db, config, [appraisalKey(key)])
    return {
      ...{ uid, name, zone, group, key, currency, dealerId, withinNights, gaps, rereads },
      states: await readStreamStates(db, [rooftop]),
      ends: await readDayEnds(db, [uid], nights),
      ...(await readQuarantine(db, uid, config)),
      warnings: await readWarnings(db, known!.id),
      keyState: keyState!,
    }
  },
  title: ({ name }) => name,
  zone: ({ zone }) => zone,
  isLive: ({ states }) => states.some(({ isAtWork }) => isAtWork),
  draw(data, { now, config }) {
    const { uid, zone, group, key, currency, dealerId } = data
    const query = `rooftop=${encodeURIComponent(uid)}`
    return html`<dl class="facts"><dt>Uid</dt><dd><code>${uid}</code></dd><dt>Dealer group</dt><dd>${group}</dd><dt>Dealer id</dt><dd>${dealerId ?? 'none'}</dd><dt>Key</dt><dd>${key}</dd><dt>Zone, currency</dt><dd>${zone}, ${currency}</dd></dl>
<p><a href="/console/coverage/${encodeURIComponent(uid)}/${localDay(now, zone)}">Coverage of today</a> · <a href="/console/runs?show=all&${query}">Runs</a> · <a href="/console/quarantine?${query}">Quarantine</a></p>
<h2>Streams</h2>
${drawStreams(data, now)}
<h2>The last ${nightCount} nights</h2>
${drawNights(data, now)}
<h2>Not listed</h2>
${drawGaps(data)}
<div class="columns"><section><h2>In quarantine</h2>
${drawIssues(data.quarantine, zone, 'Nothing: every record that was read fits.', data.isQuarantineCapped)}</section>
<section><h2>Loaded with a warning</h2>
${drawIssues(data.warnings, zone, 'Nothing: no record contradicts itself or the document.')}</section></div>
<div class="columns"><section><h2 id="key">Key ${key}</h2>
<p>${keyStateText(data.keyState, { config, zone, now })}</p></section>
<section><h2>To be read again</h2>
${drawRereads(data)}</section></div>`
  },
})

interface Data {
  readonly uid: string
  readonly zone: string
  readonly states: readonly StreamState[]
  readonly ends: readonly DayEnd[]
  readonly gaps: readonly (Span & { readonly stream: string })[]
  readonly rereads: readonly (Covered & { readonly stream: string })[]
  readonly withinNights: number
}

function drawStreams({ uid, states, zone }: Data, now: Date): Html {
  const query = `rooftop=${encodeURIComponent(uid)}`
  const time = (at: Date | null, otherwise: string) =>
    at === null ? otherwise : html`${shortInstant(at, zone, now)}<small>${agoText(at, now)}</small>`
  return table({
    caption: `The objective: a good run within ${freshWithinHours} hours, no gap, nothing in quarantine`,
    columns: [
      ...['Stream', 'Status', 'Last good run', 'Covered to', 'Newest record'],
      ...[numbers('Gaps'), numbers('Quarantined')],
    ],
    onPhone: ['Status', 'Last good run', 'Gaps', 'Quarantined'],
    rows: states.map((state) => [
      state.stream,
      html`${statusBadge(state.status)}${state.isAtWork && badge('at work', 'quiet')}${state.error !== null && html`<small>${state.refusedKey === null ? state.error : html`<a href="#key">key ${shortKey(state.refusedKey)} is refused</a>`}</small>`}`,
      time(state.lastGoodAt, 'not yet'),
      time(state.coveredTo, 'not yet'),
      time(state.newestAt, 'none'),
      state.gaps === 0 ? 0 : html`<a href="#gaps">${state.gaps}</a>`,
      state.quarantined === 0
        ? 0
        : html`<a href="/console/quarantine?stream=${state.stream}&${query}">${state.quarantined.toLocaleString('en')}</a>`,
    ]),
    empty: 'There are no streams.',
  })
}

/** The error budget: a night is missed where its last run failed, or there was none. Today counts once its run has ended. */
function drawNights({ ends, states, zone }: Data, now: Date): Html {
  const span = { zone, now, count: nightCount }
  const byStream = Map.groupBy(ends, ({ stream }) => stream)
  return table({
    caption:
      'The last run of each day; a night is missed where that run failed, or there was none. Today counts once its run has ended',
    columns: ['Stream', pictures(`Last ${nightCount} nights`)],
    rows: states.map(({ stream }) => {
      const nights = countNights(byStream.get(stream) ?? [], span)
      const ended = endedNights(nights)
      const known = ended.findIndex((night) => Object.keys(night.streams).length > 0)
      // Nights before the first run of the span may be from before the rooftop was there.
      const since = known < 0 ? [] : ended.slice(known)
      const missed = since.filter(
        ({ streams }) => !('ok' in streams || 'partial' in streams),
      ).length
      const words =
        known < 0 ? 'no run has ended' : `${missed} of ${plural(since.length, 'night')} missed`
      return [html`${stream}<small>${words}</small>`, nightStrip(nights, 5)]
    }),
    empty: 'There are no streams.',
  })
}

function drawGaps({ gaps, uid, zone }: Data): Html {
  return html`<div id="gaps">${table({
    caption: `Spans that were wanted and are not listed yet, the oldest first${gaps.length > maxGaps ? `; the first ${maxGaps} of ${gaps.length}` : ''}`,
    columns: ['From', 'To', 'Stream', 'State', ''],
    rows: gaps.slice(0, maxGaps).map(({ from, until, stream, state }) => {
      const day = localDay(from, zone)
      return [
        instant(from, zone),
        instant(until, zone),
        stream,
        badge(spanWords[state].word, spanWords[state].tone),
        html`<a class="button" href="/console/coverage/${encodeURIComponent(uid)}/${day}?stream=${stream}">Show ${dayName(day)}</a>`,
      ]
    }),
    empty: 'None: everything that was asked for is listed.',
  })}</div>`
}

/** `isCapped`: older records are not counted, and there may be older causes. */
function drawIssues(issues: readonly Issue[], zone: string, empty: string, isCapped = false): Html {
  return table({
    caption: 'By cause, the most frequent first',
    hidesCaption: true,
    isFewOnPhone: true,
    columns: ['Cause', numbers('Records'), 'Since'],
    rows: issues.map(({ stream, cause, records, since, path }) => [
      html`${cause}<small>${stream}</small>`,
      html`<a href="/console${path}">${isCapped && 'at least '}${records.toLocaleString('en')}</a>`,
      html`${instant(since, zone)}${isCapped && ' or before'}`,
    ]),
    empty,
  })
}

function drawRereads({ rereads, withinNights }: Data): Html {
  return html`<ul>${rereads.map(
    ({ stream, records, overdue }) =>
      html`<li>${overdue === 0 ? badge('none overdue', 'ok') : badge(`${overdue.toLocaleString('en')} overdue`, 'warn')} ${plural(records, 'record')} of ${stream}</li>`,
  )}</ul>
<p class="note">A record that the source deleted but still lists is found within ${withinNights} nights, when it is read again. If some are overdue, run every night, or raise <code>sync.rereadBudget</code>.</p>`
}

async function readQuarantine(db: Db, uid: string, config: Config) {
  const found = await readCauses(db, { rooftop: uid }, retriableBy(config, allStreams))
  const quarantine = found.causes.slice(0, maxIssues).map(
    ({ cause, path, message, records, streams, firstSeenAt }): Issue => ({
      ...{ stream: streams.join(', '), cause: `${path}: ${message}`, records },
      since: firstSeenAt,
      path: `/quarantine?cause=${cause}&rooftop=${encodeURIComponent(uid)}`,
    }),
  )
  return { quarantine, isQuarantineCapped: found.isCapped }
}

async function readWarnings(db: Db, rooftopId: number): Promise<Issue[]> {
  const { rows } = await sql<Omit<Issue, 'path'>>`
    select stream, check_name as cause, count(*)::int as records, min(seen_at) as since
    from ops.data_quality where rooftop_id = ${rooftopId}
    group by 1, 2 order by records desc, cause`.execute(db)
  return rows.map((row) => ({
    ...row,
    path: `/drift?${new URLSearchParams({ stream: row.stream, check: row.cause })}`,
  }))
}
