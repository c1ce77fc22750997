import type { ReconLine } from '#src/sandbox/world-types.ts'
import { less, milli, moneyText, ratio, total } from './marts-numbers.ts'
import {
  evaluationOf,
  grouped,
  type MartTruth,
  type ReportRow,
  rooftopOf,
  textOf,
} from './marts-rows.ts'
import type { SeenVersion } from './marts-truth.ts'

// The reports over reconditioning lines, from the world alone.

/** First estimate and latest one, by type of work. */
export function reconDrift(truth: MartTruth): ReportRow[] {
  const parts = truth.present.flatMap((one) => {
    const linesOf = (version: SeenVersion) =>
      version.truth.reconditioning.filter((line) => !isInfo(line))
    const [first, latest] = [linesOf(one.versions[0]!), linesOf(one.versions.at(-1)!)]
    const types = new Set([...first, ...latest].map(({ type }) => type || 'unknown'))
    return [...types].map((type) => {
      const ofType = (lines: readonly ReconLine[]) =>
        lines.filter((line) => (line.type || 'unknown') === type).map(costOf)
      const costs = { first: ofType(first), latest: ofType(latest) }
      const isKnown = [...costs.first, ...costs.latest].every((cost) => cost !== null)
      return { one, type, costs: isKnown ? costs : null }
    })
  })
  return grouped(
    parts,
    ({ one, type }) => ({
      ...rooftopOf(truth, one.rooftop),
      ...{ month_start: one.month, recon_type: textOf(type) },
      currency_code: one.rooftop.currency,
    }),
    (members) => {
      const known = members.flatMap(({ costs }) => costs ?? [])
      const isKnown = known.length > 0
      const [first, latest] = [
        isKnown ? total(known.flatMap((costs) => costs.first)) : null,
        isKnown ? total(known.flatMap((costs) => costs.latest)) : null,
      ]
      return {
        evaluations: members.length,
        first_cost: moneyText(first),
        latest_cost: moneyText(latest),
        drift: moneyText(less(latest, first)),
        drift_share: ratio(less(latest, first), first),
        actual_cost: null,
      }
    },
  )
}

/** Readings of batteries, and where one is missing. */
export function batteryHealth(truth: MartTruth): ReportRow[] {
  return truth.present.flatMap((one) => {
    const lines = one.truth.reconditioning.filter(isInfo)
    if (lines.length === 0) return []
    const reading = lines.find((line) => percentOf(line) !== null) ?? lines[0]!
    const { vin, odometer } = one.truth
    const inMiles = one.rooftop.region === 'US'
    const km = odometer !== null && inMiles ? Math.round(odometer * 1.609344) : odometer
    return {
      ...evaluationOf(truth, one),
      ...{ vin: textOf(vin), odometer_km: km },
      battery_soh_pct: percentOf(reading),
      reading_source: textOf(reading.source),
      is_reading_missing: percentOf(reading) === null,
    }
  })
}

function percentOf({ value }: ReconLine): string | null {
  const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(String(value))?.[1]
  return percent === undefined ? null : Number(percent).toFixed(2)
}

/** In thousandths; a line without a cost has none. */
export function costOf({ cost }: ReconLine): bigint | null {
  return milli(cost)
}

function isInfo({ type }: ReconLine): boolean {
  return type?.toLowerCase() === 'info'
}
