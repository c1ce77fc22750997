import type { Region } from './world-types.ts'

/** US dollars for one unit: fixed, pegged or approximate rates. */
const inDollars: Readonly<Record<string, number>> = {
  AUD: 0.66,
  USD: 1,
  AED: 0.2723,
  SAR: 0.2666,
  QAR: 0.2747,
  KWD: 3.26,
  BHD: 2.659,
  OMR: 2.601,
}

/** The currency of the catalogue's prices. */
export const regionCurrency: Readonly<Record<Region, string>> = { AU: 'AUD', US: 'USD', GCC: 'AED' }

/** The amount in another currency (ISO 4217); a currency without a rate counts as a dollar. */
export function convert(amount: number, from: string, to: string): number {
  return from === to ? amount : (amount * (inDollars[from] ?? 1)) / (inDollars[to] ?? 1)
}
