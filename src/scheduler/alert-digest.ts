import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import { streamProblems } from '../morning/problems.ts'
import { sentencesOf } from '../morning/sentences.ts'
import { readStreamStates } from '../morning/stream-states.ts'
import { readKeyStates } from '../pipeline/key-states.ts'
import { listRuns } from '../pipeline/run-history.ts'
import { html, plainText } from '../values/html.ts'
import { plural } from '../values/text.ts'

/** Problems that a digest names, besides the one of its sentence. */
const mostProblems = 5

/** Characters of a problem that is not of streams: its alert has the rest. */
const longest = 300

/** The sentence of the morning page, for some rooftops, then the open problems that are not of streams, and the others, a line each. */
export async function digestText(
  db: Db,
  scope: {
    /** With the rooftops of the scope alone. */
    readonly config: Config
    readonly zone: string
    readonly now: Date
  },
  open: readonly string[],
): Promise<string> {
  const { config } = scope
  const states = await readStreamStates(db, config.rooftops)
  const problems = streamProblems(states, { keys: await readKeyStates(db, config), config })
  const { runs } = await listRuns(db, { statuses: ['running'] }, 1)
  const summary = { states, problems, runningId: runs[0]?.runId ?? null }
  const format = new Intl.DateTimeFormat('en-AU', {
    ...{ timeZone: scope.zone, day: 'numeric', month: 'short', hourCycle: 'h23' },
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  })
  const time = (at: string) => html`${format.format(new Date(at))}`
  const { head, more } = sentencesOf(summary, { config, time })
  const others = [
    ...open.map((text) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)),
    ...problems
      .slice(1)
      .map(({ word, what, detail, why }) => `${word}: ${what} (${detail}): ${why}`),
  ]
  const left = others.length - mostProblems
  return [
    plainText(head),
    plainText(more).trim(),
    ...others.slice(0, mostProblems),
    ...(left > 0 ? [`And ${plural(left, 'more problem')}.`] : []),
  ].join('\n')
}
