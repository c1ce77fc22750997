import { expect, test } from 'vitest'
import { openFixture } from '../support/fixture.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'
import { renamedWire } from './renamed.ts'

const now = new Date('2026-03-10T06:30:00Z')
const size = { seed: 5, rooftops: 6, evaluations: 200, days: 10, now }

/** What was loaded, without the digests of the bodies as they were sent. */
function withoutBodies(content: Content): Content {
  const tables = Object.entries(content).filter(([name]) => !name.startsWith('raw.'))
  const bare = (line: string) =>
    line.replaceAll(/"content_hash": "[^"]*",? ?/g, '').replace(/"body": .*?, "amount"/, '"amount"')
  return Object.fromEntries(tables.map(([name, lines]) => [name, lines.map(bare)]))
}

test('a service with other names for everything loads the same rows, with only wire edited', async () => {
  const wire = renamedWire()
  await using usual = await openFixture({ sandbox: size })
  await using renamed = await openFixture({ sandbox: { ...size, wire }, wire })

  const reports = [await usual.night(), await renamed.night()]

  expect(reports.map(({ status }) => status)).toEqual(['ok', 'ok'])
  const [expected, actual] = await Promise.all(
    [usual, renamed].map(async ({ database }) => withoutBodies(await readContent(database.pool))),
  )
  expect(expected!['core.evaluation']!.length).toBeGreaterThan(150)
  expect(contentDifferences(expected!, actual!)).toEqual([])
})
