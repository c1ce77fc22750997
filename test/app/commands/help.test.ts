import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { allCommands } from '#src/app/commands/all.ts'
import { historyStreamNames } from '#src/app/commands/names.ts'
import { loadNamed, makeProgram } from '#src/cli.ts'
import { allStreams } from '#src/streams/all.ts'
import { findPayloadRows } from '#src/sync/records/derive-rows.ts'
import type { Stream } from '#src/sync/run/stream.ts'
import { streamNames } from '#src/values/names.ts'
import { runInProcess } from '../../support/cli.ts'

test('every command has a summary, and examples that name it', () => {
  const faults = allCommands.flatMap(({ usage, summary, examples = [] }) => {
    const name = usage.split(' ')[0]
    const isShown = examples.some((line) => line.includes(`forecourt ${name}`))
    return summary.trim() !== '' && isShown ? [] : [name]
  })

  expect(faults).toEqual([])
})

test('every option and argument of every example is known to its command', async () => {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const environment = { variables: {}, cwd: '/' }
  const { signal } = new AbortController()
  const io = { environment, signal, stdout: silent, stderr: silent }
  const program = makeProgram(await loadNamed(['api']), io, () => {})

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

test('the streams of the help are those that the commands take', () => {
  const namesOf = (streams: readonly Stream[]) => streams.map(({ name }) => name)

  expect(streamNames).toEqual(namesOf(allStreams))
  expect(streamNames).toEqual(
    namesOf(allStreams.filter((stream) => findPayloadRows(stream) !== null)),
  )
  expect(historyStreamNames).toEqual(
    namesOf(allStreams.filter(({ slices }) => slices.backfill !== undefined)),
  )
})

test('the help of every command shows the global options and the exit codes', async () => {
  const names = allCommands.map(({ usage }) => usage.split(' ')[0]!)
  const helps = await Promise.all(names.map((name) => runInProcess([name, '--help'], { cwd: '/' })))

  for (const { stdout } of helps) {
    expect(stdout).toMatch(/--config <file>.*--json.*--log-level.*--quiet/s)
    expect(stdout).toMatch(/\nExit codes:\n {2}0 .*\n {2}130, 143 /s)
  }
})

test('backfill shows that it needs a stream, and which streams it takes', async () => {
  const { stdout } = await runInProcess(['backfill', '--help'], { cwd: '/' })

  expect(stdout).toMatch(/^Usage: forecourt backfill \[options\] <stream\.\.\.>\n/)
  expect(stdout).toContain('(choices: "evaluations",')
})

test('forecourt --help shows every command in the order of the day', async () => {
  const { code, stdout, stderr } = await runInProcess(['--help'], { cwd: '/' })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatchInlineSnapshot(`
    "Usage: forecourt [options] [command]

    Vehicle appraisals, complete and trusted, in Postgres every morning.

    Options:
      -V, --version                 output the version number
      --config <file>               config file (default: forecourt.yaml here, then
                                    built-in defaults)
      --json                        exactly one JSON document on stdout, nothing
                                    else
      --log-level <level>           least level that is logged to stderr (choices:
                                    "debug", "info", "warn", "error", "silent")
      --quiet                       only errors on stderr
      --no-progress                 no progress lines
      -h, --help                    display help for command

    Commands:
      demo                          Embedded Postgres, sandbox and one nightly run;
                                    prints the result, and in a terminal serves the
                                    console until Ctrl-C
      init                          Writes a commented forecourt.yaml
      check                         Validates config, warehouse, clock, and each
                                    rooftop's key, zone, currency and dealerId;
                                    bills nothing
      wire                          check | learn | record: finds the names that the
                                    documents leave open, and proves the wire
                                    settings
      migrate                       Creates or updates the warehouse schema
      grant                         Creates the roles and logins of access: in the
                                    config, and grants their rights
      sync [stream...]              Incremental run of the named streams (default:
                                    all) for all rooftops
      backfill <stream...>          Loads history [from, to) once; resumable, and
                                    the next sync starts where it would have
      run [job]                     One job of jobs/ now, exactly as the scheduler
                                    would; without a name lists them
      schedule                      Runs the jobs of jobs/ when they are due, until
                                    stopped; on any number of hosts
      worker                        Takes work from the shared queue, whichever host
                                    queued it, until stopped
      serve                         The web console, permalinks, GET
                                    /links/<kind>/<id>, and the receiver of
                                    webhooks, POST /webhooks, until stopped
      console                       link: signs a person in to the web console of
                                    "forecourt serve"
      alerts                        test [target]: sends a test message to the
                                    receivers of alerts
      status                        Freshness, coverage, gaps, quarantine, jobs,
                                    links; exit 1 when an objective is missed
      runs                          list | show <id>: what ran when, how it ended,
                                    what it did at each rooftop
      verify                        Proves coverage, ids and sums, and says which
                                    values were compared; the next sync repairs what
                                    is not as listed
      why <EvalID>                  Where a row comes from, when it was last read
                                    and why, and when it is read again
      replay [stream...]            Rebuilds the normalised tables from the stored
                                    payloads, with no API call
      quarantine <action> [ids...]  list | show <id> | retry [id...]: records that
                                    did not fit
      stock                         import <file> | watch [folder] | export: stock
                                    lists in, and priced out again
      reprice                       Prices the stock on hand again, in batches, even
                                    when it was priced lately
      lake                          export: the marts as Delta tables, in a folder
                                    or an S3-compatible store
      mcp                           Lets an assistant read the marts over stdio
                                    (Model Context Protocol), with the BI login of
                                    mcp.url
      links                         refresh | show <kind> <id> | archive: signed
                                    links to PDFs and photos
      webhooks                      plan | apply | list | delete <id>: the
                                    subscriptions at the service against the config
      erase                         Erases a customer everywhere and prints the
                                    receipt; exit 1 when anything is left
      api                           Any documented operation of both services:
                                    "forecourt api <operation> --help"
      warehouse <action>            start | stop | url | status of the embedded
                                    Postgres
      completion <shell>            Prints the script that completes commands,
                                    options, streams and jobs in a shell
      sandbox                       Both documented services on loopback, with
                                    generated data, until stopped
      help                          display help for command

    Exit codes:
      0         all that was asked is in the warehouse
      1         finished, but something failed, was quarantined or misses an objective
      2         wrong usage or config; nothing was started
      3         another run does the same work; nothing was started
      130, 143  stopped by a signal, with a clean checkpoint
    "
  `)
})

test('the help of a command ends with its examples', async () => {
  const { stdout } = await runInProcess(['warehouse', '--help'], { cwd: '/' })

  expect(stdout).toMatchInlineSnapshot(`
    "Usage: forecourt warehouse [options] <action>

    start | stop | url | status of the embedded Postgres

    Arguments:
      action               what to do (choices: "start", "stop", "url", "status")

    Options:
      -h, --help           display help for command

    Global Options:
      -V, --version        output the version number
      --config <file>      config file (default: forecourt.yaml here, then built-in
                           defaults)
      --json               exactly one JSON document on stdout, nothing else
      --log-level <level>  least level that is logged to stderr (choices: "debug",
                           "info", "warn", "error", "silent")
      --quiet              only errors on stderr
      --no-progress        no progress lines

    Examples:
      forecourt warehouse status
      psql "$(forecourt warehouse url)"   (starts it when it is stopped)
      forecourt warehouse stop

    Exit codes:
      0         all that was asked is in the warehouse
      1         finished, but something failed, was quarantined or misses an objective
      2         wrong usage or config; nothing was started
      3         another run does the same work; nothing was started
      130, 143  stopped by a signal, with a clean checkpoint
    "
  `)
})
