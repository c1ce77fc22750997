import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseInstant } from '../../values/instant.ts'
import { daySeconds } from '../../values/window.ts'

/**
 * The day that the sandbox's world ends on, remembered in `.forecourt/`: a world is a function of its seed and that day,
 * so that tomorrow's demo or sandbox meets the same evaluations and not others under the same ids.
 */
export function sandboxAnchor(homeDir: string): Date {
  const file = path.join(homeDir, '.forecourt', 'sandbox-anchor')
  const stored = existsSync(file) ? parseInstant(readFileSync(file, 'utf8').trim()) : null
  if (stored) return stored
  const today = new Date(Math.floor(Date.now() / 1000 / daySeconds) * daySeconds * 1000)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, today.toISOString())
  return today
}
