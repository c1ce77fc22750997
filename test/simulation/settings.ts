/** The first second of every history: a midnight. */
export const begin = Date.parse('2026-01-05T00:00:00Z')
export const dayMs = 86_400_000
/** The first night comes after so much history. */
const firstNight = begin + 2 * dayMs + 2.25 * 3_600_000

/** When a night runs, by the source's clock. */
export function nightAt(night: number): number {
  return firstNight + night * dayMs
}

/** How a warehouse is set up: what design.md promises for a morning depends on it. */
export interface Settings {
  readonly name: string
  /** Without it the source tells of an edit by webhook alone, and known records are read again on a schedule. */
  readonly listCarriesUpdatedAt: boolean
  readonly maxRetries: 0 | 1
  readonly sync: {
    readonly windowHours: number
    readonly settleDays: number
    readonly recheckDays: number
    readonly deepRelistNights: number
  }
}

/** Four ways to set up a warehouse; estates take them in turn. */
export const allSettings: readonly Settings[] = [
  {
    name: 'long lookback: what completes within two months is there the next morning',
    listCarriesUpdatedAt: true,
    maxRetries: 0,
    sync: { windowHours: 744, settleDays: 3, recheckDays: 60, deepRelistNights: 28 },
  },
  {
    name: 'short lookback: older windows come in turn, and the list tells nothing of edits',
    listCarriesUpdatedAt: false,
    maxRetries: 1,
    sync: { windowHours: 240, settleDays: 1, recheckDays: 6, deepRelistNights: 5 },
  },
  {
    name: 'read once: nothing but coverage keeps a window whole',
    listCarriesUpdatedAt: true,
    maxRetries: 0,
    sync: { windowHours: 48, settleDays: 0, recheckDays: 0, deepRelistNights: 90 },
  },
  {
    name: 'long settling: settled late, and then only in turn',
    listCarriesUpdatedAt: true,
    maxRetries: 1,
    sync: { windowHours: 240, settleDays: 10, recheckDays: 0, deepRelistNights: 9 },
  },
]
