import type pg from 'pg'
import { UsageError } from '../errors.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { type Findings, findCustomer } from './find-customer.ts'
import { findEvaluations } from './persons.ts'
import type { SearchCache } from './search.ts'
import { requestedTerms, type Subject } from './subject.ts'
import { textTables } from './text-tables.ts'
import { type ErasureWork, evaluationKeys, type EvaluationKey } from './erasure-work.ts'

/** Who is meant, and where they are. UsageError when the evaluation is not known, or to several dealer groups. */
export async function findSubject(work: ErasureWork, subject: Subject): Promise<Findings> {
  const asked = requestedTerms(subject)
  const begin = subject.kind === 'eval' ? [await theEvaluation(work.client, subject)] : []
  return await findCustomer(work, asked, begin)
}

/** The same while loads go on, so that `memory` knows almost everything when they have to wait. */
export async function searchBeforeLocking(
  pool: pg.Pool,
  wire: AppraisalWire,
  subject: Subject,
  memory: SearchCache,
): Promise<void> {
  await searchWithoutLocks(pool, wire, memory, async (work) => await findSubject(work, subject))
}

/** Work that changes nothing and locks nothing for longer than a statement, with what Postgres has to spare. */
export async function searchWithoutLocks<T>(
  pool: pg.Pool,
  wire: AppraisalWire,
  memory: SearchCache,
  read: (work: ErasureWork) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    // Bodies lie outside of their table, which is small: it would be read by one process.
    await client.query("set min_parallel_table_scan_size = '256kB'; set jit = off")
    const tables = await textTables(client, evaluationKeys)
    return await read({ client, wire, tables, search: memory.searchWith(client, 'ahead') })
  } finally {
    // Without its settings: no session that others are lent.
    client.release(true)
  }
}

async function theEvaluation(
  client: pg.ClientBase,
  { evalId, rooftopUid }: Extract<Subject, { kind: 'eval' }>,
): Promise<EvaluationKey> {
  const [one, ...others] = await findEvaluations(client, evalId, rooftopUid)
  if (one === undefined)
    throw new UsageError(
      `Evaluation ${evalId} is in no table${rooftopUid === null ? '' : ` of ${rooftopUid}`}: nothing was erased. "forecourt why ${evalId}" shows what is known of an evaluation.`,
    )
  if (others.length > 0) {
    const { rows } = await client.query<{ rooftop_uid: string }>(
      'select rooftop_uid from core.rooftop where group_id = any($1::int[]) order by 1',
      [[one, ...others].map(({ groupId }) => groupId)],
    )
    throw new UsageError(
      `Evaluation ${evalId} is known to several dealer groups: add --rooftop, one of ${rows.map((row) => row.rooftop_uid).join(', ')}.`,
    )
  }
  return one
}
