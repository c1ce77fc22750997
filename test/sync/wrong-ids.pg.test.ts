import { expect, test } from 'vitest'
import { otherNames } from '#src/sandbox/other-names.ts'
import { openFixture } from '../support/fixture.ts'

test('a night whose lists have the ids of something else is partial each time, and says which setting to check', async () => {
  // Its list items have the former id as EvalID, and their own twice: nothing says which one is meant.
  const { decoys, wire } = otherNames(20017)
  const { evalList } = wire.appraisal
  const size = { seed: 20017, rooftops: 2, evaluations: 150, days: 20 }
  const now = new Date('2026-03-10T06:30:00Z')
  const open = async (id: typeof evalList.id) =>
    await openFixture({
      sandbox: { ...size, now, decoys, wire },
      wire: { ...wire, appraisal: { ...wire.appraisal, evalList: { ...evalList, id } } },
      sync: { start: '2026-02-18' },
    })
  await using wrong = await open('EvalID')
  await using right = await open(evalList.id)

  const first = await wrong.night()
  const second = await wrong.nightAfter(1)

  for (const { status, rooftops } of [first, second]) {
    expect(status).toBe('partial')
    for (const { error } of Object.values(rooftops))
      expect(error).toMatch(/^evaluations: Of \d+ listed ids, \d+ do not exist: .*evalList\.id/)
  }
  expect((await right.night()).status).toBe('ok')
})
