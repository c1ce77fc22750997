import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { Alerts, jobProblems } from '#src/app/scheduler/alerts.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { openLog } from '#src/log.ts'
import { migrate } from '#src/warehouse/db/migrate.ts'
import { migrationsFolder } from '#src/warehouse/db/migration-files.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { openReceiver } from '../../app/scheduler/alert-receivers.ts'
import { emptyTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The key of the alert of a job that failed with these words. */
const keyOf = (error: string) =>
  jobProblems({}, [{ name: 'retention', error, isExplained: false }], []).raised[0]!.key

test('open alerts of a warehouse from before the receivers are neither lost nor sent again', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await temporaryFolder()
  await using receiver = await openReceiver()
  const { pool } = database
  await cp(migrationsFolder(), folder.path, { recursive: true })
  for (const name of await readdir(folder.path))
    if (name >= '0012') await rm(join(folder.path, name))
  await migrate(pool, folder.path)
  await pool.query(
    `insert into ops.job_fire (job_name, cause, status, host, process_id, error) values
       ('retention', 'manual', 'failed', 'here', 1, 'the disk is full'), ('verify', 'manual', 'failed', 'here', 1, 'out of memory')`,
  )
  const ago = (hours: number) => `now() - interval '${hours} hours'`
  await pool.query(
    `insert into ops.alert (alert_key, detail, raised_at, told_at, resolved_at, resolution_told_at, attempts) values
       ($1, 'sent, and still so', ${ago(9)}, ${ago(9)}, null, null, 0),
       ($2, 'not sent yet', ${ago(9)}, null, null, null, 3),
       ('objective/quarantine', 'sent, over by now', ${ago(9)}, ${ago(9)}, null, null, 0),
       ('objective/late', 'its end not sent yet', ${ago(9)}, ${ago(9)}, ${ago(1)}, null, 2),
       ('objective/gaps', 'all sent', ${ago(9)}, ${ago(9)}, ${ago(1)}, ${ago(1)}, 0),
       ('objective/ledger', 'its end never sent', ${ago(900)}, ${ago(900)}, ${ago(800)}, null, 10),
       ('inbox/folder/0', 'never sent', ${ago(9)}, null, ${ago(1)}, null, 10)`,
    [keyOf('the disk is full'), keyOf('out of memory')],
  )

  await migrate(pool)
  const config = makeConfig({ alerts: { url: receiver.url } }, folder.path)
  const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
  const alerts = new Alerts({ config, pool, db: openDb(pool), log }, await loadJobs(config))
  for (let sweep = 0; sweep < 3; sweep++) {
    await alerts.reportJobs()
    await alerts.reportObjectives()
  }

  const shown = receiver.got.map(({ key, state, severity, what }) => [key, state, severity, what])
  expect(shown.sort()).toEqual(
    [
      [keyOf('out of memory'), 'raised', 'critical', 'verify failed: out of memory'],
      ['objective/late', 'resolved', 'critical', 'its end not sent yet'],
      ['objective/quarantine', 'resolved', 'warning', 'sent, over by now'],
    ].sort(),
  )
})
