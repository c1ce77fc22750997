import { loadConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'

// A process that reads as much as its keys allow: <config file> <its name> <calls at once per key>. SIGTERM ends it. It prints
// a line to stdout when it starts.
const [file = '', name = '', atOnce = '8'] = process.argv.slice(2)
const config = loadConfig(file, { variables: {}, cwd: '/' })
const write = (line: string) => process.stderr.write(line)
const log = openLog({ level: 'warn', human: false, secrets: [], write })
const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())

await using context = await openContext(config, log)
process.stdout.write('ready\n')
const { signal } = stop
const callers = Object.keys(config.keys).flatMap((keyName) =>
  Array.from({ length: Number(atOnce) }, async (_, at) => {
    const rooftop = { uid: `${name}.${at}`, dealerId: null, keyName }
    while (!signal.aborted)
      await context.appraisal
        .listUsers(rooftop, { includeInactive: false }, { signal })
        .catch(() => undefined)
  }),
)
await Promise.all(callers)
process.stdout.write(`${JSON.stringify(context.rates())}\n`)
