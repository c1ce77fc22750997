import { linkKinds } from '../../web/links/link.ts'
import { type CommandDefinition, lazy, repeatable, rooftopsOption, singleValue } from './command.ts'
import { runStatusNames } from './names.ts'

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
      .addOption(repeatable('--status <status>', `one of ${runStatusNames.join(', ')}`, 'all'))
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
      .option(...writeNames),
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
      .option(...writeNames),
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
