import type { Environment } from '../config/read.ts'
import { UsageError } from '../errors.ts'
import { type CrashPoint, crashPoints } from '../pipeline/crash-points.ts'

/** FORECOURT_CRASH_AT=<point>[:<n>] kills the process at the n-th passing of a crash point: for the crash tests. */
export function crashPointFrom({ variables }: Environment): (name: string) => void {
  const wanted = variables['FORECOURT_CRASH_AT']
  if (!wanted) return () => {}
  const [point, count = '1'] = wanted.split(':')
  if (!crashPoints.includes(point as CrashPoint)) {
    throw new UsageError(
      `FORECOURT_CRASH_AT=${wanted}: no such crash point; known are ${crashPoints.join(', ')}.`,
    )
  }
  let left = Number(count)
  return (name) => {
    if (name === point && --left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
