import type { Context } from '../../context.ts'
import { exportLake } from '../../warehouse/lake/export-lake.ts'
import { openStore } from '../../warehouse/store/open-store.ts'

/** Writes what has changed since the last export to the lake of the config. */
export async function exportToLake({ config, pool, log, signal, crashPoint }: Context) {
  const { keepHours } = config.lake
  const target = openStore(config.lake.to!, config.homeDir, config.lake.s3, signal)
  const { files, rows } = await exportLake({ pool, log, signal, crashPoint, keepHours }, target)
  return { status: 'ok', runs: [], counts: { ...files, rows } } as const
}
