import { type GrantReport, grantAccess, type UnknownLogin } from '../../warehouse/access/grant.ts'
import type { RunCommand } from './command.ts'

export const grant: RunCommand = async (session, options) => {
  const dryRun = options['dryRun'] === true
  const { pool, url, config } = await session.warehouse(dryRun ? 'read' : 'write')
  const revokeRemoved = options['revokeRemoved'] === true
  const report = await grantAccess({ pool, url, config, dryRun, revokeRemoved })
  session.result(report, () => grantLines(report))
  return 0
}

function grantLines({ dryRun, steps, notes, logins, unknownLogins }: GrantReport): string[] {
  const nothing = `Nothing to do: all rights, and ${logins.length} logins, are as they should be.`
  const done = dryRun
    ? steps.flatMap(({ what, sql }) => [`-- ${what}`, sql])
    : steps.map(({ what }) => `  ${what}`)
  const changes = steps.length === 1 ? '1 change' : `${steps.length} changes`
  return [
    ...(steps.length === 0 ? [nothing] : dryRun ? done : [`Granted, ${changes}:`, ...done]),
    ...[...notes, ...unknownLogins.map(unknownLine)].map((line) => (dryRun ? `-- ${line}` : line)),
  ]
}

function unknownLine({ name, roles, isOurs, statement }: UnknownLogin): string {
  const whose = isOurs
    ? 'was made by grant, but the config no longer names it ("forecourt grant --revoke-removed" shuts it out)'
    : 'is not in this config (made by hand, or for another warehouse of this server)'
  return `The login ${name} is in ${roles.join(', ')} and ${whose}. To take that away: ${statement}`
}
