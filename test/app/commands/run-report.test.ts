import { expect, test } from 'vitest'
import { goesOn, reportLines } from '#src/app/commands/run-report.ts'
import { makeConfig } from '#src/app/config/read.ts'
import type { RunReport } from '#src/sync/run/run-report.ts'

const config = makeConfig(
  {
    keys: { au: { value: 'secret', kind: 'partner', region: 'AU' } },
    rooftops: [
      {
        ...{ uid: 'rooftop-1', name: 'Northside', dealerId: 101, key: 'au' },
        ...{ region: 'AU', timezone: 'Australia/Sydney', currency: 'AUD' },
      },
    ],
  },
  '/nowhere',
)

const report: RunReport = {
  ...{ runId: 1, status: 'partial', streams: {} },
  ...{ startedAt: '2026-03-10T06:30:00.000Z', finishedAt: '2026-03-10T06:30:02.000Z' },
  rooftops: { 'rooftop-1': { status: 'partial' } },
}

test.for([
  [
    'SIGINT',
    'You stopped it (Ctrl-C). Nothing is lost: what was loaded stays, and the next sync goes on.',
  ],
  [
    'SIGTERM',
    'It was stopped by SIGTERM. Nothing is lost: what was loaded stays, and the next sync goes on.',
  ],
])('a run that %s stopped says who stopped it, and that the next one goes on', ([signal, text]) => {
  const resume = goesOn({ command: 'sync', mode: 'sync' })
  const lines = reportLines({ ...report, stoppedBy: signal! }, { config }, resume)

  expect(lines[0]).toBe('Run 1: stopped in 2.0 s')
  expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(text)
  expect(lines.join('\n')).not.toContain('Not complete')
})

test('a run that is partial without an error names its rooftops', () => {
  expect(reportLines(report, { config }, '').at(-1)).toBe('Not complete: Northside')
})

test.for([
  ['links refresh', 'links', 'the next sync goes on'],
  ['replay', 'replay', 'the same "forecourt replay" again does the rest'],
  ['run reprice', 'reprice', 'the same "forecourt run reprice" again does the rest'],
  ['quarantine retry', 'retry', 'the same "forecourt quarantine retry" again does the rest'],
] as const)(
  'what %s leaves when it is stopped is done by the command that is named',
  ([command, mode, text]) => {
    expect(goesOn({ command, mode })).toBe(text)
  },
)

test('records in quarantine of several rooftops are one number', () => {
  const second = { ...config.rooftops[0]!, uid: 'rooftop-2', name: 'Southside' }
  const missing = [21, 19].map((count, at) => ({
    ...{ rooftop: `rooftop-${at + 1}`, stream: 'vehicle-checks', refusedKey: null },
    cause: `${count} in quarantine: see "forecourt quarantine list"`,
  }))
  const rooftops = [...config.rooftops, second]
  const byRooftop = Object.fromEntries(
    rooftops.map(({ uid }) => [uid, report.rooftops['rooftop-1']!]),
  )

  const lines = reportLines({ ...report, rooftops: byRooftop, missing }, { config, rooftops }, '')

  expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(
    'vehicle-checks of Northside and Southside: 40 in quarantine: see "forecourt quarantine list"',
  )
})
