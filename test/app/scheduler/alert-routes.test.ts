import { expect, test } from 'vitest'
import { keyPage, keySeverity } from '#src/app/scheduler/alert-routes.ts'

test('what the morning page shows in red is critical, and every problem has a page', () => {
  const keys = ['job/late', 'job/worker', 'objective/key/a', 'objective/failed/0123']
  const warnings = ['objective/gaps', 'objective/quarantine', 'inbox/file/3']

  expect(keys.map(keySeverity)).toEqual(keys.map(() => 'critical'))
  expect(warnings.map(keySeverity)).toEqual(warnings.map(() => 'warning'))
  expect([...keys, ...warnings].map(keyPage)).toEqual([
    ...['/jobs', '/work', '/', '/'],
    ...['/coverage', '/quarantine', '/stock/imports'],
  ])
})
