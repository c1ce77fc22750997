/** Replaces erased personal data. */
export const erasedMark = '[erased]'

/** The mark in an older body, which must still differ from the next body. */
export function numberedMark(version: number): string {
  return `[erased ${version}]`
}

/** Whether a value is one of the marks. */
export function isErasedMark(value: unknown): boolean {
  return typeof value === 'string' && /^\[erased( \d+)?\]$/.test(value)
}
