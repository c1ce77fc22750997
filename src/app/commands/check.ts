import { errorText, UsageError } from '../../errors.ts'
import type { Check } from '../../web/operations/check-result.ts'
import { checkSetup } from '../../web/operations/check-setup.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'

export const check: RunCommand = async (session) => {
  const checks = await checkSetup(readConfigOrFail(session), session.log, session.io.signal)
  const ok = checks.every(({ status }) => status !== 'fail')
  session.result({ ok, checks }, () => lines(checks))
  return ok ? 0 : 1
}

function lines(checks: readonly Check[]): string[] {
  const width = Math.max(...checks.map(({ name }) => name.length))
  return checks.map(
    ({ status, name, detail }) => `${status.padEnd(4)}  ${name.padEnd(width)}  ${detail}`,
  )
}

/** With --json a broken config is a failed check too, for whoever reads the document instead of stderr. */
function readConfigOrFail(session: Session): Config {
  try {
    return session.config
  } catch (error) {
    const checks: Check[] = [{ name: 'config', status: 'fail', detail: errorText(error) }]
    if (session.json && error instanceof UsageError)
      session.result({ ok: false, checks, error: errorText(error) }, () => [])
    throw error
  }
}
