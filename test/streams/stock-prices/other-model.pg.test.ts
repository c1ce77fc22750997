import { expect, test } from 'vitest'
import { impatient, reprice, stockFixture, vinOf } from './stocked.ts'

test('a VIN that decodes to another model than the list says is reported with both names', async () => {
  await using fixture = await stockFixture(
    [1, 2, 3].map((n) => ({ stockNo: `S-${n}`, vin: vinOf(n) })),
  )
  const { pool } = fixture.database
  await fixture.night(impatient(fixture))
  const { rows: decoded } = await pool.query<{ vin: string; make: string; model: string }>(
    'select vin, make, model from core.vehicle_decode order by vin',
  )
  // A VIN of Toyota decodes to a Toyota.
  expect(decoded.map(({ make }) => make)).toEqual(['Toyota', 'Toyota', 'Toyota'])
  const name = async (n: number, make: string, model: string) =>
    await pool.query('update core.stock_unit set make = $2, model = $3 where stock_no = $1', [
      `S-${n}`,
      make,
      model,
    ])
  await name(1, 'TOYOTA', `${decoded[0]!.model.toUpperCase()} SR 5`)
  await name(2, 'Toyota', 'Corolla')
  await name(3, 'Mazda', decoded[2]!.model)

  await reprice(fixture, impatient(fixture))

  const { rows } = await pool.query(
    `select natural_key, detail from ops.data_quality where check_name = 'vin-of-another-model' order by 1`,
  )
  expect(rows).toEqual([
    {
      natural_key: 'S-2',
      detail: `the VIN decodes to Toyota ${decoded[1]!.model}, the list says Toyota Corolla: check the VIN, the prices are those of Toyota ${decoded[1]!.model}`,
    },
    {
      natural_key: 'S-3',
      detail: `the VIN decodes to Toyota ${decoded[2]!.model}, the list says Mazda ${decoded[2]!.model}: check the VIN, the prices are those of Toyota ${decoded[2]!.model}`,
    },
  ])
})
