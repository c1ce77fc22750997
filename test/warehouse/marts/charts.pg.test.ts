import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pictures, render } from '../../support/charts.ts'
import type { Fixture } from '../../support/fixture.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await reportedFixture()
}, 180_000)

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]()
})

// FORECOURT_WRITE=1 renews the pictures of the README (npm run charts).
test.each(pictures)(
  'the picture $name of the README is what the marts say (else: npm run charts)',
  async (picture) => {
    const file = new URL(`../../../sql/bi/charts/${picture.name}.svg`, import.meta.url)

    const svg = await render(picture, fixture.database.pool)
    if (process.env['FORECOURT_WRITE']) await writeFile(file, svg)

    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
    expect(svg).not.toMatch(/NaN|undefined|null|Infinity/)
    expect(svg).toBe(await readFile(file, 'utf8').catch(() => ''))
  },
)
