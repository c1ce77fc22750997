/** The largest amount that `numeric(15,3)` holds. */
const greatest = 999_999_999_999.999

/** An amount as `numeric(15,3)` writes it (KWD, BHD and OMR have three decimals); null when it does not fit. */
export function moneyText(amount: number): string | null {
  if (!Number.isFinite(amount) || Math.abs(amount) > greatest) return null
  const text = amount.toFixed(3)
  return text === '-0.000' ? '0.000' : text
}
