/** The first second of every history, a midnight. */
export const begin = Date.parse('2026-01-05T00:00:00Z')
export const dayMs = 86_400_000
/** How much history there is before the first night. */
const firstNight = begin + 2 * dayMs + 2.25 * 3_600_000

/** When a night runs, by the source's clock. */
export function nightAt(night: number): number {
  return firstNight + night * dayMs
}

/** The settings of a warehouse, on which the expected content of a morning depends. */
export interface Settings {
  readonly name: string
  /** Without it, the source reports edits only by webhook, and known records are read again on a schedule. */
  readonly listCarriesUpdatedAt: boolean
  readonly maxRetries: 0 | 1
  readonly sync: {
    readonly windowHours: number
    readonly settleDays: number
    readonly recheckDays: number
    readonly deepRelistNights: number
  }
}

/** Four settings of a warehouse; simulations use them in turn. */
export const allSettings: readonly Settings[] = [
  {
    name: 'long lookback: what completes within two months is loaded the next morning',
    listCarriesUpdatedAt: true,
    maxRetries: 0,
    sync: { windowHours: 744, settleDays: 3, recheckDays: 60, deepRelistNights: 28 },
  },
  {
    name: 'short lookback: older windows are rotated, and the list does not show edits',
    listCarriesUpdatedAt: false,
    maxRetries: 1,
    sync: { windowHours: 240, settleDays: 1, recheckDays: 6, deepRelistNights: 5 },
  },
  {
    name: 'read once: only the coverage keeps a window complete',
    listCarriesUpdatedAt: true,
    maxRetries: 0,
    sync: { windowHours: 48, settleDays: 0, recheckDays: 0, deepRelistNights: 90 },
  },
  {
    name: 'long settling: settled late, and then only listed by rotation',
    listCarriesUpdatedAt: true,
    maxRetries: 1,
    sync: { windowHours: 240, settleDays: 10, recheckDays: 0, deepRelistNights: 9 },
  },
]
