import { hash32 } from '../values/hash32.ts'
import { countsFor } from './checks.ts'
import type { KnownVehicle } from './find-vehicle.ts'
import { averageKm } from './price-model.ts'

/** Records of EU and US sources on a VIN; an empty list: nothing recorded [V §2]. */
interface HistoryReport {
  /** No title brands and no junk, salvage or insurance records [V §1]. */
  readonly clean: boolean
  readonly titles: readonly TitleRecord[]
  readonly brands: readonly HistoryRecord[]
  readonly salvage: readonly HistoryRecord[]
  readonly accidents: readonly HistoryRecord[]
  readonly thefts: readonly HistoryRecord[]
  readonly liens: readonly HistoryRecord[]
}

interface HistoryRecord {
  /** `YYYY-MM-DD`. */
  readonly date: string
  /** Two-letter country code. */
  readonly country: string
  readonly description: string
}

interface TitleRecord extends HistoryRecord {
  readonly odometer: number
  readonly odometerUnit: 'km' | 'miles'
}

const countries = ['US', 'DE', 'NL', 'FR']
const brandTexts = ['Salvage title', 'Rebuilt title', 'Flood damage', 'Odometer not actual']
const salvageTexts = ['Insurance total loss', 'Sold at a salvage auction', 'Junk yard record']
const accidentTexts = ['Front impact, minor', 'Rear impact, moderate', 'Side impact, minor']
const dayMs = 86_400_000
/** Recorded dates are fixed: they do not move with the clock. */
const newestRecordMs = Date.UTC(2026, 0)

/** Always the same for a VIN, at any time; theft and lien records match the PPSR counts of the VIN. */
export function buildHistory(vin: string, known: KnownVehicle, now: Date): HistoryReport {
  const draw = (what: string, choices: number) => hash32(`${what} of ${vin}`) % choices
  const several = (what: string, count: number, texts: readonly string[]): HistoryRecord[] =>
    Array.from({ length: count }, (_, at) => ({
      ...drawLocation(`${what} ${at}`, vin, known, now),
      description: texts[draw(`${what} text ${at}`, texts.length)]!,
    })).sort((a, b) => (a.date < b.date ? -1 : 1))
  const counts = countsFor(vin)
  const isBad = draw('history', 5) === 0
  const brands = several('brand', isBad ? 1 + draw('brands', 2) : 0, brandTexts)
  const salvage = several('salvage', isBad ? draw('salvages', 3) : 0, salvageTexts)
  const accidents = draw('accidents', 3) === 0 ? 1 + draw('crashes', 2) : 0
  return {
    clean: brands.length === 0 && salvage.length === 0,
    titles: drawTitles(vin, known, now),
    brands,
    salvage,
    accidents: several('accident', accidents, accidentTexts),
    thefts: several('theft', counts.stolen, ['Reported stolen']),
    liens: several('lien', counts.securityInterests, ['Lien recorded on the title']),
  }
}

/** One to three titles with rising odometer readings, in the unit of the country. */
function drawTitles(vin: string, known: KnownVehicle, now: Date): TitleRecord[] {
  const count = 1 + (hash32(`titles of ${vin}`) % 3)
  const { country } = drawLocation('title', vin, known, now)
  const firstMs = firstDayMs(known, now)
  const share = 0.7 + (hash32(`driving of ${vin}`) % 60) / 100
  return Array.from({ length: count }, (_, at) => {
    const dateMs = recordedMs(firstMs, (at + 1) / (count + 1), now)
    const km = averageKm((dateMs - firstMs) / (365 * dayMs)) * share
    const isUs = country === 'US'
    return {
      date: isoDay(dateMs),
      country,
      description: at === 0 ? 'First title' : 'Transfer of title',
      odometer: Math.round(isUs ? km / 1.609_344 : km),
      odometerUnit: isUs ? 'miles' : 'km',
    }
  })
}

function drawLocation(what: string, vin: string, known: KnownVehicle, now: Date) {
  const firstMs = firstDayMs(known, now)
  const share = (1 + (hash32(`${what} date of ${vin}`) % 98)) / 100
  return {
    date: isoDay(recordedMs(firstMs, share, now)),
    country: countries[hash32(`country of ${vin}`) % countries.length]!,
  }
}

/** The first day of the model year, but at least a quarter of a year ago. */
function firstDayMs({ year }: KnownVehicle, now: Date): number {
  const latestMs = Math.floor(now.getTime() / dayMs) * dayMs - 90 * dayMs
  return Math.min(Date.UTC(year, 0), latestMs)
}

/** A date between the first day and the latest possible record, by share; never in the future. */
function recordedMs(firstMs: number, share: number, now: Date): number {
  const newestMs = Math.max(firstMs + 90 * dayMs, newestRecordMs)
  return Math.min(firstMs + (newestMs - firstMs) * share, now.getTime())
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
