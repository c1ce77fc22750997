/** A statement that fills tables. */
export interface Step {
  readonly name: string
  readonly sql: string
  /** It runs beside the steps before it; left out: it waits for them. */
  readonly beside?: boolean
}

/** Without this setting, 50. */
export const rooftops = Number(process.env['FORECOURT_SCALE_ROOFTOPS'] ?? 50)

export const evaluations = Number(process.env['FORECOURT_SCALE_EVALUATIONS'] ?? 1_000_000)
