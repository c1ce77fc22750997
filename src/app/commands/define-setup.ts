import { type CommandDefinition, lazy } from './command.ts'

// Commands that prepare a machine or a warehouse, or try the program without a key.

export const demo: CommandDefinition = {
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
}

export const init: CommandDefinition = {
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
}

export const check: CommandDefinition = {
  usage: 'check',
  summary:
    "Validates config, warehouse, clock, and each rooftop's key, zone, currency and dealerId; bills nothing",
  examples: ['forecourt check', 'forecourt check --json'],
  run: lazy(async () => (await import('./check.ts')).check),
}

export const migrate: CommandDefinition = {
  usage: 'migrate',
  summary: 'Creates or updates the warehouse schema',
  options: (command) =>
    command.option('--status', 'list the applied and the pending migrations, change nothing'),
  examples: ['forecourt migrate', 'forecourt migrate --status'],
  run: lazy(async () => (await import('./warehouse.ts')).migrate),
}

export const grant: CommandDefinition = {
  usage: 'grant',
  summary: 'Creates the roles and logins of access: in the config, and grants their rights',
  options: (command) =>
    command
      .option('--dry-run', 'print the SQL that it would run, change nothing')
      .option('--revoke-removed', 'lock logins that grant created and the config no longer names'),
  examples: ['forecourt grant', 'forecourt grant --dry-run', 'forecourt grant --revoke-removed'],
  run: lazy(async () => (await import('./warehouse.ts')).grant),
}

export const mcp: CommandDefinition = {
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
}

export const warehouse: CommandDefinition = {
  usage: 'warehouse <action>',
  summary: 'start | stop | url | status of the embedded Postgres',
  values: { description: 'what to do', choices: ['start', 'stop', 'url', 'status'] },
  examples: [
    'forecourt warehouse status',
    'psql "$(forecourt warehouse url)"   (starts it when it is stopped)',
    'forecourt warehouse stop',
  ],
  run: lazy(async () => (await import('./warehouse.ts')).warehouse),
}

export const completion: CommandDefinition = {
  usage: 'completion <shell>',
  summary: 'Prints the script that completes commands, options, streams and jobs in a shell',
  values: { description: 'the shell', choices: ['bash', 'zsh', 'fish'] },
  examples: [
    'source <(forecourt completion bash)   (in ~/.bashrc)',
    'source <(forecourt completion zsh)   (in ~/.zshrc, after compinit)',
    'forecourt completion fish > ~/.config/fish/completions/forecourt.fish',
  ],
  run: lazy(async () => (await import('./completion.ts')).completion),
}

export const sandbox: CommandDefinition = {
  usage: 'sandbox',
  summary: 'Both documented services on loopback, with generated data, until stopped',
  options: (command) =>
    command
      .option('--port <port>', 'port; the vehicle-data APIs take the next one', '4010')
      .option('--host <host>', 'address to listen on; its links lead there', '127.0.0.1')
      .option('--seed <n>', 'the same seed gives the same data', '1')
      .option('--rooftops <n>', 'how many rooftops', '6')
      .option('--evals <n>', 'how many evaluations', '2000')
      .option('--names <seed>', 'other names for what the documents leave open (try "wire check")')
      .option('--answers <folder>', 'answer as recorded by "wire record", with generated data'),
  examples: [
    'forecourt sandbox',
    'forecourt sandbox --port 4010 --seed 7 --evals 20000',
    'forecourt sandbox --names 4   (then "forecourt wire check" in another terminal)',
    'forecourt sandbox --answers recorded   (a folder that "forecourt wire record" wrote)',
  ],
  run: lazy(async () => (await import('./sandbox.ts')).sandbox),
}
