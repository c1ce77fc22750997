const codes = new Set(Intl.supportedValuesOf('currency'))

/** Whether it is a code of ISO 4217, in upper case. */
export function isCurrencyCode(text: string): boolean {
  return codes.has(text)
}
