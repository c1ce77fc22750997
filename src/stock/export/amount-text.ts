/**
 * A `numeric` of the warehouse as CSV text that every program reads as the same number: no trailing zeros, and never
 * three digits after the point, which many locales read as thousands.
 */
export function amountText(numeric: string | null): string {
  if (numeric === null) return ''
  const [whole = '', fraction = ''] = numeric.split('.')
  const digits = fraction.replace(/0+$/, '')
  if (digits === '') return whole
  return `${whole}.${digits.length === 3 ? `${digits}0` : digits.padEnd(2, '0')}`
}
