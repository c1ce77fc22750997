/** What stands where a person stood. */
export const erasedMark = '[erased]'

/** Stands in an older body, so that it differs from the next one as it did before. */
export function numberedMark(version: number): string {
  return `[erased ${version}]`
}

export function isErasedMark(value: unknown): boolean {
  return typeof value === 'string' && /^\[erased( \d+)?\]$/.test(value)
}
