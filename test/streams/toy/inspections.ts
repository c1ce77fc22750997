import { z } from 'zod'
import { operation } from '#src/api/contract/operation.ts'
import { SyncError } from '#src/errors.ts'
import { retryRecords } from '#src/sync/run/retry-slice.ts'
import { bindSlice, type Stream } from '#src/sync/run/stream.ts'
import { defineRecords } from '#src/sync/windows/windowed-records.ts'
import { planWindows, readWindows } from '#src/sync/windows/windowed-slice.ts'
import { contentHash } from '#src/values/content-hash.ts'
import { type Issue, RecordIssues } from '#src/values/record.ts'

const shape = z.object({
  id: z.int(),
  inspector: z.string().max(80),
  at: z.iso.datetime(),
  updated: z.iso.datetime(),
  faults: z.array(z.string().max(40)),
})
type Inspection = z.infer<typeof shape>

const listInspections = operation({
  name: 'listinspections',
  effect: 'read',
  summary: 'Inspections that were made in a span',
  source: 'toy',
  fields: { from: z.int(), until: z.int().nullable() },
  example: { from: 0, until: null },
  read: (body) => z.array(z.object({ id: z.int(), updated: z.string() })).parse(body),
})

const getInspection = operation({
  name: 'getinspection',
  effect: 'read',
  summary: 'One inspection',
  source: 'toy',
  fields: { id: z.int() },
  statuses: { 404: 'no such inspection' },
  example: { id: 1 },
  read: (body) => body,
})

const records = defineRecords<Inspection>({
  name: 'inspections',
  endpoint: getInspection.name,
  tables: ['core.inspection', 'core.inspection_fault'],
  idColumn: 'inspection_id',

  async list({ services }, rooftop, range, options) {
    const { answer, date } = await services.call(listInspections, {
      ...{ ...options, rooftop, fields: range },
    })
    const items = answer().map(({ id, updated }) => ({ id, updatedAt: updated }))
    return { items, malformed: [], listedAt: date! }
  },

  async hydrate({ services }, rooftop, id, options) {
    try {
      const call = { ...options, rooftop, naturalKey: String(id), fields: { id } }
      const { text } = await services.call(getInspection, call)
      return { kind: 'found', text, fetchedAt: new Date() }
    } catch (error) {
      if (error instanceof SyncError && error.status === 404) return { kind: 'vanished' }
      throw error
    }
  },

  normalise(body) {
    const { success, data, error } = shape.safeParse(body)
    if (success) return data
    const issues = error.issues.map(
      ({ path, message }): Issue => ({ path: path.join('.'), message }),
    )
    throw new RecordIssues(issues)
  },
  entryAt: ({ at }) => new Date(at),

  merge(stored, inspection, _links, rooftop, { runId }) {
    const [before] = stored?.['core.inspection'] ?? []
    const hash = contentHash(inspection)
    const isSame = before !== undefined && hash.equals(before['content_hash'] as Buffer)
    if (isSame && before['gone_at'] === null) return { outcome: 'unchanged' }
    const key = { rooftop_id: rooftop.id, inspection_id: inspection.id }
    const madeAt = new Date(inspection.at)
    const row = {
      ...{ ...key, group_id: rooftop.groupId, inspector: inspection.inspector, run_id: runId },
      ...{ entry_at: madeAt, created_at: madeAt, source_updated_at: new Date(inspection.updated) },
      ...{ gone_at: null, content_hash: hash },
    }
    const faults = inspection.faults.map((fault, at) => ({ ...key, line_no: at + 1, fault }))
    return {
      outcome: before === undefined ? 'inserted' : 'updated',
      rows: { 'core.inspection': [row], 'core.inspection_fault': faults },
    }
  },
})

/** A stream with a list, a call for a single record, two tables and a replay: all that such a stream needs. */
export const inspections: Stream = {
  name: records.name,
  endpoints: [records.endpoint],
  records,
  slices: {
    sync: bindSlice(records, readWindows),
    backfill: bindSlice(records, readWindows),
    retry: bindSlice(records, retryRecords),
  },
  plan: async (scope) => await planWindows(records, scope),
}
