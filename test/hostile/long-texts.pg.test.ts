import { expect, test } from 'vitest'
import { byPhone, eraseIn, jane } from '../privacy/erase/erase-fixture.ts'
import { openExportFixture } from '../stock/export/export-fixture.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { someOf } from '../support/cases.ts'
import { openFixture } from '../support/fixture.ts'
import { openWebhookFixture } from '../web/webhook/webhook-fixture.ts'
import { hostileTexts, megabyte } from './texts.ts'

// Hostile text goes through all steps; a text of 100 KB once blocked a process for minutes.

/** The import refuses a file with a longer one, quotes counted as they are written. */
const longestCell = 450_000
const now = new Date('2026-03-10T06:30:00Z')

test('evaluations with a megabyte of hostile text in all are synced, erased and read again', {
  timeout: 240_000,
}, async () => {
  await using fixture = await openFixture({
    sandbox: {
      now,
      world: worldOf({
        evaluations: [
          anEvaluation({ evalId: 1001, customer: jane }),
          ...someOf(hostileTexts, 1).map(([, text], index) =>
            anEvaluation({
              evalId: 1002 + index,
              ...(index % 2 === 0
                ? { notes: `${text.slice(0, megabyte / 32)} ${jane.phone}` }
                : { customer: { name: text.slice(0, megabyte / 32), email: text.slice(0, 300) } }),
              extra: { [text.slice(0, 100)]: text.slice(0, megabyte / 32) },
            }),
          ),
        ],
      }),
    },
    sync: { start: '2026-03-01' },
  })
  const first = await fixture.night()
  // As the command does it: a run's own connections may not be idle for so long.
  const { pool } = fixture.database
  const receipt = await eraseIn({ ...fixture, context: { ...fixture.context, pool } }, byPhone)
  const second = await fixture.nightAfter(1)

  expect([first.status, second.status]).not.toContain('failed')
  expect(receipt.rescan.left).toEqual({})
  expect(receipt.evaluations).toHaveLength(1)
})

test('a webhook body with long hostile text is stored, after an erasure too', {
  timeout: 120_000,
}, async () => {
  await using receiver = await openWebhookFixture({
    world: worldOf({ evaluations: [anEvaluation({ customer: jane })] }),
  })
  await receiver.fixture.night()
  await eraseIn(receiver.fixture, byPhone)
  for (const [, text] of someOf(hostileTexts, 1)) {
    const ofOthers = await receiver.post({ EvalID: 2002, notes: text.slice(0, megabyte / 8) })
    const ofErased = await receiver.post({ EvalID: 1001, notes: text.slice(0, megabyte / 32) })
    expect([ofOthers.status, ofErased.status]).toEqual([200, 200])
  }

  expect((await receiver.post({ EvalID: 1001 })).status).toBe(200)
})

test('a stock list with megabytes of hostile text is imported and exported', {
  timeout: 240_000,
}, async () => {
  await using fixture = await openExportFixture()
  for (const [name, text] of someOf(hostileTexts, 1)) {
    const cell = (value: string) => `"${value.replaceAll('"', '""')}"`
    const rows = Array.from({ length: 12 }, (_, index) => [
      `S${index}`,
      ...['Toyota', 'Camry', '2019', '85000', '25990'],
      cell(index === 5 ? text.slice(0, longestCell) : `${index} owners`),
      index === 7 ? cell(text.slice(-longestCell)) : 'White',
    ])
    const names = ['Stock No', 'Make', 'Model', 'Year', 'Kms', 'Price', 'Notes', 'Colour']
    const list = [names, ...rows].map((row) => row.join(',')).join('\n')
    const imported = await fixture.importList(`${name.replaceAll(/\W/g, '-')}.csv`, `${list}\n`)
    const out = `${fixture.folder}/out of ${name}.csv`
    const exported = await fixture.exportList('--rooftop', 'north', '--out', out)

    expect([imported.code, exported.code], name).not.toContain(2)
  }
})
