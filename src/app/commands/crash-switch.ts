import { UsageError } from '../../errors.ts'
import { inboxCrashPoints, offerCrashPoints } from '../../stock/folders/crash-points.ts'
import { crashPoints } from '../../sync/run/crash-points.ts'
import { lakeCrashPoints } from '../../warehouse/lake/crash-points.ts'
import type { Environment } from '../config/read.ts'

const known: readonly string[] = [
  ...[...crashPoints, ...inboxCrashPoints, ...offerCrashPoints],
  ...lakeCrashPoints,
]

/** FORECOURT_CRASH_AT=<point>[:<n>] kills the process at the n-th passing of a crash point: for the crash tests. */
export function crashPointFrom({ variables }: Environment): (name: string) => void {
  const wanted = variables['FORECOURT_CRASH_AT']
  if (!wanted) return () => {}
  const [point, count = '1'] = wanted.split(':')
  if (!known.includes(point!)) {
    throw new UsageError(
      `FORECOURT_CRASH_AT=${wanted}: no such crash point; known are ${known.join(', ')}.`,
    )
  }
  let left = Number(count)
  return (name) => {
    if (name === point && --left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
