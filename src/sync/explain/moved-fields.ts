import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { JsonPath } from '../../values/json-path.ts'
import { listText } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'

/** A setting whose field the newest answers of some rooftops do not have, though most earlier ones had it. */
export interface MovedName {
  readonly stream: string
  /** Below `wire`. */
  readonly setting: string
  readonly configured: JsonPath
  /** Where the field probably is now; several: one of them; none: not known. */
  readonly paths: readonly string[]
  readonly evidence: string
  /** By uid. */
  readonly rooftops: readonly string[]
  readonly since: string
}

/** A row of ops.moved_field, with the uid of its rooftop. */
export interface MovedRow extends Omit<MovedName, 'rooftops' | 'since'> {
  readonly uid: string
  readonly found_at: string
}

/** What the slices have found. */
export async function readMovedNames(
  db: Db,
  streams: readonly Stream[],
  config: Pick<Config, 'rooftops' | 'wire'>,
): Promise<MovedName[]> {
  const { rows } = await sql<{ row: MovedRow }>`
    select to_jsonb(moved_field) || jsonb_build_object('uid', rooftop_uid) as row
    from ops.moved_field join core.rooftop using (rooftop_id)`.execute(db)
  return groupMoved(
    rows.map(({ row }) => row),
    streams,
    config,
  )
}

/** A field that moved at several rooftops counts once. Without those of other rooftops, and where the config has changed the setting since. */
export function groupMoved(
  rows: readonly MovedRow[],
  streams: readonly Stream[],
  { rooftops, wire }: Pick<Config, 'rooftops' | 'wire'>,
): MovedName[] {
  const settings = streams.map(({ records }) => records?.names?.settings(wire.appraisal))
  const current = new Map(settings.flatMap((one) => Object.entries(one ?? {})))
  const uids = new Set(rooftops.map(({ uid }) => uid))
  const open = rows.filter(
    ({ uid, setting, configured }) =>
      uids.has(uid) && JSON.stringify(current.get(setting)) === JSON.stringify(configured),
  )
  const groups = Map.groupBy(open, ({ stream, setting, paths }) =>
    JSON.stringify([setting, stream, paths]),
  )
  return [...groups].sort().map(([, group]) => {
    const { stream, setting, configured, paths, evidence } = group[0]!
    return {
      ...{ stream, setting, configured, paths, evidence },
      rooftops: group.map(({ uid }) => uid),
      since: group.map(({ found_at }) => found_at).sort()[0]!,
    }
  })
}

/** Moved fields with the same cure, in words. */
export interface MovedText {
  readonly names: readonly MovedName[]
  readonly what: string
  readonly why: readonly string[]
  readonly cure: string
}

/** The words for status, alerts and the console: for the fields whose new path is known, and for the others. */
export function movedTexts(names: readonly MovedName[]): MovedText[] {
  const [known, open] = [true, false].map((wanted) =>
    names.filter(({ paths }) => (paths.length === 1) === wanted),
  ) as [MovedName[], MovedName[]]
  const text = (some: readonly MovedName[], verb: string, cure: string) => {
    const streams = [...new Set(some.map(({ stream }) => stream))]
    const fields = some.length === 1 ? 'a field' : `${some.length} fields`
    const what = `The service ${verb} ${fields} of ${listText(streams, 3)}`
    return some.length === 0 ? [] : [{ names: some, what, why: some.map(movedText), cure }]
  }
  return [
    ...text(
      known,
      'moved',
      'Type "forecourt wire learn --stored --write", restart the worker, the scheduler and serve, which still use the old names, then type "forecourt replay": no evaluation is read again.',
    ),
    ...text(
      open,
      'no longer sends',
      'If the service renamed it, set it in the config ("forecourt wire learn --stored" shows what may be it), restart the worker, the scheduler and serve, then type "forecourt replay".',
    ),
  ]
}

function movedText({ setting, paths, evidence }: MovedName): string {
  const [path, ...others] = paths
  if (path === undefined) return `wire.${setting} is ${evidence}; no other path has its values`
  return others.length > 0
    ? `wire.${setting} is ${evidence}; one of ${listText(paths, 3)} has its values`
    : `wire.${setting} probably moved to ${path}: ${evidence}`
}
