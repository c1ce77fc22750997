import { sql } from 'kysely'
import {
  listPastCarHistory,
  listPastPpsr,
  watchPpsr,
} from '../../../api/contract/appraisal/checks.ts'
import { getEvaluation, listUsers } from '../../../api/contract/appraisal/evaluations.ts'
import { findOperation } from '../../../api/contract/operations.ts'
import { decodeGcc } from '../../../api/contract/vehicle-data/decode.ts'
import type { Answer } from '../../../api/learn/answers.ts'
import { withNextSteps } from '../../../api/learn/decide.ts'
import { type KnownVehicle, learn } from '../../../api/learn/learn.ts'
import type { Config } from '../../../app/config/read.ts'
import { jsonValue } from '../../../values/json-value.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'

/** What the warehouse says about names: its stored answers, and the vehicles of its stock lists. */
interface StoredAnswers {
  readonly answers: readonly Answer[]
  readonly vehicles: readonly KnownVehicle[]
}

/** Answers of each operation. */
interface Most {
  readonly ofRooftop: number
  /** Of all rooftops together, but at least 20 of each. */
  readonly ofAll: number
}

const usual: Most = { ofRooftop: 500, ofAll: 3_000 }
const maxQuarantined = 500
const maxVehicles = 20_000

/** Those that the learner reads. */
const operations = [
  getEvaluation,
  listUsers,
  listPastPpsr,
  listPastCarHistory,
  watchPpsr,
  decodeGcc,
].map(({ name }) => name)

/** A few, which take less than a second. */
const few: Most = { ofRooftop: 60, ofAll: 120 }
const maxRooftops = 4

/** What the newest answers in the warehouse say about the names of the config. */
export async function newestFindings(db: Db, { rooftops, wire, wireInFile, wireWritten }: Config) {
  const { answers, vehicles } = await storedAnswers(db, rooftops.slice(0, maxRooftops), few)
  const findings = withNextSteps(learn(answers, wire, vehicles), {
    ...{ inFile: wireInFile, written: wireWritten, held: wire.appraisal.held },
  })
  return { answers: answers.length, findings }
}

/** Reads the newest stored answers, also those in quarantine and those that were paid for. Oldest first. */
export async function storedAnswers(
  db: Db,
  rooftops: readonly { readonly uid: string; readonly dealerId: number | null }[],
  most = usual,
): Promise<StoredAnswers> {
  const uids = rooftops.map(({ uid }) => uid)
  const limit = Math.max(20, Math.min(most.ofRooftop, Math.floor(most.ofAll / rooftops.length)))
  const { rows } = await sql<{ uid: string; operation: string; key: string; text: string }>`
    select rooftop_uid as uid, asked.name as operation, natural_key as key, fetched_at, text
    from core.rooftop as rooftop, unnest(${operations}::text[]) as asked (name), lateral (
      select natural_key, fetched_at, body::text as text from raw.payload
      where rooftop_id = rooftop.rooftop_id and endpoint = asked.name
      order by natural_key desc, fetched_at desc limit ${limit}::int
    ) as newest
    where rooftop_uid = any(${uids}::text[])
    union all
    select rooftop_uid, asked.*
    from (select distinct rooftop_id, unnest(records)::text as key from ops.moved_field) as moved
    join core.rooftop using (rooftop_id), lateral (
      select endpoint, natural_key, fetched_at, body::text from raw.payload
      where rooftop_id = moved.rooftop_id and endpoint = ${getEvaluation.name} and natural_key = key
      order by fetched_at desc limit 3
    ) as asked
    where rooftop_uid = any(${uids}::text[]) order by fetched_at`.execute(db)
  const { rows: open } = await sql<{ uid: string; key: string; text: string }>`
    select rooftop_uid as uid, natural_key as key, payload as text
    from ops.quarantine join core.rooftop using (rooftop_id)
    where stream = 'evaluations' and resolved_at is null and payload is not null and rooftop_uid = any(${uids}::text[])
    order by quarantine_id desc limit ${Math.min(maxQuarantined, most.ofAll)}::int`.execute(db)
  const { rows: vehicles } = await sql<{
    vin: string
    make: string | null
    model: string | null
    variant: string | null
    year: number | null
    plate: string | null
  }>`
    select vin, make, model, variant, model_year as year, plate from core.stock_unit
    where vin is not null limit ${maxVehicles}::int`.execute(db)
  const received = [...open.map((row) => ({ ...row, operation: 'geteval' })), ...rows]
  return {
    answers: received.flatMap(({ uid, operation, key, text }) => {
      const body = jsonValue(text)
      // A key is the EvalID, with something behind it where there are several answers.
      const evalId = Number(/^\d{1,15}/.exec(key)?.[0])
      const known = findOperation(operation)
      if (body === undefined || known === undefined) return []
      const isAbout = 'evalid' in known.fields.shape && evalId > 0
      const rooftop = rooftops.find((one) => one.uid === uid)
      return [{ operation: known.name, request: isAbout ? { evalid: evalId } : {}, body, rooftop }]
    }),
    vehicles: vehicles.map(({ vin, plate: registration, ...facts }) => ({
      vin,
      facts: { ...facts, registration },
    })),
  }
}
