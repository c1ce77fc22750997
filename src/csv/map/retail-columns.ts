import type { Candidate, SampleColumn } from './column.ts'
import { readAmount } from './typing/money.ts'
import { digitsIn, thousands } from './typing/number.ts'
import { plainText } from './typing/plain-text.ts'

/**
 * Some Australian dealer feeds name the customer's price `retail` and the wholesale price `price`. If both columns
 * exist and `retail` is much higher on nearly every row, they are read that way.
 */
export function assignRetailColumns(
  sample: readonly SampleColumn[],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const retail = sample.find(({ name }) => name.key === 'retail' || name.key === 'retailprice')
  const price = sample.find(({ name }) => name.key === 'price')
  if (!retail || !price) return candidates
  const isOurs = ({ column }: Candidate) => column === retail.index || column === price.index
  const ratio = usualRatio(price, retail)
  if (ratio === null || ratio > 0.93) return candidates
  const why = `price is usually ${Math.round(ratio * 100)} % of retail, as a wholesale price is`
  // `Retail Price` may also be a list price that `Price` reduces: the low confidence makes the import ask.
  const confidence = retail.name.key === 'retail' ? 0.8 : 0.5
  const shared = { confidence, source: 'values', isPlainName: true, evidence: [why] } as const
  return [
    ...candidates.filter((candidate) => !isOurs(candidate)),
    { column: retail.index, field: 'price_asking', ...shared },
    { column: price.index, field: 'price_wholesale', ...shared },
  ]
}

/** The median of price ÷ retail if price is lower on nine rows of ten; else null. */
function usualRatio(price: SampleColumn, retail: SampleColumn): number | null {
  const ratios = price.cells
    .map((cell, row) => amountIn(cell) / amountIn(retail.cells[row] ?? ''))
    .filter((ratio) => Number.isFinite(ratio) && ratio > 0)
    .toSorted((a, b) => a - b)
  const lower = ratios.filter((ratio) => ratio < 1).length
  if (ratios.length < 3 || lower < ratios.length * 0.9) return null
  return ratios[Math.floor(ratios.length / 2)]!
}

function amountIn(cell: string): number {
  const amount = readAmount(plainText(cell))
  if (!amount) return Number.NaN
  const { whole, fraction } = digitsIn(thousands, amount.reading)
  return Number(`${whole}.${fraction || '0'}`)
}
