import { expect, test } from 'vitest'
import { openHouse } from '../support/nights.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

test('a generated world lands whole', async () => {
  const now = new Date('2026-03-20T02:15:00Z')
  await using house = await openHouse({ sandbox: { now, rooftops: 6, evaluations: 300, days: 9 } })
  let t = performance.now()
  const report = await house.night()
  console.log(JSON.stringify(report), performance.now() - t)
  for (let i = 0; i < 5; i++) {
    t = performance.now()
    const again = await house.nightAfter(1)
    console.log(again.status, JSON.stringify(again.streams['evaluations']), performance.now() - t)
  }
  const at = house.sandbox.clock.now()
  expect(differences(sourceTruth(house.sandbox.world, at, 'rooftop'), await warehouseTruth(house.database.pool, 'rooftop'))).toEqual([])
})
