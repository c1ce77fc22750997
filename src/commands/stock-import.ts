import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { chooseRooftops, rooftopLabel } from '../config/choose-rooftops.ts'
import { importStock } from '../stock/import/import-stock.ts'
import type { ImportRequest } from '../stock/import/request.ts'
import type { RunCommand } from './command.ts'
import { crashPointFrom } from './crash-switch.ts'
import { parseDelimiter } from './option-values.ts'
import { stockImportLines } from './stock-import-lines.ts'

/** `stock import`: below `stock`. */
export const stockImport: RunCommand = async (session, options, [file]) => {
  const { config, io } = session
  const path = (given: string) => resolve(io.environment.cwd, given)
  const { rejects, encoding, delimiter } = options
  const request: ImportRequest = {
    ...(file === '-'
      ? { file: 'standard input', input: io.stdin ?? process.stdin }
      : { file: path(String(file)) }),
    ...(typeof encoding === 'string' ? { encoding } : {}),
    ...(typeof delimiter === 'string' ? { delimiter: parseDelimiter(delimiter) } : {}),
    rooftop: chooseRooftops(config, [String(options['rooftop'])])[0]!,
    mode: options['mode'] === 'delta' ? 'delta' : 'snapshot',
    dryRun: options['dryRun'] === true,
    maps: options['map'] as string[],
    rejects: typeof rejects === 'string' ? path(rejects) : null,
    allowMassRemoval: options['allowMassRemoval'] === true,
    allowMassChange: options['allowMassChange'] === true,
    importedBy: userName(),
    now: new Date(),
  }
  const warehouse = await session.warehouse(request.dryRun ? 'read' : 'write')
  const crashPoint = crashPointFrom(io.environment)
  const report = await importStock({ warehouse, signal: io.signal, crashPoint }, request)
  const rooftop = rooftopLabel(request.rooftop)
  session.result(report, () => stockImportLines({ ...report, rooftop }))
  return report.status !== 'already-imported' && report.rejected > 0 ? 1 : 0
}

function userName(): string {
  try {
    return userInfo().username.slice(0, 120)
  } catch {
    // A container may run as a number without a name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
