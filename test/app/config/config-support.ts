import { type Config, type Environment, parseConfig } from '#src/app/config/read.ts'
import { errorText, UsageError } from '#src/errors.ts'

/** An environment with these variables alone. */
export function withVariables(variables: Record<string, string> = {}): Environment {
  return { variables, cwd: '/srv' }
}

/** The config of a text, as if it were /srv/forecourt.yaml. */
export function configOf(text: string, variables: Record<string, string> = {}): Config {
  return parseConfig(text, '/srv/forecourt.yaml', withVariables(variables))
}

/** The problems of an invalid text, a line each. */
export function problemsOf(text: string, variables: Record<string, string> = {}): string[] {
  try {
    configOf(text, variables)
  } catch (error) {
    if (error instanceof UsageError) return error.message.split('\n')
    throw new Error(`not a UsageError: ${errorText(error)}`, { cause: error })
  }
  return []
}

/** One key and one rooftop, in block style. */
export const oneRooftop = `keys:
  a: { value: key-of-the-dealer, kind: partner, region: AU }
rooftops:
  - uid: u1
    name: Northside
    key: a
    timezone: Australia/Sydney
    currency: AUD
`
