/** The words of an error without what differs where the cause is the same: the operation, numbers and times. */
export function causeWords(text: string): string {
  return text.replaceAll(/\/\w+/g, '').replaceAll(/\d+/g, '').toLowerCase()
}

/** The first of some texts with the same cause, with the records in quarantine of all of them. */
export function withTotal(causes: readonly string[]): string {
  return causes[0]!.replace(/^\d+(?= in quarantine)/, () =>
    String(causes.reduce((sum, cause) => sum + Number.parseInt(cause, 10), 0)),
  )
}
