/**
 * A `numeric` of the warehouse as CSV that reads as the same number everywhere: no zeros that say nothing, and never
 * three digits after the point, which half the world takes for thousands.
 */
export function amountText(numeric: string | null): string {
  if (numeric === null) return ''
  const [whole = '', fraction = ''] = numeric.split('.')
  const digits = fraction.replace(/0+$/, '')
  if (digits === '') return whole
  return `${whole}.${digits.length === 3 ? `${digits}0` : digits.padEnd(2, '0')}`
}
