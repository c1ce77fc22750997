import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { rooftopLabel } from '../pipeline/match-rooftop.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { importStock } from '../stock/import/import-stock.ts'
import type { ImportRequest } from '../stock/import/request.ts'
import { addToList, type CommandDefinition } from './command.ts'
import { crashPointFrom } from './crash-switch.ts'
import { parseDelimiter } from './delimiter.ts'
import { singleValue } from './once.ts'
import { stockImportLines } from './stock-import-lines.ts'

/** `stock import`: below `stock`. */
export const stockImport: CommandDefinition = {
  usage: 'import <file>',
  summary: 'Loads a stock list, - for standard input; exit 1 when rows were rejected',
  options: (command) =>
    command
      .requiredOption('--rooftop <uid>', 'whose stock it is', singleValue)
      .addOption(
        new Option('--mode <mode>', 'snapshot: the whole stock; delta: only what is new or changed')
          .choices(['snapshot', 'delta'])
          .default('snapshot'),
      )
      .option('--dry-run', 'say what would happen, write nothing')
      .option(
        '--map <field>=<header>',
        'what a column holds (repeatable); <field>= for none',
        addToList,
        [],
      )
      .option('--delimiter <character>', '"," ";" "|" or tab (default: as found)', singleValue)
      .option('--encoding <name>', 'such as utf-8 or windows-1252 (default: as found)', singleValue)
      .option('--rejects <file>', 'write the rejected rows there, to be corrected and imported')
      .option('--allow-mass-removal', 'even when most of the stock would be removed')
      .option(
        '--allow-mass-change',
        'even when most of the stock would change its make or price, or lose it',
      ),
  examples: [
    'forecourt stock import stock.csv --rooftop 7f3a --dry-run',
    'forecourt stock import stock.csv --rooftop 7f3a --rejects rejects.csv',
    'unzip -p feed.zip | forecourt stock import - --rooftop 7f3a',
    'forecourt stock import rejects.csv --rooftop 7f3a --mode delta',
    "forecourt stock import stock.csv --rooftop 7f3a --map 'stock_number=Fleet #'",
  ],
  async run(session, options, [file]) {
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
  },
}

function userName(): string {
  try {
    return userInfo().username.slice(0, 120)
  } catch {
    // A container may run as a number without a name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
