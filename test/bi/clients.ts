import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Who a client logs in as. */
export interface Login {
  readonly host: string
  readonly port: string
  readonly database: string
  readonly user: string
  readonly password: string
}

/** A column as a driver shows it. */
export interface DriverColumn {
  readonly name: string
  readonly type: string
  readonly size: number
  readonly digits: number | null
  /** Comments come with the catalogue; undefined: the driver shows none. */
  readonly isCommented?: boolean
}

/** A view as a driver describes it. */
export interface DriverView {
  readonly columns: readonly DriverColumn[]
  /** Columns of `select * … where 1 = 0`. */
  readonly prepared: number
  readonly rows: number
}

/** The results of one session of a driver. */
export interface Session {
  readonly views: Readonly<Record<string, DriverView>>
  readonly answer: readonly string[]
  /** SQLSTATE of each attempt to write; null: the write succeeded. */
  readonly write: readonly (string | null)[]
}

/** The queries of a session. */
export interface Questions {
  readonly schema: string
  /** One row. */
  readonly question: string
  readonly write: readonly string[]
}

export function loginOf(url: string, user: string, password: string): Login {
  const { hostname, port, pathname } = new URL(url)
  return { host: hostname, port, database: pathname.slice(1), user, password }
}

/** A session through psqlODBC, as the pages of sql/bi/connect say. */
export async function odbc(login: Login, questions: Questions): Promise<Session> {
  const connection = `Driver={PostgreSQL Unicode};Servername=${login.host};Port=${login.port};Database=${login.database};Username=${login.user};Password=${login.password};BoolsAsChar=0`
  const found = JSON.parse(
    await run('/usr/bin/python3', [client('odbc.py')], { connection, ...questions }),
  ) as {
    views: Record<string, { columns: DriverColumn[]; prepared: string[]; rows: number }>
    answer: string[]
    write: (string | null)[]
  }
  const views = Object.entries(found.views).map(([name, view]) => [
    name,
    { ...view, prepared: view.prepared.length },
  ])
  return { ...found, views: Object.fromEntries(views) }
}

/** A session through pgjdbc. */
export async function jdbc(login: Login, { schema, question, write }: Questions): Promise<Session> {
  const classes = await mkdtemp(join(tmpdir(), 'forecourt-jdbc-'))
  try {
    await run('/usr/bin/javac', ['-d', classes, client('Jdbc.java')])
    const url = `jdbc:postgresql://${login.host}:${login.port}/${login.database}`
    const path = `${classes}:/usr/share/java/postgresql.jar`
    const words = ['-cp', path, 'Jdbc', url, login.user, schema, question, ...write]
    const text = await run('/usr/bin/java', words, undefined, { PGPASSWORD: login.password })
    return sessionOf(text.trim().split('\n'))
  } finally {
    await rm(classes, { recursive: true })
  }
}

function sessionOf(lines: readonly string[]): Session {
  const facts = lines.map((line) => line.split('\t'))
  const of = (kind: string) => facts.filter(([first]) => first === kind)
  const columns = of('column').map(([, view, name, type, size, digits, comment]) => ({
    view,
    column: {
      ...{ name: name!, type: type!, size: Number(size), digits: Number(digits) },
      isCommented: comment === 'commented',
    },
  }))
  const views = of('view').map(([, view, prepared, rows]) => [
    view,
    {
      columns: columns.filter((entry) => entry.view === view).map(({ column }) => column),
      prepared: Number(prepared),
      rows: Number(rows),
    },
  ])
  const write = facts
    .filter(([kind]) => kind === 'refused' || kind === 'written')
    .map(([kind, state]) => (kind === 'refused' ? state! : null))
  return { views: Object.fromEntries(views), answer: of('answer')[0]?.slice(1) ?? [], write }
}

/** The result of a query in LibreOffice. */
export interface Sheet {
  readonly rows: number
  /** Of the formula below the rows. */
  readonly total: number
  /** null: the write succeeded. */
  readonly refused: string | null
}

/** Fills a sheet from a query through SDBC, adds up the column `sum` and saves the sheet as CSV. */
export async function calc(
  login: Login,
  asked: { query: string; sum: string; csv: string; write: string },
): Promise<Sheet> {
  const { host, port, database, user, password } = login
  const url = `sdbc:postgresql:host=${host} port=${port} dbname=${database}`
  return JSON.parse(
    await run('/usr/bin/python3', [client('calc.py')], { url, user, password, ...asked }),
  ) as Sheet
}

function client(file: string): string {
  return fileURLToPath(new URL(`clients/${file}`, import.meta.url))
}

function run(
  program: string,
  words: readonly string[],
  stdin?: unknown,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(program, words, { env: { ...process.env, ...env }, timeout: 150_000 })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (part) => (stdout += part))
    child.stderr.on('data', (part) => (stderr += part))
    child.on('error', fail)
    child.on('close', (code) => {
      if (code === 0) done(stdout)
      else fail(new Error(`${program} ${words[0]} ended with ${code}: ${stderr}`))
    })
    child.stdin.end(stdin === undefined ? '' : JSON.stringify(stdin))
  })
}
