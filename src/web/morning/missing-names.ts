import { sql } from 'kysely'
import type { JsonPath } from '../../values/json-path.ts'
import { listText, plural } from '../../values/text.ts'
import type { WireSettings } from '../../values/wire.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** From how many evaluations on, and how many names of them at least must be missing. */
const enoughEvaluations = 20
const manyNames = 5

/** Names of `wire.appraisal.evaluation` that no evaluation had: their columns are empty. */
export interface MissingNames {
  readonly names: readonly string[]
  /** How many names the config has. */
  readonly configured: number
  readonly since: Date
}

interface MissingRow {
  readonly names: readonly string[] | null
  /** Text where it comes in JSON. */
  readonly since: Date | string
}

/** Reads a `MissingRow`, or nothing while there are too few evaluations. */
export function missingNamesQuery({ appraisal }: Pick<WireSettings, 'appraisal'>) {
  const held = new Set<string>(appraisal.held)
  const paths = Object.entries<JsonPath>(appraisal.evaluation).flatMap(([name, configured]) =>
    held.has(name) ? [] : [configured].flat().map((path) => [name, path]),
  )
  return sql<MissingRow>`
    with evaluations as (
      select min(first_seen_at) as since from ops.field_drift
      where stream = 'evaluations' and json_path = 'EvalID' having sum(seen) >= ${enoughEvaluations}
    ), name as (
      select setting, bool_or(exists (
        select from ops.field_drift
        where stream = 'evaluations' and replace(json_path, '[]', '') = path and json_type <> 'null')) as is_seen
      from unnest(${paths.map(([name]) => name)}::text[], ${paths.map(([, path]) => path)}::text[]) as configured (setting, path)
      group by setting
    )
    select array_agg(setting order by setting) filter (where not is_seen) as names, since
    from name cross join evaluations group by since`
}

/** null: fewer than five are missing. */
export function toMissingNames(
  row: MissingRow | null | undefined,
  { appraisal }: Pick<WireSettings, 'appraisal'>,
): MissingNames | null {
  const { names = null, since } = row ?? {}
  if (names === null || names.length < manyNames) return null
  const configured = Object.keys(appraisal.evaluation).length
  return { names, configured, since: new Date(since!) }
}

export async function readMissingNames(
  db: Db,
  wire: Pick<WireSettings, 'appraisal'>,
): Promise<MissingNames | null> {
  return toMissingNames((await missingNamesQuery(wire).execute(db)).rows[0], wire)
}

/** For the command line: the columns that the config holds; null: none. */
export function heldNamesText({ appraisal: { held } }: Pick<WireSettings, 'appraisal'>) {
  if (held.length === 0) return null
  return `${plural(held.length, 'column')} of evaluations ${held.length === 1 ? 'is' : 'are'} empty, since nothing has proved their names (wire.appraisal.held): ${listText(held, 3)}. "forecourt wire learn --stored" shows what the answers say of each.`
}

/** For the command line. */
export function missingNamesText({ names, configured }: MissingNames): string {
  return `${names.length} of ${plural(configured, 'column')} of evaluations are empty, since no answer has the fields that wire.appraisal.evaluation names: ${listText(names, 3)}. The service may use other names: "forecourt wire learn --stored" shows what it finds for each.`
}
