import { expect, test } from 'vitest'
import { learn } from '#src/api/learn/learn.ts'
import { withSubstitutes } from '#src/api/learn/substitute.ts'
import { recordedNames } from '#src/app/commands/recorded-names.ts'
import { maskBy } from '#src/app/commands/wire-record.ts'
import { setAtPath } from '#src/sandbox/render.ts'
import { defaultWire } from '#src/values/wire.ts'
import { otherService } from '../../api/learn/other-services.ts'
import { someOf } from '../../support/cases.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'

const now = new Date('2026-03-10T06:30:00Z')

/** The columns of the settings that a recording may prove. */
const columnOf: Readonly<Record<string, string>> = {
  ...{ make: 'make', model: 'model', variant: 'variant', colour: 'colour' },
  ...{ registration: 'registration_plate', registrationState: 'registration_state' },
  ...{ customerEmail: 'email', customerPhone: 'phone', customerAddress: 'address' },
}

test.for(someOf([9, 12, 3, 10, 27], 2))(
  'a night against the recording of service %i, with what it proves in the config, loads the truth of that',
  async (seed) => {
    const { answers } = withSubstitutes(
      (await otherService(seed)).answers,
      maskBy(defaultWire.appraisal),
    )
    const wire = structuredClone(defaultWire)
    const proposals = learn(answers, wire).filter(({ proposal }) => proposal !== null)
    for (const { setting, proposal } of proposals)
      setAtPath(wire as unknown as Record<string, unknown>, setting, proposal)
    const size = { seed: seed + 1, rooftops: 6, evaluations: 200, days: 20, now }
    const sync = { start: '2026-02-18' }
    await using usual = await openFixture({ sandbox: size, sync })
    const sandbox = { ...size, ...recordedNames(answers, defaultWire) }
    await using fixture = await openFixture({ sandbox, sync, wire })

    const reports = [await usual.night(), await fixture.night()]

    expect(reports.map(({ status }) => status)).toEqual(['ok', 'ok'])
    const columns = proposals.flatMap(({ setting }) => columnOf[setting.split('.').at(-1)!] ?? [])
    expect(columns.length).toBeGreaterThan(1)
    const rows = await rowsOf(fixture, columns)
    expect(rows.length).toBeGreaterThan(100)
    expect(rows).toEqual(await rowsOf(usual, columns))
  },
)

async function rowsOf({ database }: Fixture, columns: readonly string[]): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    `select rooftop_uid, eval_id, vin, final_price, ${columns.join(', ')} from core.evaluation join core.rooftop using (rooftop_id)
     join pii.evaluation_customer using (rooftop_id, eval_id) order by eval_id`,
  )
  return rows
}
