import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { runJobWork } from '#src/app/scheduler/job-work.ts'
import { findJob, type PlannedJob } from '#src/app/scheduler/load-jobs.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import type { Sandbox } from '#src/sandbox/server.ts'
import { listInboxes } from '#src/stock/folders/inbox.ts'
import { runPass } from '#src/stock/folders/pass.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { age } from '../../stock/folders/inbox-fixture.ts'
import { listOf, vehicles } from '../../stock/import-fixture.ts'

/** What faults are planted in. */
export interface Place {
  readonly context: Context
  readonly pool: pg.Pool
  readonly sandbox: Sandbox
  readonly jobs: readonly PlannedJob[]
  readonly night: () => Promise<unknown>
  /** The drop folder of the first rooftop. */
  readonly inbox: string
}

/** A fault, the alert that it should cause, and the page of the console that the alert should lead to. */
export interface AlertFault {
  readonly name: string
  readonly key: RegExp
  readonly page: string
  /** Plants it; the result ends it. */
  readonly plant: (place: Place) => Promise<() => Promise<unknown>>
}

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** A fault of the source, which a night meets. */
const atSource =
  (fault: Parameters<Sandbox['faults']['add']>[0]): AlertFault['plant'] =>
  async ({ sandbox, night }) => {
    const planted = sandbox.faults.add(fault)
    await night()
    return async () => {
      planted.remove()
      await night()
    }
  }

/** A statement that damages the warehouse, and one that repairs it. */
const bySql =
  (damage: string, repair: string): AlertFault['plant'] =>
  async ({ pool }) => {
    await pool.query(damage)
    return async () => await pool.query(repair)
  }

/** Changes something that the job verify finds; the end changes it back, and a night lists again what the job took out of the coverage. */
const verified =
  (change: (by: number) => string): AlertFault['plant'] =>
  async ({ context, pool, jobs, night }) => {
    const verify = async () => await runJobWork(context, findJob(jobs, 'verify'))
    await pool.query(change(1))
    await verify()
    return async () => {
      await pool.query(change(-1))
      await night()
      await verify()
    }
  }

const first = `rooftop_id = 1 and stream = 'evaluations'`
const oneWindow = `${first} and window_from = (select min(window_from) from ops.window_certificate where ${first})`
const jobRun = (job: string, status: string, error: string | null) =>
  `insert into ops.job_fire (job_name, cause, slot_at, status, host, process_id, finished_at, error)
   values ('${job}', 'schedule', clock_timestamp(), '${status}', 'here', 1, now(), ${error === null ? 'null' : `'${error}'`})`

async function passTwice({ context: { config, pool } }: Place): Promise<void> {
  const never = new AbortController().signal
  const services = {
    ...{
      warehouse: { pool, db: openDb(pool), config },
      signal: never,
      stopping: never,
      log: silent,
    },
    now: () => new Date(),
  }
  await runPass(services, listInboxes(config))
  await age(pool)
  await runPass(services, listInboxes(config))
}

/** Every kind of alert that the product raises. */
export const alertFaults: readonly AlertFault[] = [
  {
    ...{ name: 'the source answers with a web page', page: 'Morning' },
    key: /^objective\/failed\/[0-9a-f]{12}$/,
    plant: atSource({ match: { path: '/getevallist' }, fault: { kind: 'html' } }),
  },
  {
    ...{ name: 'a key that is refused', page: 'Morning' },
    key: /^objective\/key\/.+$/,
    plant: atSource({ fault: { kind: 'status', status: 401 } }),
  },
  {
    ...{ name: 'a late rooftop', page: 'Morning', key: /^objective\/late$/ },
    plant: bySql(
      `update ops.run_stream set finished_at = finished_at - interval '27 hours' where rooftop_id = 1`,
      `update ops.run_stream set finished_at = finished_at + interval '27 hours' where rooftop_id = 1`,
    ),
  },
  {
    ...{ name: 'a record that does not fit', page: 'Quarantine' },
    key: /^objective\/quarantine$/,
    plant: bySql(
      `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) values ('evaluations', 1, '1', '[]', 1)`,
      'delete from ops.quarantine',
    ),
  },
  {
    ...{ name: 'a span that was not listed', key: /^objective\/gaps$/ },
    page: 'Coverage of evaluations',
    plant: bySql(
      `update ops.coverage set wanted = wanted + tstzmultirange(tstzrange(lower(wanted) - interval '1 day', lower(wanted))) where ${first}`,
      `update ops.coverage set wanted = covered where ${first}`,
    ),
  },
  {
    ...{ name: 'a list that may be cut off', key: /^objective\/unprovable$/ },
    page: 'Coverage of evaluations',
    plant: bySql(
      `update ops.window_certificate set proof = 'unprovable' where ${oneWindow}`,
      `update ops.window_certificate set proof = 'plain' where ${oneWindow}`,
    ),
  },
  {
    ...{ name: 'a verification that finds a certificate that does not add up', page: 'Morning' },
    key: /^objective\/verification$/,
    plant: verified(
      (by) => `update ops.window_certificate set listed = listed + ${by} where ${oneWindow}`,
    ),
  },
  {
    ...{ name: 'a verification that finds a wrong sum', page: 'Morning' },
    key: /^objective\/verification$/,
    plant: verified(
      (by) => `update core.agg_evaluation_day set photos = photos + ${by} where rooftop_id = 1`,
    ),
  },
  {
    ...{ name: 'a job that fails', page: 'Jobs', key: /^job\/failed\/.{12}$/ },
    plant: bySql(
      jobRun('retention', 'failed', 'the disk is full'),
      jobRun('retention', 'ok', null),
    ),
  },
  {
    ...{ name: 'a job whose process died', page: 'Jobs' },
    key: /^job\/failed\/.{12}$/,
    plant: bySql(jobRun('reconcile', 'died', null), jobRun('reconcile', 'ok', null)),
  },
  {
    ...{ name: 'a job that does not run', page: 'Jobs', key: /^job\/late$/ },
    plant: bySql(
      `insert into ops.job (job_name, schedule, time_zone, known_since)
       values ('watch-checks', '0 2 * * *', 'Australia/Sydney', now() - interval '90 days')`,
      jobRun('watch-checks', 'ok', null),
    ),
  },
  {
    ...{ name: 'work that no worker takes', page: 'Work' },
    key: /^job\/worker$/,
    plant: bySql(
      `insert into ops.run (command, arguments, source_started_at, is_detached, heartbeat_at, lane)
       values ('backfill', '{"mode": "backfill", "from": 0}', now(), true, now() - interval '5 minutes', 'background')`,
      `update ops.run set status = 'failed', finished_at = now() where status = 'running'`,
    ),
  },
  {
    ...{ name: 'a drop folder that is not there', page: 'Imported lists' },
    key: /^inbox\/folder\/.{12}$/,
    plant: async (place) => {
      await rm(place.inbox, { recursive: true })
      await passTwice(place)
      return async () => {
        await mkdir(place.inbox)
        await passTwice(place)
      }
    },
  },
  {
    ...{ name: 'a stock list that does not come', page: 'Imported lists' },
    key: /^inbox\/late\/.{12}$/,
    plant: bySql(
      "update ops.stock_inbox set known_since = now() - interval '3 days'",
      'update ops.stock_inbox set arrived_at = now()',
    ),
  },
  {
    ...{ name: 'a dropped file that is not a list', page: 'Imported lists' },
    key: /^inbox\/file\/\d+$/,
    plant: async (place) => {
      await writeFile(join(place.inbox, 'a.csv'), 'PK\x03\x04 no list')
      await passTwice(place)
      return async () => {
        await writeFile(join(place.inbox, 'b.csv'), listOf(vehicles(2)))
        await passTwice(place)
      }
    },
  },
]
