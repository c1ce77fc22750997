import type { RooftopConfig } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import { streamProblems } from '../morning/problems.ts'
import { sentencesOf } from '../morning/sentences.ts'
import { readStreamStates } from '../morning/stream-states.ts'
import { listRuns } from '../pipeline/run-history.ts'
import { html, plainText } from '../values/html.ts'
import { plural } from '../values/text.ts'

/** Problems that a digest names, besides the one of its sentence. */
const mostProblems = 5

/** The sentence of the morning page, for some rooftops, and the other problems, a line each. */
export async function digestText(
  db: Db,
  place: {
    readonly rooftops: readonly RooftopConfig[]
    readonly zone: string
    readonly now: Date
  },
): Promise<string> {
  const states = await readStreamStates(db, place.rooftops)
  const problems = streamProblems(states)
  const { runs } = await listRuns(db, { statuses: ['running'] }, 1)
  const summary = { states, problems, runningId: runs[0]?.runId ?? null }
  const format = new Intl.DateTimeFormat('en-AU', {
    ...{ timeZone: place.zone, day: 'numeric', month: 'short', hourCycle: 'h23' },
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  })
  const time = (at: string) => html`${format.format(new Date(at))}`
  const { head, more } = sentencesOf(summary, { config: place, time })
  const others = problems.slice(1, 1 + mostProblems)
  const left = problems.length - 1 - others.length
  return [
    plainText(head),
    plainText(more).trim(),
    ...others.map(({ word, what, detail, why }) => `${word}: ${what} (${detail}): ${why}`),
    ...(left > 0 ? [`And ${plural(left, 'more problem')}.`] : []),
  ].join('\n')
}
