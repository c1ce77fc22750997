import { readFileSync } from 'node:fs'
import { type EvaluationRecord, normaliseEvaluation } from '#src/streams/evaluations/normalise.ts'
import type { RooftopRow } from '#src/values/rooftop.ts'
import { defaultWire } from '#src/values/wire.ts'

const file = new URL('../fixtures/appraisal/geteval.json', import.meta.url)

/** The payload of `fixtures/appraisal/geteval.json`, written by hand from the document [A §2]. */
export function goldenBody(changes: Readonly<Record<string, unknown>> = {}): unknown {
  const [item] = JSON.parse(readFileSync(file, 'utf8')) as [object]
  return [{ ...item, ...changes }]
}

export const sydneyRooftop: RooftopRow = {
  id: 7,
  groupId: 3,
  uid: 'rooftop-7',
  name: 'Northside',
  dealerId: 101,
  keyName: 'au',
  region: 'AU',
  timeZone: 'Australia/Sydney',
  currency: 'AUD',
  odometerUnit: 'km',
}

export function goldenRecord(
  changes: Readonly<Record<string, unknown>> = {},
  rooftop: RooftopRow = sydneyRooftop,
): EvaluationRecord {
  return normaliseEvaluation(goldenBody(changes), 4711, rooftop, defaultWire.appraisal)
}
