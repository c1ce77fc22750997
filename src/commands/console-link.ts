import { UsageError } from '../errors.ts'
import { linkMinutes, makeLink } from '../console/access/link.ts'
import type { RunCommand } from './command.ts'

export const consoleLink: RunCommand = async (session, options) => {
  const { config } = session
  const engineers = (config.console?.people ?? []).filter(({ role }) => role === 'engineer')
  const email = options['email'] ?? (engineers.length === 1 ? engineers[0]!.email : undefined)
  if (config.console !== null && typeof email !== 'string')
    throw new UsageError('Name one of console.people: --email <address>.')
  const { db } = await session.warehouse('write')
  const url = await makeLink(db, config, String(email))
  session.resultWithSecrets({ url, email, minutes: linkMinutes }, () => [
    `Open this as ${email} within ${linkMinutes} minutes; it works once:`,
    `  ${url}`,
  ])
  return 0
}
