// Words by which a list says that its prices are before tax, lower than what a customer pays.

const withoutTax =
  /(?:\b(?:ex|excl?|exclud(?:e|es|ed|ing)|not incl(?:ude|uding)?|before|net of|plus)\b|\+)\W{0,3}(?:gst|vat|tax|taxes)\b|\b(?:gst|vat|tax)\W{0,3}(?:excl|excluded|exclusive|extra|not included)\b/i
const nameWithoutTax = /\b(?:ex|excl|ht|netto)\W*$|^netto/i
const longest = 200

/** Whether a cell or a title says that an amount is before tax: `24,990 + GST`. */
export function isWithoutTax(text: string): boolean {
  return text.length <= longest && withoutTax.test(text)
}

/** Whether the header of a price says so: `Price ex GST`, `Price Ex`, `Prix HT`, `Nettopreis`. */
export function isNameWithoutTax(header: string): boolean {
  if (header.length > longest) return false
  const words = header.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').trim()
  return withoutTax.test(words) || nameWithoutTax.test(words)
}
