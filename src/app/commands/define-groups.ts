import { Option } from 'commander'
import { runStates } from '../../values/names.ts'
import { linkKinds } from '../../web/links/link.ts'
import { type CommandDefinition, lazy, repeatable, rooftopsOption, singleValue } from './command.ts'

// Commands that have commands below them.

const lakeExport: CommandDefinition = {
  usage: 'export',
  summary: 'Writes what has changed in the marts to Delta tables',
  options: (command) =>
    command
      .option(
        '--to <address>',
        'a folder, or s3://bucket/prefix (default: lake.to of the config)',
        singleValue,
      )
      .option(
        '--replace',
        'take over what another warehouse or an earlier version of Forecourt has written there',
      )
      .option('--full', 'compare all rows, as every seventh export does'),
  examples: [
    'forecourt lake export --to /srv/lake',
    'forecourt lake export --to s3://analytics/forecourt --json',
  ],
  run: lazy(async () => (await import('./lake-export.ts')).lakeExport),
}

export const lake: CommandDefinition = {
  usage: 'lake',
  summary: 'export: the marts as Delta tables, in a folder or an S3-compatible store',
  examples: ['forecourt lake export'],
  subcommands: [lakeExport],
}

const listRuns: CommandDefinition = {
  usage: 'list',
  summary: 'The newest runs: when, how they ended, what they did',
  options: (command) =>
    command
      .option('--limit <n>', 'this many runs', '20')
      .option('--since <date>', 'runs since a date (midnight UTC), an instant, or 12h or 7d ago')
      .addOption(repeatable('--status <status>', `one of ${runStates.join(', ')}`, 'all'))
      .addOption(repeatable('--command <name>', 'runs of this command, e.g. sync', 'all'))
      .addOption(repeatable('--stream <name>', 'runs and counts of this stream', 'all'))
      .addOption(repeatable('--rooftop <uid>', 'runs and counts of this rooftop', 'all')),
  examples: [
    'forecourt runs list',
    'forecourt runs list --since 7d --status failed --status partial',
    'forecourt runs list --rooftop Northside --json',
  ],
  run: lazy(async () => (await import('./runs.ts')).list),
}

const showRun: CommandDefinition = {
  usage: 'show <id>',
  summary: 'One run: counts, errors and duration of every rooftop and stream',
  options: (command) =>
    command.addOption(repeatable('--rooftop <uid>', 'only this rooftop', 'all')),
  examples: ['forecourt runs show 12', 'forecourt runs show 12 --rooftop 7f3a --json'],
  run: lazy(async () => (await import('./runs.ts')).show),
}

export const runs: CommandDefinition = {
  usage: 'runs',
  summary: 'list | show <id>: what ran when, how it ended, what it did at each rooftop',
  examples: ['forecourt runs list --since 7d', 'forecourt runs show 12'],
  subcommands: [listRuns, showRun],
}

const consoleLink: CommandDefinition = {
  usage: 'link',
  summary: 'Makes a link that signs a person in to the console, once, within 10 minutes',
  options: (command) =>
    command.option(
      '--email <address>',
      'one of console.people (default: the only engineer)',
      singleValue,
    ),
  examples: ['forecourt console link --email kim@example.com'],
  run: lazy(async () => (await import('./console-link.ts')).consoleLink),
}

const writeNames = [
  '--write',
  'show what is proved as a change of the config file, and write it',
] as const
const keepNames = ['--keep', 'with --write: fill the held columns of the step --keep too'] as const

const learnWire: CommandDefinition = {
  usage: 'learn [files...]',
  summary:
    'What stored or recorded answers say about the wire settings; exit 1 when one must be changed',
  options: (command) =>
    rooftopsOption(command)
      .option(
        '--stored',
        'from the answers in the warehouse, also those in quarantine and those that were paid for',
      )
      .option(...writeNames)
      .option(...keepNames),
  examples: ['forecourt wire learn --stored', 'forecourt wire learn recorded.har answers/ --json'],
  run: lazy(async () => (await import('./wire.ts')).learn),
}

const checkWire: CommandDefinition = {
  usage: 'check',
  summary:
    'Asks the service, in at most 30 free reads, what the wire settings mean; exit 1 when one must be changed',
  options: (command) =>
    rooftopsOption(command)
      .option('--dry-run', 'print the calls that it may make, and call nothing')
      .option(
        '--key-header',
        'only try which header carries the key: at most 7 calls of one free read',
      )
      .option(...writeNames)
      .option(...keepNames),
  examples: ['forecourt wire check --dry-run', 'forecourt wire check --rooftop 7f3a --json'],
  run: lazy(async () => (await import('./wire.ts')).check),
}

const recordWire: CommandDefinition = {
  usage: 'record',
  summary:
    'Writes the answers of "wire check" to a folder, with other values for what may be about a person',
  options: (command) =>
    rooftopsOption(command)
      .option('--to <folder>', 'a new or empty folder', singleValue)
      .option('--dry-run', 'print the calls that it may make, and call nothing'),
  examples: [
    'forecourt wire record --to answers',
    'forecourt wire learn answers   (finds what "wire check" found)',
  ],
  run: lazy(async () => (await import('./wire-record.ts')).record),
}

export const wire: CommandDefinition = {
  usage: 'wire',
  summary:
    'check | learn | record: finds the names that the documents leave open, and proves the wire settings',
  examples: ['forecourt wire check', 'forecourt wire learn --stored'],
  subcommands: [checkWire, learnWire, recordWire],
}

export const webConsole: CommandDefinition = {
  usage: 'console',
  summary: 'link: signs a person in to the web console of "forecourt serve"',
  examples: ['forecourt console link'],
  subcommands: [consoleLink],
}

const testAlerts: CommandDefinition = {
  usage: 'test [target]',
  summary: 'Sends a test message to every receiver of alerts, or to one; exit 1 when one failed',
  examples: ['forecourt alerts test', 'forecourt alerts test ops'],
  run: lazy(async () => (await import('./alerts.ts')).test),
}

export const alerts: CommandDefinition = {
  usage: 'alerts',
  summary: 'test [target]: sends a test message to the receivers of alerts',
  examples: ['forecourt alerts test'],
  subcommands: [testAlerts],
}

const refresh: CommandDefinition = {
  usage: 'refresh',
  summary: 'Signs the links again that are about to expire, the soonest first; no other request',
  options: rooftopsOption,
  examples: ['forecourt links refresh', 'forecourt links refresh --rooftop 7f3a --json'],
  run: lazy(async () => (await import('./links.ts')).refresh),
}

const show: CommandDefinition = {
  usage: 'show <kind> <id>',
  summary: 'Prints a live URL; exit 1 when there is none any more',
  values: { description: 'the kind of link', choices: linkKinds },
  options: (command) =>
    command.option('--rooftop <uid>', 'whose, where two rooftops know the same id'),
  examples: [
    'forecourt links show ppsr_pdf 70016',
    'forecourt links show photo 88123 --rooftop 7f3a --json',
  ],
  run: lazy(async () => (await import('./links.ts')).show),
}

const archive: CommandDefinition = {
  usage: 'archive',
  summary: 'Stores the PDF of every live link in links.archive.folder; exit 1 when one failed',
  options: rooftopsOption,
  examples: ['forecourt links archive', 'forecourt links archive --rooftop 7f3a --json'],
  run: lazy(async () => (await import('./links.ts')).archive),
}

export const links: CommandDefinition = {
  usage: 'links',
  summary: 'refresh | show <kind> <id> | archive: signed links to PDFs and photos',
  examples: [
    'forecourt links refresh',
    'forecourt links show ppsr_pdf 70016',
    'forecourt links archive',
  ],
  subcommands: [refresh, show, archive],
}

const plan: CommandDefinition = {
  usage: 'plan',
  summary: 'What "apply" would create, change and delete; changes nothing',
  options: rooftopsOption,
  examples: ['forecourt webhooks plan', 'forecourt webhooks plan --rooftop 7f3a --json'],
  run: lazy(async () => (await import('./webhooks.ts')).plan),
}

const apply: CommandDefinition = {
  usage: 'apply',
  summary: 'Subscribes every rooftop to webhooks.events, and ends our obsolete subscriptions',
  options: rooftopsOption,
  examples: ['forecourt webhooks apply', 'forecourt webhooks apply --rooftop 7f3a --json'],
  run: lazy(async () => (await import('./webhooks.ts')).apply),
}

const list: CommandDefinition = {
  usage: 'list',
  summary: 'The subscriptions of each rooftop at the service, ours and others',
  options: rooftopsOption,
  examples: ['forecourt webhooks list', 'forecourt webhooks list --json'],
  run: lazy(async () => (await import('./webhooks.ts')).list),
}

const remove: CommandDefinition = {
  usage: 'delete <id>',
  summary: 'Ends one subscription at the service',
  options: (command) =>
    rooftopsOption(command).option('--foreign', 'also when it leads to another receiver than ours'),
  examples: ['forecourt webhooks delete 12 --rooftop 7f3a'],
  run: lazy(async () => (await import('./webhooks.ts')).remove),
}

export const webhooks: CommandDefinition = {
  usage: 'webhooks',
  summary: 'plan | apply | list | delete <id>: the subscriptions at the service against the config',
  examples: ['forecourt webhooks plan', 'forecourt webhooks apply'],
  subcommands: [plan, apply, list, remove],
}

const apiText = {
  usage: 'api',
  summary: 'Any documented operation of both services: "forecourt api <operation> --help"',
  examples: [
    'forecourt api geteval --evalid 1001 --rooftop 7f3a',
    'forecourt api dcupdateeval --evalid 1001 --km 48000 --price 23500 --yes',
    'forecourt api price-batch --vehicles @stock.json --market AU --wait',
  ],
}

/** Its subcommands are the operations of both services: read from their declarations when one is named. */
export const api: CommandDefinition = {
  ...apiText,
  whole: async () => ({ ...apiText, ...(await import('./api.ts')).operationCommands }),
}

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
