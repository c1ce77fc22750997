import type { Tx } from '../../warehouse/db/transaction.ts'
import { commitSlice } from '../run/commit-slice.ts'
import type { FreshRecord, SliceContent } from '../run/slice-outcome.ts'
import type { SliceJob, SliceResult } from '../run/stream.ts'
import type { ProvenPart } from '../windows/prove.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import type { Drift } from './drift.ts'
import type { Hydrated } from './hydrate.ts'
import { recordMovedFields } from './moved-fields.ts'
import { compareContacts } from './privacy-gate.ts'
import { type Written, writeSlice } from './write-slice.ts'

const noParts = new Map<ProvenPart, never>()
/** The part of a slice's content that only listed windows have. */
export const withoutWindows = {
  ...{ parts: [], rereadAt: noParts, unlisted: noParts },
  ...{ changed: new Set<number>(), moved: new Map<number, Date>(), loadedByOther: [] },
} as const satisfies Partial<SliceContent>

/**
 * Commits the records that a slice has read. `complete` writes in the same transaction what is special about the slice, and says
 * what is left to do. A record that Postgres refuses is quarantined.
 */
export async function commitRecords(
  job: SliceJob<WindowedRecords>,
  content: SliceContent,
  complete: (
    tx: Tx,
    written: Written,
    records: readonly Hydrated[],
  ) => Promise<Omit<SliceResult, 'counts'>>,
): Promise<SliceResult> {
  let drift: Drift | null = null
  let fresh: readonly FreshRecord[] = []
  const compared = await compareContacts(job, content.records)
  const result = await commitSlice<Hydrated>(job, {
    items: content.records,
    store: async (tx, records) => await writeSlice(tx, job, { ...content, records }, compared),
    reject: (entry, issues) => {
      const text = entry.kind === 'record' ? entry.payload.text : ''
      return { kind: 'rejected', id: entry.id, issues, text }
    },
    write: async (tx, records) => {
      const written = await writeSlice(tx, job, { ...content, records }, compared)
      drift = written.drift
      fresh = records.filter((entry) => entry.kind === 'record')
      return { counts: written.counts, ...(await complete(tx, written, records)) }
    },
  })
  await reportDrift(job, drift, fresh)
  return result
}

/** Writes the drift report. A failure is logged only, since the slice is committed already. */
async function reportDrift(
  job: SliceJob<WindowedRecords>,
  drift: Drift | null,
  fresh: readonly FreshRecord[],
): Promise<void> {
  const { context, stream } = job
  try {
    await drift?.write(context.db, stream.name)
    if (fresh.length > 0) await recordMovedFields(job, fresh)
  } catch (error) {
    context.log.warn({ err: error }, 'drift report not written')
  }
}
