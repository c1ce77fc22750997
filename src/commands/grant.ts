import { grantAccess, type GrantReport, type UnknownLogin } from '../access/grant.ts'
import type { CommandDefinition } from './command.ts'

export const grant: CommandDefinition = {
  usage: 'grant',
  summary: 'Makes the roles and logins of access: in the config, and gives them their rights',
  options: (command) =>
    command
      .option('--dry-run', 'print the SQL that it would run, change nothing')
      .option('--revoke-removed', 'shut out logins that grant made and the config no longer names'),
  examples: ['forecourt grant', 'forecourt grant --dry-run', 'forecourt grant --revoke-removed'],
  async run(session, options) {
    const dryRun = options['dryRun'] === true
    const { pool, url, config } = await session.warehouse(dryRun ? 'read' : 'write')
    const revokeRemoved = options['revokeRemoved'] === true
    const report = await grantAccess({ pool, url, config, dryRun, revokeRemoved })
    session.result(report, () => linesOf(report))
    return 0
  },
}

function linesOf({ dryRun, steps, notes, logins, unknownLogins }: GrantReport): string[] {
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
