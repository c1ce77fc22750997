import { streamNames } from '../../values/names.ts'
import { type CommandDefinition, lazy, operationsOption, rooftopsOption } from './command.ts'
import {
  alerts,
  api,
  lake,
  links,
  runs,
  stock,
  webConsole,
  webhooks,
  wire,
} from './define-groups.ts'
import { historyStreamNames, jobNames } from './names.ts'

const dryRun = ['--dry-run', 'print the plan (windows, expected calls) and call nothing'] as const

/** Every command, in the order of `--help`. What a command runs is imported when it is run. */
export const allCommands: readonly CommandDefinition[] = [
  {
    usage: 'demo',
    summary:
      'Embedded Postgres, sandbox and one nightly run; prints the result, and in a terminal serves the console until Ctrl-C',
    options: (command) =>
      command
        .option('--evals <n>', 'evaluations in the sandbox', '2000')
        .option('--console', 'serve the web console until Ctrl-C (default: in a terminal)')
        .option('--no-console', 'end after the run'),
    examples: ['forecourt demo', 'forecourt demo --no-console'],
    run: lazy(async () => (await import('./demo.ts')).demo),
  },
  {
    usage: 'init',
    summary: 'Writes a commented forecourt.yaml',
    options: (command) =>
      command
        .option('--sandbox', 'filled in for "forecourt sandbox" on 127.0.0.1:4010')
        .option('--force', 'overwrite an existing file')
        .option('--schema', 'print the JSON Schema of the file, and write nothing'),
    examples: [
      'forecourt init',
      'forecourt init --sandbox   (then "forecourt sandbox" in one terminal, "forecourt sync" in another)',
      'forecourt init --schema > forecourt.schema.json',
    ],
    run: lazy(async () => (await import('./init.ts')).init),
  },
  {
    usage: 'check',
    summary:
      "Validates config, warehouse, clock, and each rooftop's key, zone, currency and dealerId; bills nothing",
    examples: ['forecourt check', 'forecourt check --json'],
    run: lazy(async () => (await import('./check.ts')).check),
  },
  wire,
  {
    usage: 'migrate',
    summary: 'Creates or updates the warehouse schema',
    options: (command) =>
      command.option('--status', 'list the applied and the pending migrations, change nothing'),
    examples: ['forecourt migrate', 'forecourt migrate --status'],
    run: lazy(async () => (await import('./warehouse.ts')).migrate),
  },
  {
    usage: 'grant',
    summary: 'Creates the roles and logins of access: in the config, and grants their rights',
    options: (command) =>
      command
        .option('--dry-run', 'print the SQL that it would run, change nothing')
        .option(
          '--revoke-removed',
          'lock logins that grant created and the config no longer names',
        ),
    examples: ['forecourt grant', 'forecourt grant --dry-run', 'forecourt grant --revoke-removed'],
    run: lazy(async () => (await import('./warehouse.ts')).grant),
  },
  {
    usage: 'sync [stream...]',
    summary: 'Incremental run of the named streams (default: all) for all rooftops',
    values: { description: 'the streams to run (default: all)', choices: streamNames },
    options: (command) => rooftopsOption(command).option(...dryRun),
    examples: [
      'forecourt sync',
      'forecourt sync evaluations --rooftop 7f3a --json',
      'forecourt sync --dry-run',
    ],
    run: lazy(async () => (await import('./sync.ts')).sync),
  },
  {
    usage: 'backfill <stream...>',
    summary:
      'Loads history [from, to) once; resumable, and the next sync starts where it would have',
    values: { description: 'the streams to load', choices: historyStreamNames },
    options: (command) => {
      // --status, --pause and --resume take no stream; the command itself demands one for the rest.
      command.usage('[options] <stream...>').registeredArguments[0]!.required = false
      rooftopsOption(command)
        .option(
          '--from <date>',
          'load from here; a bare date is midnight UTC (needed: evaluations)',
        )
        .option('--to <date>', 'load up to here, not including it (default: now)')
        .option('--oldest-first', 'start with the oldest window (default: with the newest)')
        .option('--detach', 'leave the work to "forecourt worker" processes and return at once')
        .option(...dryRun)
        .option('--status', 'show the backfills, with the time left')
        .option('--pause', 'pause the running backfills')
        .option('--resume', 'continue a backfill that was paused, stopped or killed')
        .option('--run <id>', 'with --pause or --resume: only this run')
    },
    examples: [
      'forecourt backfill evaluations --from 2019-01-01 --to 2024-01-01',
      'forecourt backfill vehicle-checks   (of evaluations too old for the nightly run)',
      'forecourt backfill --status',
      'forecourt backfill --pause',
      'forecourt backfill --resume --detach',
    ],
    run: lazy(async () => (await import('./sync.ts')).backfill),
  },
  {
    usage: 'run [job]',
    summary: 'One job of jobs/ now, exactly as the scheduler would; without a name lists them',
    values: { description: 'the job to run (default: list the jobs)', choices: jobNames() },
    examples: ['forecourt run', 'forecourt run nightly', 'forecourt run hourly --json'],
    run: lazy(async () => (await import('./jobs.ts')).run),
  },
  {
    usage: 'schedule',
    summary: 'Runs the jobs of jobs/ when they are due, until stopped; on any number of hosts',
    options: operationsOption,
    examples: ['forecourt schedule', 'forecourt schedule --operations-port 9400'],
    run: lazy(async () => (await import('./jobs.ts')).schedule),
  },
  {
    usage: 'worker',
    summary: 'Takes work from the shared queue, whichever host queued it, until stopped',
    options: (command) =>
      operationsOption(command).option(
        '--concurrency <slices>',
        'slices worked on at once, up to 32 (default: 4)',
      ),
    examples: ['forecourt worker', 'forecourt worker --concurrency 8'],
    run: lazy(async () => (await import('./jobs.ts')).worker),
  },
  {
    usage: 'serve',
    summary:
      'The web console, permalinks, GET /links/<kind>/<id>, and the receiver of webhooks, POST /webhooks, until stopped',
    options: (command) =>
      operationsOption(command)
        .option('--host <host>', 'address to listen on (default: serve.host of the config)')
        .option('--port <port>', 'port (default: serve.port of the config; 0 takes any free one)'),
    examples: [
      'forecourt serve   (the console: /console/ of console.publicUrl; sign in with "forecourt console link")',
      'forecourt serve --host 0.0.0.0 --port 8080',
    ],
    run: lazy(async () => (await import('./serve.ts')).serve),
  },
  webConsole,
  alerts,
  {
    usage: 'status',
    summary:
      'Freshness, coverage, gaps, quarantine, jobs, links; exit 1 when an objective is missed',
    options: (command) =>
      command
        .option('--all', 'also every stream of every rooftop, and all jobs')
        .option(
          '--verify',
          'run "forecourt verify" first, instead of reading what the last one found',
        ),
    examples: ['forecourt status', 'forecourt status --all', 'forecourt status --verify --json'],
    run: lazy(async () => (await import('./status.ts')).status),
  },
  runs,
  {
    usage: 'verify',
    summary:
      'Proves coverage, ids and sums, and says which values were compared; the next sync repairs what is not as listed',
    options: (command) =>
      rooftopsOption(command)
        .option('--deep', 'list every window again, whole and in halves, and compare the ids')
        .option(
          '--rows',
          'derive the rows again from the stored payloads, and compare every column',
        )
        .option(
          '--from <day>',
          'with --rows: only evaluations completed on this local day or later',
        )
        .option('--to <day>', 'with --rows and --from: completed before this local day')
        .option('--sample <n>', 'with --rows: only this many records, taken at random')
        .option(
          '--seed <text>',
          'with --sample: takes the same records as the run that printed it',
        ),
    examples: [
      'forecourt verify',
      'forecourt verify --deep --json',
      'forecourt verify --rows --sample 1000',
      'forecourt verify --rows --rooftop "Northside" --from 2026-03-01 --to 2026-03-08',
    ],
    run: lazy(async () => (await import('./verify.ts')).verify),
  },
  {
    usage: 'why <EvalID>',
    summary: 'Where a row comes from, when it was last read and why, and when it is read again',
    examples: ['forecourt why 12345', 'forecourt why 12345 --json'],
    run: lazy(async () => (await import('./why.ts')).why),
  },
  {
    usage: 'replay [stream...]',
    summary: 'Rebuilds the normalised tables from the stored payloads, with no API call',
    values: {
      description: 'the streams to rebuild (default: all)',
      choices: streamNames,
    },
    options: rooftopsOption,
    examples: ['forecourt replay', 'forecourt replay evaluations'],
    run: lazy(async () => (await import('./sync.ts')).replay),
  },
  {
    usage: 'quarantine <action> [ids...]',
    summary: 'list | show <id> | retry [id...]: records that did not fit',
    values: { description: 'what to do', choices: ['list', 'show', 'retry'] },
    options: (command) =>
      command.option('--detach', 'with retry: leave the work to the worker processes, and end'),
    examples: [
      'forecourt quarantine list',
      'forecourt quarantine show 3',
      'forecourt quarantine retry',
      'forecourt quarantine retry --detach',
    ],
    run: lazy(async () => (await import('./quarantine.ts')).quarantine),
  },
  stock,
  {
    usage: 'reprice',
    summary: 'Prices the stock on hand again, in batches, even when it was priced lately',
    options: rooftopsOption,
    examples: ['forecourt reprice', 'forecourt reprice --rooftop 7f3a --json'],
    run: lazy(async () => (await import('./sync.ts')).reprice),
  },
  lake,
  {
    usage: 'mcp',
    summary:
      'Lets an assistant read the marts over stdio (Model Context Protocol), with the BI login of mcp.url',
    options: (command) =>
      command.option(
        '--operator',
        'also status, runs, why and quarantine, which read the warehouse of the config',
      ),
    examples: ['forecourt mcp', 'forecourt --config /srv/forecourt.yaml mcp --operator'],
    run: lazy(async () => (await import('./mcp.ts')).mcp),
  },
  links,
  webhooks,
  {
    usage: 'erase',
    summary: 'Erases a customer everywhere and prints the receipt; exit 1 when anything is left',
    options: (command) =>
      command
        .option('--email <e>', 'the customer with this e-mail')
        .option('--phone <p>', 'the customer with this phone number, however it is written')
        .option('--eval <id>', 'the customer of this evaluation')
        .option('--rooftop <uid>', 'with --eval, where two dealer groups know the same id')
        .option('--all-people', 'everyone with the e-mail or phone, where several people share it')
        .option('--reason <text>', 'stored with the receipt')
        .option('--dry-run', 'show what it would erase, and change nothing')
        .option('--yes', 'do it without asking'),
    examples: [
      'forecourt erase --email jane@example.org --dry-run',
      'forecourt erase --phone "+61 412 345 678" --yes --json',
      'forecourt erase --eval 12345 --reason "request of 3 March"',
    ],
    run: lazy(async () => (await import('./erase.ts')).erase),
  },
  api,
  {
    usage: 'warehouse <action>',
    summary: 'start | stop | url | status of the embedded Postgres',
    values: { description: 'what to do', choices: ['start', 'stop', 'url', 'status'] },
    examples: [
      'forecourt warehouse status',
      'psql "$(forecourt warehouse url)"   (starts it when it is stopped)',
      'forecourt warehouse stop',
    ],
    run: lazy(async () => (await import('./warehouse.ts')).warehouse),
  },
  {
    usage: 'completion <shell>',
    summary: 'Prints the script that completes commands, options, streams and jobs in a shell',
    values: { description: 'the shell', choices: ['bash', 'zsh', 'fish'] },
    examples: [
      'source <(forecourt completion bash)   (in ~/.bashrc)',
      'source <(forecourt completion zsh)   (in ~/.zshrc, after compinit)',
      'forecourt completion fish > ~/.config/fish/completions/forecourt.fish',
    ],
    run: lazy(async () => (await import('./completion.ts')).completion),
  },
  {
    usage: 'sandbox',
    summary: 'Both documented services on loopback, with generated data, until stopped',
    options: (command) =>
      command
        .option('--port <port>', 'port; the vehicle-data APIs take the next one', '4010')
        .option('--host <host>', 'address to listen on; its links lead there', '127.0.0.1')
        .option('--seed <n>', 'the same seed gives the same data', '1')
        .option('--rooftops <n>', 'how many rooftops', '6')
        .option('--evals <n>', 'how many evaluations', '2000')
        .option(
          '--names <seed>',
          'other names for what the documents leave open (try "wire check")',
        )
        .option('--answers <folder>', 'answer as recorded by "wire record", with generated data'),
    examples: [
      'forecourt sandbox',
      'forecourt sandbox --port 4010 --seed 7 --evals 20000',
      'forecourt sandbox --names 4   (then "forecourt wire check" in another terminal)',
      'forecourt sandbox --answers recorded   (a folder that "forecourt wire record" wrote)',
    ],
    run: lazy(async () => (await import('./sandbox.ts')).sandbox),
  },
]
