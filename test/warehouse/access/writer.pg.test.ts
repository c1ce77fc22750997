import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { listOf, vehicles } from '../../stock/import-fixture.ts'
import { startForecourt, until } from '../../support/child.ts'
import { configText } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openLogins, resultOf } from './logins.ts'

const now = new Date('2026-03-10T06:30:00Z')

/** A sandbox, a warehouse with granted access, and the command line of a user who is only in forecourt_writer. */
async function openWriter() {
  const clock = new VirtualClock({ start: now, frozen: true })
  const sandbox = await startSandbox({ seed: 3, rooftops: 2, evaluations: 30, days: 6, clock })
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const options = { sandbox: { now }, sync: { start: '2026-03-04' } }
  const config = makeConfig(JSON.parse(configText(sandbox, database.url, options)), folder.path)
  const logins = await openLogins(database, config, { writer: { role: 'forecourt_writer' } })
  await logins.grant()
  const written = JSON.parse(configText(sandbox, logins.url('writer'), options))
  const archive = { folder: 'archive', hosts: [new URL(written.appraisal.baseUrl).origin] }
  const links = { token: 'token-of-the-links', archive }
  await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify({ ...written, links }))
  await writeFile(join(folder.path, 'stock.csv'), listOf(vehicles(12)))
  return {
    ...{ database, config, folder: folder.path, logins },
    run: async (...args: string[]) => await runInProcess(args, { cwd: folder.path }),
    [Symbol.asyncDispose]: async () => {
      await logins[Symbol.asyncDispose]()
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('everything except migrate and grant runs without the right to create, change or drop a table', {
  tags: 'ci',
}, async () => {
  await using fixture = await openWriter()
  const uid = fixture.config.rooftops[0]!.uid
  const outcomes: string[] = []
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await fixture.run(...args)
    const refused = /[^\n]*(permission denied|must be owner|not supported)[^\n]*/.exec(
      stdout + stderr,
    )
    outcomes.push(`${args.join(' ')}: ${code}${refused ? ` ${refused[0]}` : ''}`)
    return stdout
  }

  await run('check')
  await run('migrate')
  const synced = JSON.parse(await run('sync', '--json'))
  await run('sync')
  await run('backfill', 'evaluations', '--from', '2026-03-02', '--to', '2026-03-04')
  await run('stock', 'import', 'stock.csv', '--rooftop', uid, '--dry-run')
  await run('stock', 'import', 'stock.csv', '--rooftop', uid)
  await run('reprice')
  await run('stock', 'export', '--rooftop', uid, '--out', 'out.csv')
  await run('stock', 'export', '--mart', 'evaluation_wide', '--out', 'wide.csv')
  await run('links', 'refresh')
  await run('links', 'archive')
  await run('verify', '--deep')
  await run('replay')
  await run('quarantine', 'list')
  await run('quarantine', 'retry')
  await run('status')
  await run('run', 'retention')
  await run('run', 'refresh-links')
  const { rows } = await fixture.database.pool.query<{ phone: string; email: string }>(
    'select phone, email from pii.evaluation_customer where phone is not null and email is not null order by eval_id',
  )
  await run('erase', '--phone', rows[0]!.phone, '--all-people', '--yes')
  await run('erase', '--email', rows.at(-1)!.email, '--yes')

  expect(synced.streams.evaluations.inserted).toBeGreaterThan(15)
  expect(outcomes.filter((outcome) => !outcome.endsWith(': 0'))).toEqual([])
  expect(outcomes).toHaveLength(21)
})

test('permalinks are served without that right', { tags: 'ci' }, async () => {
  await using fixture = await openWriter()
  await fixture.run('sync')
  const { rows } = await fixture.database.pool.query<{ kind: string; ref: string }>(
    'select link_kind as kind, link_ref as ref from pii.signed_link order by 1, 2 limit 1',
  )
  const { kind, ref } = rows[0]!
  // Too old to be handed out: it must be signed again.
  await fixture.database.pool.query(
    "update pii.signed_link set signed_at = signed_at - interval '30 days', expires_at = expires_at - interval '30 days'",
  )
  const child = startForecourt(['serve', '--port', '0', '--json', '--log-level', 'debug'], {
    cwd: fixture.folder,
  })
  const listening = () => /listening on (http:[^"]+)"/.exec(child.stderr())?.[1]
  await until(() => listening() !== undefined)

  const click = await fetch(`${listening()}/links/${kind}/${ref}?token=token-of-the-links`, {
    redirect: 'manual',
  })
  child.kill('SIGTERM')
  const { stderr } = await child.ended

  expect(click.status).toBe(302)
  expect(stderr).not.toContain('permission denied')
})

test('the loader cannot create, change or drop tables, or give itself access', async () => {
  await using fixture = await openWriter()
  const writer = await fixture.logins.as('writer')
  const statements = [
    'create table core.mine (id int)',
    'create table public.mine (id int)',
    'create schema mine',
    'create view mart.mine as select 1 as one',
    'create function core.mine() returns int language sql return 1',
    'create role mine',
    'alter table core.photo add column mine int',
    'alter table core.photo disable row level security',
    'drop table core.photo',
    'truncate core.photo',
    'drop view mart.fact_photo',
    'select ops.drop_marts()',
    'set role mart_scoped_owner',
    'set role bi_pii_reader',
    `insert into ops.bi_access (role_name, group_code) values ('${fixture.logins.name('writer')}', 'x')`,
    "delete from ops.bi_login where role_name = 'x'",
    "insert into ops.schema_migration (version, name, checksum) values (9999, 'x', 'x')",
    "insert into ops.mart_version (version, checksum) values ('9.9.9', 'x')",
    'select from mart_pii.customer',
  ]

  const answers: string[] = []
  for (const statement of statements) answers.push(await resultOf(writer, statement))

  const refusal = /^(permission denied|must be (owner|able))/
  expect(answers.filter((answer) => !refusal.test(answer))).toEqual([])
  expect(await resultOf(writer, 'create temporary table mine (id int)')).toBe('0 rows')
})

test('migrate as the loader names the user who must run it, and so does a command that needs it', async () => {
  await using fixture = await openWriter()
  const { pool } = fixture.database
  const { rows } = await pool.query<{ owner: string }>('select current_user as owner')
  const newest = 'select max(version) from ops.schema_migration'

  await pool.query("update ops.mart_version set checksum = 'of an older release'")
  const marts = await fixture.run('sync')
  await pool.query(`delete from ops.schema_migration where version = (${newest})`)
  const migrated = await fixture.run('migrate')
  const status = await fixture.run('migrate', '--status')

  const sentence = (lacking: string) =>
    new RegExp(
      `^The warehouse lacks ${lacking}, and ${fixture.logins.name('writer')} may not change its schema: run "forecourt migrate" as the owner \\(${rows[0]!.owner}\\), then this again\\.\n$`,
    )
  expect(marts.stderr).toMatch(sentence('marts \\d+\\.\\d+\\.\\d+'))
  expect(migrated.stderr).toMatch(sentence('migration \\d{4}_\\w+\\.sql'))
  expect([marts.code, migrated.code, status.code]).toEqual([2, 2, 0])
})

test('the loader can COPY into a table with row-level security', async () => {
  await using fixture = await openWriter()
  const { rows } = await fixture.database.pool.query<{ bypasses: boolean }>(
    'select rolbypassrls as bypasses from pg_roles where rolname = $1',
    [fixture.logins.name('writer')],
  )
  expect(rows).toEqual([{ bypasses: true }])

  // Without it, Postgres rejects the loader's COPY, and grant reports it.
  await fixture.database.pool.query(`alter role ${fixture.logins.name('writer')} nobypassrls`)
  const writer = await fixture.logins.as('writer')
  expect(await resultOf(writer, 'copy core.evaluation from stdin')).toContain(
    'COPY FROM not supported with row-level security',
  )
  expect(await resultOf(writer, 'select from core.evaluation')).toBe('0 rows')
})
