import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { streamProblems } from '#src/web/morning/problems.ts'
import type { StreamState } from '#src/web/morning/stream-states.ts'

const config = makeConfig({}, '/nowhere')

function incomplete(name: string, wrong: Partial<StreamState>): StreamState {
  const state = { uid: name, name, key: 'k', stream: 'evaluations', status: 'partial' }
  const nothing = { refusedKey: null, error: null, fault: null, since: null, failedRun: null }
  return { ...state, ...nothing, gaps: 0, unprovable: 0, ...wrong } as StreamState
}

test.for<readonly [Partial<StreamState>, Partial<StreamState>, string]>([
  [{ gaps: 2 }, { gaps: 40 }, '42 spans of time wanted, and not listed yet'],
  [{ unprovable: 1 }, { unprovable: 1 }, '2 windows whose list cannot be proved complete'],
  [{ fault: '1 row' }, { fault: '1 row' }, 'The last verification found: 1 row.'],
  [
    { fault: '1 row' },
    { fault: '5 row' },
    'The last verification found: North: 1 row; South: 5 row.',
  ],
])('the problem of several rooftops is that of all of them: %o, %o', ([north, south, why]) => {
  const states = [incomplete('North', north), incomplete('South', south)]

  const problems = streamProblems(states, { keys: [], config })

  const all = problems.map((problem) => [problem.what, problem.why])
  expect(all).toEqual([['North and South', why]])
})
