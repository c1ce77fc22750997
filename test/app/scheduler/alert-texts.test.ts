import { expect, test } from 'vitest'
import { jobProblems, objectiveProblems } from '#src/app/scheduler/alerts.ts'

function rooftop(name: string, cause: string, text: string) {
  const health = { isAtWork: false, reasons: [{ cause, text }] }
  return { name, streams: { evaluations: health }, zoneChange: null }
}

test.for([
  ['quarantine', '1 in quarantine: see it', '40 in quarantine: see it', '41 in quarantine: see it'],
  ['late', 'no good run', 'no good run', 'no good run'],
  ['gaps', 'not listed: March', 'not listed: May', 'A: not listed: March; B: not listed: May'],
  ['failed', 'HTTP 500 of record 1', 'HTTP 500 of record 2', 'HTTP 500 of record 1'],
])('an alert about two rooftops has what is wrong at both: %s', ([cause, a, b, text]) => {
  const rooftops = { a: rooftop('A', cause!, a!), b: rooftop('B', cause!, b!) }

  const { raised } = objectiveProblems(rooftops as never)

  expect(raised.map(({ what }) => what)).toEqual([`evaluations of A, B: ${text}`])
})

test('an alert about late jobs has the slot of each', () => {
  const jobs = {
    nightly: { lateSince: '1', error: 'since 1' },
    verify: { lateSince: '2', error: 'since 2' },
  }

  const { raised } = jobProblems(jobs as never, [], [])

  expect(raised.map(({ what }) => what)).toEqual([
    'nightly, verify late: nightly: since 1; verify: since 2',
  ])
})

test('a record in quarantine hides no gap, and a failure hides what it may cause', () => {
  const { streams } = rooftop('A', 'failed', 'HTTP 500')
  const reasonsOf = (...causes: string[]) => causes.map((cause) => ({ cause, text: cause }))
  const health = (...causes: string[]) => ({
    ...streams.evaluations,
    reasons: reasonsOf(...causes),
  })
  const own = { evaluations: health('quarantine', 'gaps'), pricing: health('failed', 'late') }

  const { raised } = objectiveProblems({ a: { name: 'A', streams: own } } as never)

  expect(raised.map(({ what }) => what)).toEqual([
    'evaluations of A: quarantine',
    'evaluations of A: gaps',
    'pricing of A: failed',
  ])
})
