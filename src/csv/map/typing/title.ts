import { leadingMake } from '../vehicle-words.ts'

/** The parts of an advertisement's title: `2015 Ford Kuga 2.0 TDCi Trend AWD Auto`. */
export interface Title {
  readonly year: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
}

/** Splits a title after its year and its make; null without a known make, because the rest would be a guess. */
export function splitTitle(text: string): Title | null {
  const words = text.split(' ').filter((word) => word !== '')
  const year = /^(19|20)\d{2}$/.test(words[0] ?? '') ? words.shift()! : null
  const count = leadingMake(words)
  if (count === 0) return null
  const [model, ...rest] = words.slice(count)
  return {
    year,
    make: words.slice(0, count).join(' '),
    model: model ?? null,
    variant: rest.length === 0 ? null : rest.join(' '),
  }
}
