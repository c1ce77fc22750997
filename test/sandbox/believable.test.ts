import { expect, test } from 'vitest'
import { catalogue } from '#src/sandbox/catalogue.ts'
import { findKnownVehicle } from '#src/sandbox/find-vehicle.ts'
import { generateWorld } from '#src/sandbox/generate-world.ts'
import { fieldsAt } from '#src/sandbox/lifecycle.ts'
import { priceEvaluation } from '#src/sandbox/price-evaluation.ts'
import { ageAt, averageKm } from '#src/sandbox/price-model.ts'
import { defaultWire } from '#src/values/wire.ts'

const now = new Date('2026-06-30T10:20:30Z')
const { generatedUser } = defaultWire.appraisal
const world = generateWorld({
  ...{ seed: 7, rooftops: 6, evaluations: 1500, days: 90, now, generatedUser },
})
const evaluations = [...world.evaluations()]

test('an appraised price is near the wholesale price of its vehicle', () => {
  const ratios = evaluations.flatMap((evaluation) => {
    const { prices } = priceEvaluation({ world }, evaluation, evaluation.createdAt)
    return evaluation.finalPrice ? [evaluation.finalPrice / prices.wholesale] : []
  })

  expect(ratios.length).toBeGreaterThan(1000)
  expect(Math.min(...ratios)).toBeGreaterThan(0.8)
  expect(Math.max(...ratios)).toBeLessThan(1.15)
})

test('a vehicle is of a year in which its model was sold, with the mileage of its age', () => {
  for (const evaluation of evaluations) {
    const { make, model, year = null, odometer = null } = evaluation
    const region = world.rooftop(evaluation.rooftopUid)!.region
    const sold = catalogue.filter(
      (one) => one.region === region && one.make === make && one.model === model,
    )
    if (year === null) continue
    expect(sold.some(({ firstYear, lastYear }) => firstYear <= year && year <= lastYear)).toBe(true)
    const usual = averageKm(ageAt({ year, at: evaluation.createdAt }) + 0.3)
    if (odometer !== null) expect(odometer).toBeLessThan(usual * 2 + 1000)
  }
})

test('a VIN decodes to the make and model of its evaluation', () => {
  const pairs = evaluations.flatMap((evaluation) => {
    const { vin, make, model } = fieldsAt(evaluation, now)
    if (typeof vin !== 'string' || world.withVin(vin, now).length !== 1) return []
    const known = findKnownVehicle(vin, world, now)
    return known ? [[`${known.vehicle.make} ${known.vehicle.model}`, `${make} ${model}`]] : []
  })

  expect(pairs.length).toBeGreaterThan(1000)
  for (const [decoded, stated] of pairs) expect(decoded).toBe(stated)
})
