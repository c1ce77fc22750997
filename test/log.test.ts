import { expect, test } from 'vitest'
import { type LogOptions, openLog } from '#src/log.ts'

function linesOf(options: Partial<LogOptions>): string[] {
  const lines: string[] = []
  const log = openLog({
    ...{ level: 'info', human: false, secrets: [], write: (line) => lines.push(line) },
    ...options,
  })
  log.warn({ rooftop: 'rooftop-1' }, 'late')
  log.debug('not logged')
  return lines
}

test('a JSON line names its level, and its time is an instant with its zone', () => {
  const before = new Date().toISOString()

  const [line, ...others] = linesOf({})

  const { time, ...fields } = JSON.parse(line!)
  expect(others).toEqual([])
  expect(fields).toEqual({ level: 'warn', rooftop: 'rooftop-1', msg: 'late' })
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(time >= before && time <= new Date().toISOString()).toBe(true)
})

test('a line for a person has the level, the time of this machine with its zone, and no JSON', async () => {
  const lines = linesOf({ human: true })

  await expect.poll(() => lines.join('')).toMatch(/^\[\d\d:\d\d:\d\d [+-]\d{4}\] WARN: late\n/)
})
