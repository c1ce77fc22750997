import type { RunDetail, RunPart } from '../../../sync/explain/run-history.ts'
import type { StreamStatus } from '../../../sync/run/run-ledger.ts'
import { whatIsMissing } from '../../../sync/run/run-report.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { type Lane, laneChart } from '../charts/lanes.ts'
import { statusBadge, type Tone } from '../parts/badge.ts'
import { durationText, instant } from '../parts/instant.ts'
import { countLink } from '../parts/link.ts'
import { type Column, numbers } from '../parts/table.ts'

/** What a run did for one stream of one rooftop. */
interface Part extends RunPart {
  readonly uid: string
  readonly rooftop: string
  readonly stream: string
}

/** The worst first; what is open is between what failed and what is done. */
const order: readonly StreamStatus[] = ['failed', 'parked', 'partial', 'running', 'waiting', 'ok']

/** The parts of a run, the worst first. */
export function listParts(rooftops: RunDetail['rooftops']): Part[] {
  const parts = Object.entries(rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, part]) => ({ ...part, uid, rooftop: name, stream })),
  )
  return parts.sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status))
}

/** More lanes than this say less than one for each stream. */
const maxLanes = 24

const tones: Readonly<Record<StreamStatus, Tone>> = {
  ...{ ok: 'ok', partial: 'warn', parked: 'warn', failed: 'bad' },
  ...{ running: 'quiet', waiting: 'quiet' },
}

/** A lane for each stream of each rooftop, or for each stream where they are many. */
export function buildLanes(parts: readonly Part[], streams: RunDetail['streams']): readonly Lane[] {
  const names = Object.keys(streams)
  const rank = ({ stream }: Part) => names.indexOf(stream)
  if (parts.length <= maxLanes) {
    const byStream = parts.toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1))
    return byStream.map((part) => buildLane(`${part.stream}, ${part.rooftop}`, [part]))
  }
  return [...Map.groupBy(parts, ({ stream }) => stream)].map(([stream, streamParts]) =>
    buildLane(stream, streamParts),
  )
}

/** A lane of parts; the worst of them is the first. */
function buildLane(name: string, parts: readonly Part[]): Lane {
  const [{ status, error }] = parts as readonly [Part]
  const isOpen = parts.some(({ finishedAt }) => finishedAt === null)
  const same = parts.filter((part) => part.status === status).length
  const state = parts.length === 1 ? status : `${same} of ${parts.length} rooftops ${status}`
  return {
    ...{ name, tone: tones[status], state, error },
    beganAt: extreme(parts, 'beganAt', Math.min),
    finishedAt: isOpen ? null : extreme(parts, 'finishedAt', Math.max),
    waitsUntil: parts.every(({ waitsUntil }) => waitsUntil !== null)
      ? extreme(parts, 'waitsUntil', Math.min)
      : null,
  }
}

function extreme(
  parts: readonly Part[],
  name: 'beganAt' | 'finishedAt' | 'waitsUntil',
  choose: (...values: number[]) => number,
): Date | null {
  const times = parts.flatMap((part) => part[name]?.getTime() ?? [])
  return times.length === 0 ? null : new Date(choose(...times))
}

type RunTimes = Pick<RunDetail, 'startedAt' | 'finishedAt'>

/** The lanes as a chart. */
export function drawLanes(
  { startedAt, finishedAt }: RunTimes,
  lanes: readonly Lane[],
  zone: string,
  now: Date,
): Html | null {
  if (lanes.length === 0) return null
  const end = finishedAt ?? now
  const waits = lanes.map(({ waitsUntil }) => waitsUntil?.getTime() ?? 0)
  const until = new Date(Math.max(end.getTime(), startedAt.getTime() + 1_000, ...waits))
  const span = { from: startedAt, until }
  return html`<h2>When</h2>${laneChart({ title: 'Waiting is hollow, work is full', span, now: end, zone, lanes })}`
}

export const partColumns: readonly Column[] = [
  ...['Rooftop', 'Stream', 'Status', 'Began', 'Took'],
  ...[numbers('Listed'), numbers('Inserted'), numbers('Updated'), numbers('Quarantined')],
  'Why',
]

/** The cells of a part. */
export function partRow(
  part: Part,
  { startedAt, isAtWork }: Pick<RunDetail, 'startedAt' | 'isAtWork'>,
  zone: string,
): Content[] {
  const { uid, stream, beganAt, finishedAt } = part
  return [
    part.rooftop,
    stream,
    statusBadge(part.status),
    beganAt === null ? 'not started' : `after ${between(startedAt, beganAt)}`,
    beganAt === null || finishedAt === null ? '' : between(beganAt, finishedAt),
    ...[part.listed, part.inserted, part.updated].map((count) => count.toLocaleString('en')),
    countLink(part.quarantined, '/quarantine', { stream, rooftop: uid }),
    partReason(part, zone, isAtWork),
  ]
}

function between(from: Date, until: Date): string {
  return durationText(Math.max(0, until.getTime() - from.getTime()) / 1000)
}

/** Why a part is not done, or not complete. */
function partReason(part: Part, zone: string, isAtWork: boolean): Content {
  const missing = whatIsMissing(part)
  if (missing.length > 0) return missing.join('; ')
  if (part.waitsUntil !== null)
    return html`waits until ${instant(part.waitsUntil, zone, { seconds: true })}`
  if (part.status === 'waiting')
    return isAtWork ? 'waits for its turn or for an earlier stream' : 'waits for a process'
  return ''
}
