import type { NextRequest } from './next-requests.ts'
import type { Provenance } from './provenance.ts'

const lastReadReasons = {
  new: 'it was new',
  changed: 'it had changed',
  again: 'it had changed, or its turn had come',
  backfill: 'a backfill loaded its window',
  retry: 'it was in quarantine, and was tried again',
  webhook: 'a webhook named it',
  reread: 'its turn to be read again had come',
} as const

const listingReasons = {
  gap: 'its window is not covered or not settled yet',
  recheck: 'its window is younger than sync.recheckDays',
  deep: 'the turn of its window in sync.deepRelistNights',
  quarantine: 'its window holds a quarantined record',
} as const

/** A sentence about the reading of a record. */
export interface ReadingNote {
  readonly name: string
  readonly text: string
}

/** The source's time, and how an instant is written. */
interface Clock {
  readonly now: Date
  readonly timeText: (at: Date) => string
}

/** When a record was last read and why, and when it is read again: by the source's clock. */
export function readingNotes(entry: Provenance, clock: Clock): ReadingNote[] {
  const { timeText } = clock
  const line = (name: string, text: string): ReadingNote => ({ name, text })
  const { lastRead, rereadBetween, nextListing, lastRun, customerErasedAt } = entry
  return [
    lastRead === null
      ? line('last read', 'not known: no payload and no trace of a read is stored')
      : line(
          'last read',
          `${timeText(lastRead.at)} in run ${lastRead.runId}, because ${lastReadReasons[lastRead.reason]}: ${lastRead.outcome}`,
        ),
    ...(rereadBetween === null
      ? []
      : [
          line(
            'read again',
            `between ${timeText(rereadBetween.after)} and ${timeText(rereadBetween.before)}, because its turn had come: unchanged`,
          ),
        ]),
    ...(lastRun === null ? [] : [line('last run', lastRunText(lastRun, entry, clock))]),
    ...(nextListing === null
      ? []
      : [
          line(
            'next list',
            `${syncText(nextListing.at, clock)}: ${listingReasons[nextListing.reason]}`,
          ),
        ]),
    line('next read', nextReadText(entry, clock)),
    ...(customerErasedAt === null
      ? []
      : [line('erased', `customer since ${timeText(customerErasedAt)}: left out of every read`)]),
    ...entry.asks.map((ask) => line('next ask', nextRequestText(ask, clock))),
  ]
}

function lastRunText(
  { runId, command, status, finishedAt, error }: Provenance['lastRun'] & object,
  entry: Provenance,
  { timeText }: Clock,
) {
  const end = finishedAt === null ? 'not ended' : `ended ${timeText(finishedAt)}`
  return `${runId} (${command}) of the rooftop: ${status}, ${end}${error === null ? '' : `: ${error}`}${unreadText(runId, entry)}; see "forecourt runs show ${runId}"`
}

/** Why a run after the last read did not read the evaluation; '' where what is stored does not say it. */
function unreadText(runId: number, { lastRead, window, nextRead, ...entry }: Provenance): string {
  if (lastRead === null || lastRead.runId >= runId || window === null) return ''
  const listedBy = Number(window['run_id'])
  const isAtWork = entry.lastRun?.finishedAt === null
  if (listedBy < runId)
    return `; it ${isAtWork ? 'has not listed the window of this evaluation yet' : 'did not list the window of this evaluation'}`
  const isUnchanged =
    listedBy === runId &&
    nextRead.reason === 'reread' &&
    entry.rereadBetween === null &&
    !entry.isPutOff
  return isUnchanged
    ? '; its list showed no change, and the turn of this evaluation had not come'
    : ''
}

function nextReadText(entry: Provenance, clock: Clock): string {
  const { timeText } = clock
  const { nextRead, nextReadWithoutListTimes, withinNights, isPutOff } = entry
  const from = nextRead.at === null ? '' : syncText(nextRead.at, clock)
  const retry = '"forecourt quarantine retry" reads it now'
  switch (nextRead.reason) {
    case 'webhook':
      return `from ${timeText(nextRead.at!)} on, because a webhook named it ("forecourt serve" reads it)`
    case 'retry':
      return `${from === '' ? 'when a list shows it' : from}, because it is in quarantine; ${retry}`
    case 'gone':
      return `only if a list shows it again; its window is listed ${from}`
    case 'other rooftop':
      return 'not at this rooftop: another one of the dealer group has it now'
    case 'not listed':
      // Its window is not known, since nothing of it is stored.
      if (entry.lastRead?.outcome === 'vanished') return 'each time that a list names it'
      return 'only if a webhook names it: no window that sync or a backfill was asked for holds it'
    case 'not configured':
      return 'never: the rooftop is not in the config'
    case 'reread': {
      const earlier =
        nextReadWithoutListTimes === null
          ? ''
          : `; from ${timeText(nextReadWithoutListTimes)} on if the list gives no update times`
      const putOff = isPutOff
        ? '; sync.rereadBudget was used up when its window was listed last'
        : ''
      return `${from}, sooner if the list or a webhook says that it changed${earlier}${putOff} (its turn comes within ${withinNights} nights)`
    }
  }
}

function nextRequestText(
  { stream, ask, lastAskedAt, outcome, detail, nextAt, parkedUntil }: NextRequest,
  clock: Clock,
) {
  const { timeText } = clock
  const last =
    lastAskedAt === null ? 'never asked' : `asked ${timeText(lastAskedAt)}: ${outcome ?? '-'}`
  const why = detail === null ? '' : ` (${detail})`
  const next = nextAt === null ? 'not again unless it changes' : `next: ${syncText(nextAt, clock)}`
  const parked =
    parkedUntil === null ? '' : `; the key is out of quota until ${timeText(parkedUntil)}`
  return `${stream} ${ask}: ${last}${why}; ${next}${parked}`
}

function syncText(at: Date, { now, timeText }: Clock): string {
  return at <= now ? 'in the next sync' : `in the first sync from ${timeText(at)} on`
}
