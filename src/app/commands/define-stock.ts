import { Option } from 'commander'
import { type CommandDefinition, lazy, repeatable, singleValue } from './command.ts'

// Stock lists in, and priced out again.

const stockImport: CommandDefinition = {
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
      .option('--dry-run', 'print what would happen, write nothing')
      .addOption(
        repeatable(
          '--map <field>=<header>',
          'the field of a column; <field>= for none',
          'as found',
        ),
      )
      .addOption(
        repeatable(
          '--only <column>=<value>',
          'of a file of several rooftops, the rows with this value in this column',
          'all rows',
        ),
      )
      .option('--delimiter <character>', '"," ";" "|" or tab (default: as found)', singleValue)
      .option('--encoding <name>', 'such as utf-8 or windows-1252 (default: as found)', singleValue)
      .option(
        '--sheet <name>',
        'the sheet of a workbook, or <name>/<name> as one list (default: the only one with a list)',
        singleValue,
      )
      .option('--rejects <file>', 'write the rejected rows there, to be corrected and imported')
      .option('--allow-mass-removal', 'even when most of the stock would be removed')
      .option(
        '--allow-mass-change',
        'even when most of the stock would change its make or price, or lose it',
      )
      .option(
        '--allow-unusual-values',
        'even when prices, odometers or years are far from what the stock has',
      )
      .option(
        '--allow-older-values',
        'of corrected rows: even when newer lists have other values of the same vehicles',
      ),
  examples: [
    'forecourt stock import stock.csv --rooftop 7f3a --dry-run',
    'forecourt stock import stock.csv --rooftop 7f3a --rejects rejects.csv',
    'forecourt stock import stock.xlsx --rooftop 7f3a --sheet Used',
    'unzip -p feed.zip | forecourt stock import - --rooftop 7f3a',
    'forecourt stock import rejects.csv --rooftop 7f3a --mode delta',
    "forecourt stock import stock.csv --rooftop 7f3a --map 'stock_number=Stock #'",
  ],
  run: lazy(async () => (await import('./stock-import.ts')).stockImport),
}

const stockWatch: CommandDefinition = {
  usage: 'watch [folder]',
  summary: 'Imports the lists that are dropped into folders, until stopped',
  options: (command) =>
    command
      .option('--once', 'one pass over what is there; exit 1 when a file or a row was refused')
      .option('--interval <seconds>', 'how often the folders are checked', '10')
      .option('--rooftop <uid>', 'whose lists it gets, for a folder that is not in stock.inbox')
      .option('--rooftop-column <header>', 'or the column that names the rooftop of each row')
      .option('--pattern <names>', 'which files, e.g. north-*.csv (default: all)')
      .addOption(
        new Option('--mode <mode>', 'as for "stock import" (default: snapshot)').choices([
          'snapshot',
          'delta',
        ]),
      )
      .option('--sheet <name>', 'of workbooks: the sheet with the list')
      .option('--marker <ending>', 'a file is complete when <name><ending> is beside it')
      .option('--settle <seconds>', 'or when it has not changed for this long (default: 10)'),
  examples: [
    'forecourt stock watch',
    'forecourt stock watch /srv/stock/north --rooftop 7f3a',
    'forecourt stock watch --once --json',
  ],
  run: lazy(async () => (await import('./stock-watch.ts')).stockWatch),
}

const stockExport: CommandDefinition = {
  usage: 'export',
  summary: 'The priced stock list, an uploaded file with its prices (--original), or any mart',
  options: (command) =>
    command
      .option('--rooftop <uid>', 'whose stock', singleValue)
      .option('--out <file>', 'write into this file (default: stdout)')
      .option('--force', 'replace an existing file')
      .option(
        '--original <import id>',
        'the uploaded file, prices appended to its columns',
        singleValue,
      )
      .option('--all', 'units that the newest list does not name too, in grace or off stock')
      .option('--mart <view>', 'a view of the schema mart instead of the stock list', singleValue)
      .option('--format <format>', 'csv, xlsx or parquet (parquet: of a mart, with --out)', 'csv')
      .option('--delimiter <character>', '"," ";" "|" or tab (default: a comma; as uploaded)')
      .option('--no-bom', 'without the byte order mark that makes Excel read UTF-8')
      .option('--raw', "formulas as they are, without the ' that makes them text"),
  examples: [
    'forecourt stock export --rooftop 7f3a > stock.csv',
    'forecourt stock export --rooftop 7f3a --format xlsx --out stock.xlsx',
    'forecourt stock export --rooftop 7f3a --original 12 --out priced.csv',
    'forecourt stock export --mart fact_evaluation --out evaluations.csv',
  ],
  run: lazy(async () => (await import('./stock-export.ts')).stockExport),
}

export const stock: CommandDefinition = {
  usage: 'stock',
  summary: 'import <file> | watch [folder] | export: stock lists in, and priced out again',
  examples: [
    'forecourt stock import stock.csv --rooftop 7f3a',
    'forecourt stock export --rooftop 7f3a --out priced.csv',
  ],
  subcommands: [stockImport, stockWatch, stockExport],
}
