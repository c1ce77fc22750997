import { UsageError } from '../../errors.ts'
import { exportLake, type LakeReport } from '../../warehouse/lake/export-lake.ts'
import { openStore } from '../../warehouse/store/open-store.ts'
import type { RunCommand } from './command.ts'
import { crashPointFrom } from './crash-switch.ts'
import type { Session } from './session.ts'

/** `lake export`: below `lake`. */
export const lakeExport: RunCommand = async (session, options) => {
  const { io, log } = session
  const { keepHours } = session.config.lake
  const target = findTarget(session, options['to'])
  const crashPoint = crashPointFrom(io.environment)
  const startedAt = performance.now()
  const { pool } = await session.warehouse('read')
  const isReplaced = options['replace'] === true
  const isEverythingCompared = options['full'] === true
  const common = { pool, log, signal: io.signal, crashPoint, keepHours }
  const services = { ...common, isReplaced, isEverythingCompared }
  const report = await exportLake(services, target)
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  session.result({ ...report, seconds }, () => lines(report, seconds))
  return 0
}

function findTarget({ io, config }: Session, to: unknown) {
  const { lake, homeDir } = config
  const settings = [lake.s3, io.signal] as const
  if (typeof to === 'string') return openStore(to, io.environment.cwd, ...settings)
  if (lake.to !== null) return openStore(lake.to, homeDir, ...settings)
  throw new UsageError(
    'Name where to: --to <folder or s3://bucket/prefix>, or set lake.to in the config.',
  )
}

function lines({ target, files, ...report }: LakeReport, seconds: number): string[] {
  const { rows, bytes, tables, martVersion, coveredTo, number } = report
  const megabytes = (bytes / 1e6).toFixed(1)
  return [
    `${target}: ${tables} tables, ${rows} rows, ${megabytes} MB in ${seconds} s.`,
    `Files: ${files.written} written, ${files.unchanged} unchanged, ${files.removed} removed.`,
    ...(report.isHistoryRemoved ? ['Earlier versions were deleted.'] : []),
    `Export ${number}: marts ${martVersion}, covered to ${coveredTo ?? 'nothing yet'}.`,
  ]
}
