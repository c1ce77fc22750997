import { UsageError } from '../../errors.ts'
import { assertWarehouseNamed } from '../../warehouse/warehouse.ts'
import { consoleIsOff, linkLines, linkMinutes, makeLink } from '../../web/console/access/link.ts'
import type { RunCommand } from './command.ts'

export const consoleLink: RunCommand = async (session, options) => {
  const { config } = session
  assertWarehouseNamed(config)
  // Before a Postgres is started for it.
  if (config.console === null) throw consoleIsOff()
  const engineers = config.console.people.filter(({ role }) => role === 'engineer')
  const email = options['email'] ?? (engineers.length === 1 ? engineers[0]!.email : undefined)
  if (typeof email !== 'string')
    throw new UsageError('Name one of console.people: --email <address>.')
  const { db } = await session.warehouse('write')
  const url = await makeLink(db, config, email)
  session.resultWithSecrets({ url, email, minutes: linkMinutes }, () => linkLines(email, url))
  return 0
}
