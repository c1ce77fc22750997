import { UsageError } from '../../errors.ts'
import { allStreams } from '../../streams/all.ts'
import type { Stream } from '../../sync/run/stream.ts'
import { parseInstant } from '../../values/instant.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'

/** The named streams in running order; all when none is named. */
export function chooseStreams(names: readonly string[]): readonly Stream[] {
  return names.length === 0 ? allStreams : allStreams.filter(({ name }) => names.includes(name))
}

/** Unix seconds of a date option; a bare date is midnight UTC. */
export function parseDateOption(option: string, text: string): number {
  const at = parseInstant(text)
  if (at === null) {
    throw new UsageError(
      `${option} ${text} is not a date: write 2024-01-31 (midnight UTC) or 2024-01-31T10:00:00Z.`,
    )
  }
  return toUnixSeconds(at)
}

/** A whole number within the range. */
export function wholeNumberOption(
  option: string,
  text: unknown,
  least: number,
  greatest: number,
): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= least && value <= greatest && text !== '') return value
  throw new UsageError(
    `${option} ${String(text)} must be a whole number from ${least} to ${greatest}.`,
  )
}

/** An id of the warehouse or of the service. `problem`: what to say of any other text. */
export function parseId(text: unknown, problem: string): number {
  const id = Number(text)
  if (Number.isSafeInteger(id) && id > 0) return id
  throw new UsageError(problem)
}

/** The field delimiter that `--delimiter` names. */
export function parseDelimiter(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text
  if ([',', ';', '|', '\t'].includes(delimiter)) return delimiter
  throw new UsageError(`--delimiter "${text}" is none of "," ";" "|" and tab.`)
}
