import { UsageError } from '../../errors.ts'
import { utcText } from '../../values/instant.ts'
import { type GrantReport, grantAccess, type UnknownLogin } from '../../warehouse/access/grant.ts'
import { embeddedStatus, ensureEmbedded, stopEmbedded } from '../../warehouse/db/embedded.ts'
import { migrationStatus } from '../../warehouse/db/migrate.ts'
import {
  assertWarehouseNamed,
  connectWarehouse,
  embeddedFolder,
  prepareWarehouse,
} from '../../warehouse/warehouse.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const migrate: RunCommand = async (session, options) => {
  const isStatus = options['status'] === true
  if (isStatus) assertWarehouseNamed(session.config)
  await using warehouse = await connectWarehouse(session.config, session.log)
  if (isStatus) {
    const status = await migrationStatus(warehouse.pool)
    session.result(status, () => [
      `Warehouse schema at version ${status.version}, ${status.pending.length} pending`,
      ...table(
        ['version', 'name', 'applied'],
        status.applied.map((row) => [String(row.version), row.name, utcText(row.appliedAt)]),
      ),
      ...status.pending.map((name) => `  pending: ${name}`),
    ])
    return 0
  }
  const { applied } = await prepareWarehouse(warehouse.pool)
  session.result({ applied }, () =>
    applied.length === 0
      ? ['Warehouse schema is up to date.']
      : applied.map((name) => `applied ${name}`),
  )
  return 0
}

export const grant: RunCommand = async (session, options) => {
  const dryRun = options['dryRun'] === true
  const { pool, url, config } = await session.warehouse(dryRun ? 'read' : 'write')
  const revokeRemoved = options['revokeRemoved'] === true
  const report = await grantAccess({ pool, url, config, dryRun, revokeRemoved })
  session.result(report, () => grantLines(report))
  return 0
}

/** The embedded Postgres by hand; an addition to the contract. */
export const warehouse: RunCommand = async (session, _options, [action]) => {
  await actions[action as string]!(session, warehouseFolder(session.config))
  return 0
}

const actions: Readonly<Record<string, (session: Session, folder: string) => Promise<void>>> = {
  async start(session, folder) {
    const { port, started } = await open(session, folder)
    session.result({ running: true, port, started }, () => [
      started ? `Started on 127.0.0.1:${port}.` : `Already running on 127.0.0.1:${port}.`,
    ])
  },
  async stop(session, folder) {
    const stopped = await stopEmbedded(folder)
    session.result({ running: false, stopped }, () => [
      stopped ? 'Stopped.' : 'It was not running.',
    ])
  },
  async url(session, folder) {
    const { url } = await open(session, folder)
    session.resultWithSecrets({ url }, () => [url])
  },
  async status(session, folder) {
    const status = await embeddedStatus(folder)
    session.result({ folder, ...status }, () => [
      !status.initialised
        ? `Not created yet: the first command that needs it creates it in ${folder}.`
        : status.running
          ? `Running on 127.0.0.1:${status.port} (pid ${status.pid}) in ${folder}.`
          : `Stopped: the next command that needs it starts it in ${folder}.`,
    ])
  },
}

async function open(session: Session, folder: string) {
  return await ensureEmbedded(folder, { log: (line) => session.log.info(line) })
}

function warehouseFolder(config: Config): string {
  if (config.warehouse.url === null) return embeddedFolder(config)
  throw new UsageError(
    `warehouse.url is set in ${config.file ?? 'the config'}, and this command is only for the embedded Postgres: ` +
      'take warehouse.url out to use that, or connect with the url itself.',
  )
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
