import { utcText } from '../../values/instant.ts'
import { migrationStatus } from '../../warehouse/db/migrate.ts'
import {
  assertWarehouseNamed,
  connectWarehouse,
  prepareWarehouse,
} from '../../warehouse/warehouse.ts'
import type { RunCommand } from './command.ts'
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
