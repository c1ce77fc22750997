import { leadingMake } from '../vehicle-words.ts'

/** What the title of an advertisement says: `2015 Ford Kuga 2.0 TDCi Trend AWD Auto`. */
export interface Title {
  readonly year: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
}

/** Splits a title behind its year and its make; null without a known make, for then the rest is a guess. */
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
