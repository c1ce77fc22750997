import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { makeProgram } from '#src/cli.ts'
import { allCommands } from '#src/commands/all.ts'
import { runInProcess } from '../support/cli.ts'

test('every command has a summary, and examples that name it', () => {
  const faults = allCommands.flatMap(({ usage, summary, examples = [] }) => {
    const name = usage.split(' ')[0]
    const isShown = examples.some((line) => line.includes(`forecourt ${name}`))
    return summary.trim() !== '' && isShown ? [] : [name]
  })

  expect(faults).toEqual([])
})

test('every option and argument of every example is known to its command', () => {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const environment = { variables: {}, cwd: '/' }
  const { signal } = new AbortController()
  const program = makeProgram({ environment, signal, stdout: silent, stderr: silent }, () => {})

  const unknown = allCommands.flatMap(({ usage, examples = [] }) => {
    const command = program.commands.find((one) => one.name() === usage.split(' ')[0])
    return examples.flatMap((line) => {
      const below = command?.commands.find((one) => line.includes(` ${one.name()} `))
      const known = [program, command, below].flatMap((one) => one?.options ?? [])
      const options = known.map(({ long }) => long)
      return (line.match(/--[a-zA-Z-]+/g) ?? []).filter((option) => !options.includes(option))
    })
  })

  expect(unknown).toEqual([])
})

test('forecourt --help shows every command in the order of the day', async () => {
  const { code, stdout, stderr } = await runInProcess(['--help'], { cwd: '/' })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatchInlineSnapshot(`
    "Usage: forecourt [options] [command]

    Vehicle appraisals, complete and trusted, in Postgres every morning.

    Options:
      -V, --version                   output the version number
      --config <file>                 config file (default: forecourt.yaml here,
                                      then built-in defaults)
      --json                          exactly one JSON document on stdout, nothing
                                      else
      --log-level <level>             least level that is logged to stderr (choices:
                                      "debug", "info", "warn", "error", "silent")
      --quiet                         only errors on stderr
      --no-progress                   no progress bars
      -h, --help                      display help for command

    Commands:
      demo [options]                  Embedded Postgres, sandbox and one nightly
                                      run; prints what landed and how to query it
      init [options]                  Writes a commented forecourt.yaml
      check                           Validates config, warehouse, clock skew and
                                      each rooftop's key; bills nothing
      migrate [options]               Brings the warehouse schema up to date
      grant [options]                 Makes the roles and logins of access: in the
                                      config, and gives them their rights
      sync [options] [stream...]      Incremental run of the named streams (default:
                                      all) for all rooftops
      backfill [options] [stream...]  Loads history [from, to) once; resumable,
                                      never moves the incremental checkpoint
                                      backwards
      run [job]                       One job of jobs/ now, exactly as the scheduler
                                      would; without a name lists them
      schedule [options]              Runs the jobs of jobs/ when they are due,
                                      until stopped; on any number of hosts
      worker [options]                Takes work from the shared queue, whichever
                                      host queued it, until stopped
      serve [options]                 Permalinks, GET /links/<kind>/<id>, and the
                                      receiver of webhooks, POST /webhooks, until
                                      stopped
      status                          Freshness, coverage, gaps, quarantine, jobs,
                                      links; exit 1 when an objective is missed
      runs                            list | show <id>: what ran when, how it ended,
                                      what it did at each rooftop
      verify [options]                Proves coverage and every stored record; the
                                      next sync repairs what it finds
      why <EvalID>                    Where a row comes from, when it was last read
                                      and why, and when it is read again
      replay [options] [stream...]    Rebuilds the normalised tables from the kept
                                      payloads, with no API call
      quarantine <action> [ids...]    list | show <id> | retry [id...]: records that
                                      did not fit
      stock                           import <file> | export: dealer stock lists in,
                                      and priced out again
      reprice [options]               Prices the stock on hand anew, in batches,
                                      however lately it was priced
      links                           refresh | show <kind> <id> | archive: signed
                                      links to PDFs and photos
      webhooks                        plan | apply | list | delete <id>: the
                                      subscriptions at the service against the
                                      config
      erase [options]                 Erases a customer everywhere and prints the
                                      receipt; exit 1 when anything is left
      api                             Any documented operation of both services:
                                      "forecourt api <operation> --help"
      warehouse <action>              start | stop | url | status of the embedded
                                      Postgres
      sandbox [options]               Both documented services on loopback, over a
                                      seeded world, until stopped
      bench [options]                 Each figure beside a reference measured in the
                                      same run (in the source tree)
      help [command]                  display help for command
    "
  `)
})

test('the help of a command ends with its examples', async () => {
  const { stdout } = await runInProcess(['warehouse', '--help'], { cwd: '/' })

  expect(stdout).toMatchInlineSnapshot(`
    "Usage: forecourt warehouse [options] <action>

    start | stop | url | status of the embedded Postgres

    Options:
      -h, --help  display help for command

    Examples:
      forecourt warehouse status
      psql "$(forecourt warehouse url)"   (starts it when it is stopped)
      forecourt warehouse stop
    "
  `)
})
