/** The words of an error without what differs where the cause is the same: the operation, numbers and times. */
export function causeWords(text: string): string {
  return text.replaceAll(/\/\w+/g, '').replaceAll(/\d+/g, '').toLowerCase()
}
